internal import RelayCore
internal import SQLite
internal import Threading

/// Reading connections, made when they are needed and kept for the next.
final class ReaderPool: Sendable {
    /// The most connections that are kept while nobody uses them.
    static let limit = 4

    private let file: JournalFile
    private let idle = Lock([Reader]())

    init(_ file: JournalFile) {
        self.file = file
    }

    /// Lends a reader; as many at once as there are callers.
    func withReader<Result>(
        _ body: (Reader) throws -> Result
    ) throws(JournalFailure) -> Result {
        let reader = try take()
        defer { giveBack(reader) }
        return try reporting(file.path) { try body(reader) }
    }

    private func take() throws(JournalFailure) -> Reader {
        if let reader = idle.withLock({ $0.popLast() }) { return reader }
        let database = try file.connect()
        return try reporting(file.path) { try Reader(database) }
    }

    private func giveBack(_ reader: Reader) {
        idle.withLock { idle in
            if idle.count < Self.limit { idle.append(reader) }
        }
    }
}
