internal import CSQLite

/// One compiled statement of one connection, for many uses.
///
/// Its values are bound, it is stepped, and it is reset, whatever happened, before the call
/// returns: a statement left open would hold its view of the file and with it the checkpoint back.
/// Threads: as its connection.
@safe public final class Statement {
    private let pointer: OpaquePointer
    private let database: Database

    init(_ sql: String, in database: Database) throws(SQLiteError) {
        var compiled: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(
            database.pointer, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil)
        try database.check(code)
        guard let pointer = unsafe compiled else { preconditionFailure("no statement in: \(sql)") }
        unsafe self.pointer = unsafe pointer
        self.database = database
    }

    deinit {
        unsafe sqlite3_finalize(pointer)
    }

    /// Runs a statement that gives no rows, or whose rows nobody wants.
    public func run(_ values: SQLValue...) throws(SQLiteError) { try run(values) }

    /// Runs to the end with these values; rows are skipped.
    public func run(_ values: [SQLValue]) throws(SQLiteError) {
        defer { reset() }
        try bind(values)
        while try step() {}
    }

    /// Calls `body` for each row, which is valid during the call only.
    public func each(_ values: SQLValue..., body: (Row) throws -> Void) throws {
        defer { reset() }
        try bind(values)
        while try step() { try body(row) }
    }

    /// What `read` makes of each row, in order.
    public func all<Value>(_ values: SQLValue..., read: (Row) throws -> Value) throws -> [Value] {
        try all(values, read: read)
    }

    /// The same with values that were gathered.
    public func all<Value>(_ values: [SQLValue], read: (Row) throws -> Value) throws -> [Value] {
        defer { reset() }
        try bind(values)
        var result: [Value] = []
        while try step() { result.append(try read(row)) }
        return result
    }

    /// What `read` makes of the first row; nil when there is none.
    public func first<Value>(_ values: SQLValue..., read: (Row) throws -> Value) throws -> Value? {
        defer { reset() }
        try bind(values)
        return try step() ? try read(row) : nil
    }

    var row: Row { Row(statement: self) }

    func step() throws(SQLiteError) -> Bool {
        let code = unsafe sqlite3_step(pointer)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw database.error(code)
        }
    }

    private func bind(_ values: [SQLValue]) throws(SQLiteError) {
        let places = unsafe sqlite3_bind_parameter_count(pointer)
        precondition(values.count == Int(places), "a statement with another number of places")
        for (index, value) in values.enumerated() {
            try database.check(bind(value, at: Int32(index) + 1))
        }
    }

    private func bind(_ value: SQLValue, at place: Int32) -> Int32 {
        switch value {
        case .null:
            return unsafe sqlite3_bind_null(pointer, place)
        case .integer(let number):
            return unsafe sqlite3_bind_int64(pointer, place, number)
        case .text(var text):
            return text.withUTF8 { bytes in
                // An empty string has no address, which would bind NULL.
                let base = unsafe UnsafeRawPointer(bytes.baseAddress)
                guard let base = unsafe base else {
                    return unsafe trax_sqlite3_bind_text(pointer, place, "", 0)
                }
                return unsafe trax_sqlite3_bind_text(
                    pointer, place, base.assumingMemoryBound(to: CChar.self), UInt64(bytes.count))
            }
        case .blob(let bytes):
            return unsafe trax_sqlite3_bind_blob(pointer, place, bytes, UInt64(bytes.count))
        }
    }

    private func reset() {
        // Both repeat or cannot fail: a failing step has thrown its error already.
        unsafe sqlite3_reset(pointer)
        unsafe sqlite3_clear_bindings(pointer)
    }

    /// The row that a statement stands on; valid until the statement moves.
    ///
    /// SQLite converts between types by rules of its own: keep tables `STRICT`.
    @safe public struct Row {
        fileprivate let statement: Statement

        /// The number in a column; 0 for null.
        public func integer(_ column: Int) -> Int64 {
            unsafe sqlite3_column_int64(statement.pointer, Int32(column))
        }

        /// Whether a number in a column is not 0.
        public func flag(_ column: Int) -> Bool { integer(column) != 0 }

        /// The text in a column; empty for null.
        public func text(_ column: Int) -> String {
            guard let text = unsafe sqlite3_column_text(statement.pointer, Int32(column)) else {
                return ""
            }
            let count = unsafe sqlite3_column_bytes(statement.pointer, Int32(column))
            let bytes = unsafe UnsafeBufferPointer(start: text, count: Int(count))
            return unsafe String(decoding: bytes, as: UTF8.self)
        }

        /// The bytes in a column; none for null.
        public func blob(_ column: Int) -> [UInt8] {
            unsafe withBlob(column) { unsafe Array($0) }
        }

        /// Lends the bytes in a column for the length of the call.
        public func withBlob<Result>(
            _ column: Int, _ body: (UnsafeRawBufferPointer) throws -> Result
        ) rethrows -> Result {
            let base = unsafe sqlite3_column_blob(statement.pointer, Int32(column))
            let count = unsafe sqlite3_column_bytes(statement.pointer, Int32(column))
            return try unsafe body(UnsafeRawBufferPointer(start: base, count: Int(count)))
        }

        /// What a column holds, as it was bound; a floating-point number reads as whole.
        public func value(_ column: Int) -> SQLValue {
            switch unsafe sqlite3_column_type(statement.pointer, Int32(column)) {
            case SQLITE_INTEGER, SQLITE_FLOAT: .integer(integer(column))
            case SQLITE_TEXT: .text(text(column))
            case SQLITE_BLOB: .blob(blob(column))
            default: .null
            }
        }

        /// Whether a column holds nothing.
        public func isNull(_ column: Int) -> Bool {
            unsafe sqlite3_column_type(statement.pointer, Int32(column)) == SQLITE_NULL
        }

        /// The number in a column, or nil.
        public func integerOrNil(_ column: Int) -> Int64? {
            isNull(column) ? nil : integer(column)
        }

        /// The text in a column, or nil.
        public func textOrNil(_ column: Int) -> String? {
            isNull(column) ? nil : text(column)
        }

        /// The bytes in a column, or nil.
        public func blobOrNil(_ column: Int) -> [UInt8]? {
            isNull(column) ? nil : blob(column)
        }
    }
}
