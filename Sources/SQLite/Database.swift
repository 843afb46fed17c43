internal import CSQLite

/// One connection to a SQLite file.
///
/// Opened without SQLite's own mutex (`SQLITE_OPEN_NOMUTEX`), so one thread uses it at a time, and
/// deliberately not `Sendable`: hand it over whole or keep it in a `Lock`. Statements keep their
/// connection alive; the last of them closes it.
@safe public final class Database {
    /// What may be done with the file.
    public enum Access: Sendable {
        /// Read only; the file must be there.
        case readOnly
        /// Read and write; the file must be there.
        case readWrite
        /// Read and write; the file is made if it is not there.
        case create

        fileprivate var flags: Int32 {
            switch self {
            case .readOnly: SQLITE_OPEN_READONLY
            case .readWrite: SQLITE_OPEN_READWRITE
            case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            }
        }
    }

    /// The version of the library that is loaded, as `3.40.1`.
    public static var libraryVersion: String { unsafe String(cString: sqlite3_libversion()) }

    let pointer: OpaquePointer
    /// The file.
    public let path: String

    /// Opens a file; what it holds is read only by the first statement.
    ///
    /// - Parameter busyTimeout: how long a statement waits for another connection's lock.
    /// - Throws: `cannotOpen` and its like; that the file is no database shows at the first
    ///   statement.
    public init(
        path: String, access: Access = .create, busyTimeout: Duration = .seconds(5)
    ) throws(SQLiteError) {
        var opened: OpaquePointer?
        let flags = access.flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code = unsafe sqlite3_open_v2(path, &opened, flags, nil)
        guard code == SQLITE_OK, let pointer = unsafe opened else {
            // A failed open leaves a handle that holds the message and must be closed all the same.
            let error = unsafe Self.error(opened, code)
            unsafe sqlite3_close_v2(opened)
            throw error
        }
        unsafe self.pointer = unsafe pointer
        self.path = path
        let (seconds, attoseconds) = busyTimeout.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        unsafe sqlite3_busy_timeout(pointer, Int32(clamping: milliseconds))
    }

    deinit {
        unsafe sqlite3_close_v2(pointer)
    }

    /// Runs SQL of any number of statements, whose rows are dropped; for schemas and pragmas.
    public func execute(_ sql: String) throws(SQLiteError) {
        try unsafe check(sqlite3_exec(pointer, sql, nil, nil, nil))
    }

    /// Compiles one statement for many uses.
    public func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        try Statement(sql, in: self)
    }

    /// Runs `body` in one transaction: all of it is kept, or nothing.
    ///
    /// Begins with the write lock (`BEGIN IMMEDIATE`), so that a `busy` comes before `body` and not
    /// in its midst. Whatever `body` or the commit throws rolls back.
    public func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        try execute("BEGIN IMMEDIATE")
        do {
            let result = try body()
            try execute("COMMIT")
            return result
        } catch {
            rollBack()
            throw error
        }
    }

    /// Runs `body` on one unchanging view of the file.
    public func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
        try execute("BEGIN")
        defer { rollBack() }
        return try body()
    }

    /// Ends an open transaction without keeping it; a full disk may have done so already.
    private func rollBack() {
        guard unsafe sqlite3_get_autocommit(pointer) == 0 else { return }
        // The error that led here is the one to report; if this fails as well, the next BEGIN says
        // so.
        _ = unsafe sqlite3_exec(pointer, "ROLLBACK", nil, nil, nil)
    }

    /// The rows that the last statement changed.
    public var changes: Int { Int(unsafe sqlite3_changes64(pointer)) }

    /// The row id of the last insertion.
    public var lastInsertedRow: Int64 { unsafe sqlite3_last_insert_rowid(pointer) }

    /// A number that moves when another connection has committed (`PRAGMA data_version`).
    ///
    /// Only two values of the same connection can be compared; own commits do not move it.
    public func dataVersion() throws(SQLiteError) -> Int64 {
        try integer("PRAGMA data_version")
    }

    /// The integer of the first column of the first row of a statement; 0 when there is none.
    public func integer(_ sql: String) throws(SQLiteError) -> Int64 {
        let statement = try prepare(sql)
        return try statement.step() ? statement.row.integer(0) : 0
    }

    /// The text of the first column of each row of a statement.
    public func texts(_ sql: String) throws(SQLiteError) -> [String] {
        let statement = try prepare(sql)
        var texts: [String] = []
        while try statement.step() { texts.append(statement.row.text(0)) }
        return texts
    }

    func check(_ code: Int32) throws(SQLiteError) {
        guard code != SQLITE_OK else { return }
        throw error(code)
    }

    func error(_ code: Int32) -> SQLiteError {
        unsafe Self.error(pointer, code)
    }

    private static func error(_ pointer: OpaquePointer?, _ code: Int32) -> SQLiteError {
        let text = unsafe pointer == nil ? sqlite3_errstr(code) : sqlite3_errmsg(pointer)
        let reason = unsafe text.map { unsafe String(cString: $0) } ?? "SQLite has no memory left"
        return SQLiteError(extendedCode: code, reason: reason)
    }
}
