internal import RelayCore
internal import SQLite
internal import Threading

/// What commands and the relay tell each other through a journal, on a connection of its own.
///
/// Changes are short transactions beside a running relay; a look costs nothing while nobody has
/// written since the last one (`PRAGMA data_version`).
///
/// Threads: any; one at a time is served. Calls block on the disk.
final class Noticeboard: Sendable {
    private struct State {
        let database: Database
        /// The state of the file at the last look that saw everything.
        var seenData: Int64 = -1
    }

    private let path: String
    private let state: Lock<State>

    /// Opens a journal's board.
    init(_ file: JournalFile) throws(JournalFailure) {
        path = file.path
        state = Lock(State(database: try file.connect()))
    }

    /// Reads what stands there.
    func read<Result>(
        _ body: (Database) throws -> Result
    ) throws(JournalFailure) -> Result {
        try run { try body($0.database) }
    }

    /// Writes in one transaction, which the next look sees.
    func change<Result>(
        _ body: (Database) throws -> Result
    ) throws(JournalFailure) -> Result {
        try run { state in
            // What a connection commits itself does not move its data version.
            state.seenData = -1
            return try state.database.transaction { try body(state.database) }
        }
    }

    /// Looks; nil when nothing was written since the last look.
    ///
    /// - Parameter body: what is seen, and whether that is all: if not, the next look looks again.
    func look<Sight>(
        _ body: (Database) throws -> (sight: Sight, isAll: Bool)
    ) throws(JournalFailure) -> Sight? {
        try run { state in
            let data = try state.database.dataVersion()
            guard data != state.seenData else { return nil }
            let (sight, isAll) = try body(state.database)
            if isAll { state.seenData = data }
            return sight
        }
    }

    private func run<Result>(
        _ body: (inout State) throws -> Result
    ) throws(JournalFailure) -> Result {
        try state.withLock { (state) throws(JournalFailure) in
            try reporting(path) { try body(&state) }
        }
    }
}
