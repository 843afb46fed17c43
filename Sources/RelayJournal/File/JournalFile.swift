public import ConnectionEvents
internal import Crypto
public import RelayCore
internal import SQLite
internal import Threading

/// A journal's file, proved to be one and to fit its key: journal and register open from it.
///
/// Any number of processes may have it open; only the holder of ``JournalLock`` runs on it.
///
/// Threads: any; immutable. The file never grows by itself: see ``SQLiteJournal`` for its bounds.
public final class JournalFile: Sendable {
    /// Whether a journal that is not there is made.
    public enum Access: Sendable {
        /// Make it, with its key, if it is not there.
        case create
        /// It must be there.
        case existing
    }

    /// Where it is.
    public let path: String
    /// Its identity.
    public let id: JournalID
    /// When it was made.
    public let createdAt: Timestamp
    /// What an operator should hear, such as a key file that others can read; never a secret.
    public let warnings: [String]
    let seal: CredentialSeal
    /// Which file the path named when it was opened.
    let identity: FileIdentity?

    /// Opens and proves the file, making or migrating it where that is due.
    ///
    /// Migrating an older journal asks for its lock, so that no running relay finds its tables
    /// changed.
    ///
    /// - Parameter lock: the lock, if the caller holds it already.
    /// - Throws: `unusable` (exit 78) for files of something else, damaged ones, those of a newer
    ///   relay and keys that do not fit; nothing is overwritten then. `failed` when it is not there
    ///   or cannot be opened; `locked` when it would have to be migrated beside a running relay.
    public convenience init(
        path: String, keyFile: String, access: Access, lock: JournalLock? = nil
    ) throws(JournalFailure) {
        try self.init(
            path: path, keyFile: keyFile, access: access, lock: lock, schema: .current)
    }

    init(
        path: String, keyFile: String, access: Access, lock: JournalLock?, schema: Schema
    ) throws(JournalFailure) {
        try Self.refuseEmptied(path, keyFile: keyFile)
        if access == .create {
            _ = try SystemFile.makeEmpty(path)
        } else if !SystemFile.hasContent(path) {
            throw .missing(path)
        }
        let opened = try reporting(path) {
            let database = try Database(
                path: path, access: .readWrite, busyTimeout: Self.busyTimeout)
            // What is refused stays as it is, to the byte: a log that a crash left, too.
            if SystemFile.size(of: path + "-wal") > 0 { try database.keepLogOnClose() }
            if try schema.version(of: database) > 0, lock != nil {
                try Self.prove(database, schema: schema)
            }
            try Self.set(up: database)
            try Self.migrate(database, to: schema, holding: lock)
            let id = try Self.identity(in: database)
            let (seal, warning) = try CredentialSeal.open(in: database, keyFile: keyFile)
            return (id: id.0, createdAt: id.1, seal: seal, warning: warning)
        }
        self.path = path
        id = opened.id
        createdAt = opened.createdAt
        seal = opened.seal
        identity = SystemFile.identity(of: path)
        warnings = opened.warning.map { [$0] } ?? []
    }

    /// A further connection to the file, with the settings that all have.
    func connect() throws(JournalFailure) -> Database {
        try reporting(path) { try Self.connect(path) }
    }

    /// How long a statement waits for another process's transaction.
    static let busyTimeout = Duration.seconds(10)

    private static func connect(_ path: String) throws -> Database {
        let database = try Database(path: path, access: .readWrite, busyTimeout: busyTimeout)
        try set(up: database)
        return database
    }

    private static func set(up database: Database) throws {
        guard try database.texts("PRAGMA journal_mode = WAL") == ["wal"] else {
            throw JournalFailure.system(
                "\(database.path) lies where SQLite's WAL cannot work: use a local disk")
        }
        try database.execute(
            """
            PRAGMA synchronous = FULL;
            PRAGMA temp_store = MEMORY;
            PRAGMA trusted_schema = OFF;
            PRAGMA cell_size_check = ON;
            PRAGMA journal_size_limit = 67108864;
            """)
    }

    /// The largest file that is read whole before a relay runs on it; above, `journal check` does.
    static let provenSize = 64 << 20

    /// Reads a file whole before anything is written into it: its pages, and what is believed.
    private static func prove(_ database: Database, schema: Schema) throws {
        if let fault = try FileHeader(database)?.faults.first {
            throw JournalFailure.damaged(database.path, fault)
        }
        guard SystemFile.size(of: database.path) <= provenSize else { return }
        let found = try database.texts("PRAGMA quick_check(1)")
        guard found == ["ok"] else {
            throw JournalFailure.damaged(database.path, found.first ?? "unreadable")
        }
        guard try schema.version(of: database) == schema.version else { return }
        try Reader(database).proveContent()
        try database.execute("PRAGMA query_only = OFF")
    }

    /// A file without a byte beside the key that was made with it has lost what it held.
    private static func refuseEmptied(
        _ path: String, keyFile: String
    ) throws(JournalFailure) {
        guard SystemFile.identity(of: path) != nil, !SystemFile.hasContent(path),
            SystemFile.size(of: path + "-wal") > 0 || SystemFile.identity(of: keyFile) != nil
        else { return }
        throw .unusable(
            "truncated",
            "\(path) has no content any more, and was a journal: its key \(keyFile) or its -wal is"
                + " there. Nothing was changed: restore a backup, or remove the empty file (and its"
                + " -wal and -shm) to begin anew")
    }

    private static func migrate(
        _ database: Database, to schema: Schema, holding lock: JournalLock?
    ) throws {
        let found = try schema.version(of: database)
        guard found < schema.version else { return }
        // Nobody can run on an empty file yet, and two who fill it at once are told apart by
        // SQLite.
        let lock = try found == 0 ? lock : lock ?? JournalLock(journal: database.path)
        try withExtendedLifetime(lock) { try schema.migrate(database) }
    }

    private static func identity(in database: Database) throws -> (JournalID, Timestamp) {
        let select = try database.prepare("SELECT id, created_at FROM journal")
        let insert = try database.prepare("INSERT INTO journal VALUES (?, ?)")
        return try database.transaction {
            let found = try select.first { row in
                (JournalID(row.text(0)), Timestamp(milliseconds: row.integer(1)))
            }
            if let found { return found }
            let id = Hex.encode(try Random.bytes(16))
            let now = WallClock.now()
            try insert.run(.text(id), .integer(now.milliseconds))
            return (JournalID(id), now)
        }
    }
}

/// The wall clock, for stamps of the register.
enum WallClock {
    /// This millisecond.
    static func now() -> Timestamp { Timestamp(milliseconds: SystemClock.wallMilliseconds) }
}
