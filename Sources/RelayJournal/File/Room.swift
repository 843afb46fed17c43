internal import Glibc
internal import RelayCore
internal import SQLite

/// Says before each commit whether there is room for it; used by one thread at a time.
///
/// What is asked costs some microseconds: two pragmas, `stat(2)` of the log, `statvfs(3)`. The hard
/// bound of the file is SQLite's own (`PRAGMA max_page_count`); this one lies below, so that what
/// must go on at the limit can.
final class Room {
    private let limits: JournalLimits
    private let path: String
    private let database: Database
    private let pages: Statement
    private let freePages: Statement
    private let pageSize: Int
    /// Bytes of the log when it was last asked.
    private(set) var log = 0

    /// Sets the hard bound on the writing connection.
    init(_ database: Database, limits: JournalLimits) throws {
        self.limits = limits
        path = database.path
        self.database = database
        pageSize = Int(try database.integer("PRAGMA page_size"))
        try database.execute(
            """
            PRAGMA max_page_count = \(limits.file / pageSize);
            PRAGMA journal_size_limit = \(limits.idleLog);
            """)
        pages = try database.prepare("PRAGMA page_count")
        freePages = try database.prepare("PRAGMA freelist_count")
    }

    /// Whether the log should be emptied now, even if writers have to wait for it.
    var isLogLong: Bool { log > limits.emptiedLog }

    /// Makes sure that a commit finds room.
    ///
    /// - Throws: kind `full`, saying what is used up.
    func prove() throws {
        log = SystemFile.size(of: path + "-wal")
        if log > limits.log { try emptyLog() }
        guard log <= limits.log else {
            throw JournalFailure(
                kind: .full, code: "log_full",
                reason: "the write-ahead log of \(path) has grown to \(log >> 20) MiB: another"
                    + " process reads the journal without an end (an open sqlite3?). End it; the"
                    + " relay goes on by itself")
        }
        let (_, used) = try use()
        guard used <= limits.used else {
            throw JournalFailure(
                kind: .full, code: "size_limit",
                reason: "\(path) has reached `journal.maxSize`: raise it, shorten"
                    + " `journal.retention`, or bring up the sink that lacks events; the relay goes"
                    + " on by itself when there is room")
        }
        guard let disk = SystemFile.disk(of: path) else { return }
        guard disk.free >= JournalLimits.reserve(ofDisk: disk.size) else {
            throw JournalFailure(
                kind: .full, code: "disk_full",
                reason: "the disk of \(path) is full but for \(disk.free >> 10) KiB: make room; the"
                    + " relay goes on by itself")
        }
    }

    /// Empties a log that grew faster than it was moved: here the writer itself pays.
    ///
    /// SQLite waits for readers, but not for the checkpoint of another connection.
    private func emptyLog() throws {
        try database.execute("PRAGMA busy_timeout = 1000")
        let deadline = ContinuousClock.now + Self.patience
        while try !database.checkpoint(.truncate).isComplete, ContinuousClock.now < deadline {
            usleep(2000)
        }
        try database.execute(
            "PRAGMA busy_timeout = \(JournalFile.busyTimeout.components.seconds * 1000)")
        log = SystemFile.size(of: path + "-wal")
    }

    /// How long a commit may wait for a log that is too long.
    private static let patience = Duration.seconds(2)

    /// Bytes of the file, and those in use.
    func use() throws -> (file: Int, used: Int) {
        let all = Int(try pages.first { $0.integer(0) } ?? 0)
        let free = Int(try freePages.first { $0.integer(0) } ?? 0)
        return (all * pageSize, (all - free) * pageSize)
    }
}
