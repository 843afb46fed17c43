/// How large a journal may grow, and how that is shared between its file and its write-ahead log.
///
/// The log takes at most a quarter, and 256 MiB; a sixteenth, at most 64 MiB, is kept back: nothing
/// is committed that would need it, so that places, pruning and commands still find room at the
/// limit. All in bytes.
public struct JournalLimits: Hashable, Sendable {
    /// File and log together.
    public let total: Int

    /// Limits around a total of at least 16 MiB.
    public init(total: Int) {
        self.total = max(total, 16 << 20)
    }

    /// 8 GiB.
    public static let standard = JournalLimits(total: 8 << 30)

    /// The log, before nothing more is committed.
    var log: Int { min(256 << 20, total / 4) }
    /// The log, before writers are made to wait for its end.
    var emptiedLog: Int { log / 2 }
    /// The log's file between two uses.
    var idleLog: Int { min(64 << 20, log / 4) }
    /// The file.
    var file: Int { total - log }
    /// What a commit leaves alone.
    var reserve: Int { min(64 << 20, total / 16) }
    /// What may be in use when a commit begins.
    var used: Int { file - reserve }
    /// What is left free on a disk of that size: a sixteenth, at most 64 MiB.
    static func reserve(ofDisk size: Int) -> Int { min(64 << 20, size / 16) }
}
