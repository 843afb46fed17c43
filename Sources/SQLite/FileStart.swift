internal import CSQLite

extension Database {
    /// The first bytes of the file, as they are on the disk, and its size.
    ///
    /// Nothing of it is interpreted, and no lock is asked for: pages of the log are not in it.
    /// Never open and close the file beside SQLite for this: the process would lose its locks on
    /// it (https://www.sqlite.org/howtocorrupt.html, section 2.2).
    ///
    /// - Returns: nil where the file is shorter than that.
    public func start(_ count: Int) throws(SQLiteError) -> (bytes: [UInt8], size: Int)? {
        var bytes = [UInt8](repeating: 0, count: count)
        var size: Int64 = 0
        let code = unsafe trax_sqlite3_read_start(pointer, &bytes, Int32(count), &size)
        if code == trax_sqlite3_short_read || size < count { return nil }
        try check(code)
        return (bytes, Int(size))
    }
}
