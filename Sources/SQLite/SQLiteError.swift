internal import CSQLite

/// What SQLite refused, and why.
///
/// `reason` names tables, columns and pieces of SQL, never a bound value.
public struct SQLiteError: Error, Equatable, CustomStringConvertible {
    /// What the caller can do about it.
    ///
    /// Open: a caller treats a kind that it does not know as `other`.
    public struct Kind: Hashable, Sendable {
        /// The stable word for it.
        public let code: String

        /// Another connection holds the lock longer than the busy timeout: try again.
        public static let busy = Kind(code: "busy")
        /// The disk, or the size that the file was allowed, is full: make room, try again.
        public static let full = Kind(code: "full")
        /// The file is damaged.
        public static let corrupt = Kind(code: "corrupt")
        /// The file is something else than a database.
        public static let notADatabase = Kind(code: "not_a_database")
        /// The file, its folder or the disk takes no writes.
        public static let readOnly = Kind(code: "read_only")
        /// The file is not there or may not be opened.
        public static let cannotOpen = Kind(code: "cannot_open")
        /// A row breaks a rule of its table.
        public static let constraint = Kind(code: "constraint")
        /// The disk failed.
        public static let ioError = Kind(code: "io_error")
        /// Anything else, a mistake in SQL among them.
        public static let other = Kind(code: "other")
    }

    /// What the caller can do about it.
    public let kind: Kind
    /// SQLite's own sentence.
    public let reason: String
    /// SQLite's extended result code (https://www.sqlite.org/rescode.html).
    public let extendedCode: Int

    /// The stable word for the kind.
    public var code: String { kind.code }
    /// The reason with SQLite's code.
    public var description: String { "\(reason) (\(code), SQLite \(extendedCode))" }

    init(extendedCode: Int32, reason: String) {
        kind = Self.kind(of: extendedCode & 0xff)
        self.reason = reason
        self.extendedCode = Int(extendedCode)
    }

    private static func kind(of primary: Int32) -> Kind {
        switch primary {
        case SQLITE_BUSY, SQLITE_LOCKED: .busy
        case SQLITE_FULL: .full
        case SQLITE_CORRUPT: .corrupt
        case SQLITE_NOTADB: .notADatabase
        case SQLITE_READONLY, SQLITE_PERM: .readOnly
        case SQLITE_CANTOPEN, SQLITE_AUTH: .cannotOpen
        case SQLITE_CONSTRAINT: .constraint
        case SQLITE_IOERR: .ioError
        default: .other
        }
    }
}
