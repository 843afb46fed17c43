internal import Glibc
public import ConnectionEvents
public import RelayCore
internal import SQLite

/// What a bug report says of a journal's file, read without its key and without changing it.
public struct JournalFigures: Sendable {
    /// The file and those beside it that are there, with their sizes in bytes.
    public var files: [(path: String, bytes: Int64)]
    /// The version of its tables; this relay knows `knownSchema`.
    public var schema: Int64
    /// Its identity.
    public var id: JournalID
    /// When it was made.
    public var createdAt: Timestamp
    /// Its tables with the number of their rows.
    public var tables: [(name: String, rows: Int64)]
    /// The counters, as `head`.
    public var counters: [(name: String, value: Int64)]
    /// The oldest and the newest position; nil without entries.
    public var positions: ClosedRange<Int64>?
    /// When the oldest and the newest event were decided.
    public var decided: (first: Timestamp, last: Timestamp)?
    /// The sinks' places.
    public var places: [(sink: String, position: Int64)]
    /// Pages of the file, their size in bytes, and how many are free.
    public var pages: (count: Int64, size: Int64, free: Int64)

    /// The version of the tables that this relay writes.
    public static let knownSchema = Schema.current.version

    /// Reads a journal's figures, beside a running relay or without one.
    ///
    /// - Throws: where it is not there, no journal, or cannot be read.
    public init(path: String) throws(JournalFailure) {
        guard SystemFile.hasContent(path) else {
            throw JournalFailure.missing(path)
        }
        self = try reporting(path) {
            let database = try Database(
                path: path, access: .readOnly, busyTimeout: .seconds(5))
            guard try database.integer("PRAGMA application_id") == Schema.applicationID else {
                throw JournalFailure.unusable("not_a_journal", "\(path) is no journal")
            }
            // One instant for all of it.
            return try database.snapshot { try Self(path: path, database) }
        }
    }

    private init(path: String, _ database: Database) throws {
        files = ["", "-wal", "-shm", ".lock"].compactMap { ending in
            var status = stat()
            guard unsafe stat(path + ending, &status) == 0 else { return nil }
            return (path + ending, Int64(status.st_size))
        }
        schema = try database.integer("PRAGMA user_version")
        let origin = try database.prepare("SELECT id, created_at FROM journal").first { row in
            (JournalID(row.text(0)), Timestamp(milliseconds: row.integer(1)))
        }
        id = origin?.0 ?? JournalID("none")
        createdAt = origin?.1 ?? Timestamp(milliseconds: 0)
        counters = try database.prepare("SELECT name, value FROM counters ORDER BY name").all {
            ($0.text(0), $0.integer(1))
        }
        places = try database.prepare("SELECT sink, position FROM places ORDER BY sink").all {
            ($0.text(0), $0.integer(1))
        }
        let names = try database.texts(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        tables = []
        for name in names.sorted() where name != "entries" {
            let quoted = "\"\(name.split(separator: "\"").joined())\""
            tables.append((name, try database.integer("SELECT count(*) FROM \(quoted)")))
        }
        pages = (
            try database.integer("PRAGMA page_count"), try database.integer("PRAGMA page_size"),
            try database.integer("PRAGMA freelist_count")
        )
        try readEntries(database)
    }

    /// Without counting: entries are many, and positions have no gaps but those of pruning.
    private mutating func readEntries(_ database: Database) throws {
        let position = "SELECT position FROM entries ORDER BY position"
        let oldest = try database.prepare("\(position) LIMIT 1").first { $0.integer(0) }
        let newest = try database.prepare("\(position) DESC LIMIT 1").first { $0.integer(0) }
        if let oldest, let newest { positions = oldest...newest }
        let event = "SELECT decided_at FROM entries WHERE event_key IS NOT NULL ORDER BY position"
        let first = try database.prepare("\(event) LIMIT 1").first { $0.integer(0) }
        let last = try database.prepare("\(event) DESC LIMIT 1").first { $0.integer(0) }
        if let first, let last {
            decided = (Timestamp(milliseconds: first), Timestamp(milliseconds: last))
        }
    }
}
