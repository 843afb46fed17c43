internal import CSQLite

/// What a checkpoint of the write-ahead log has done (https://www.sqlite.org/wal.html).
public struct Checkpoint: Equatable, Sendable {
    /// How hard it tries.
    public enum Mode: Sendable {
        /// Moves what it can without waiting for anyone or holding anyone up.
        case passive
        /// Waits for readers and writers, moves everything and empties the log file.
        case truncate
    }

    /// Pages in the log.
    public let pages: Int
    /// Pages of it that stand in the main file now.
    public let moved: Int
    /// Whether another connection kept a `truncate` from finishing.
    public let wasBusy: Bool

    /// Whether the log holds nothing any more that the main file lacks.
    public var isComplete: Bool { !wasBusy && pages == moved }
}

extension Database {
    /// Leaves file and log as they are when the last connection closes.
    ///
    /// For looking at a file that may be damaged: closing otherwise moves the log into it
    /// (https://www.sqlite.org/c3ref/c_dbconfig_defensive.html).
    public func keepLogOnClose() throws(SQLiteError) {
        try check(unsafe trax_sqlite3_keep_log_on_close(pointer))
    }

    /// Moves pages from the write-ahead log into the main file.
    ///
    /// Do it on a connection and thread of its own: the writer then never pays for it in a commit.
    public func checkpoint(_ mode: Checkpoint.Mode) throws(SQLiteError) -> Checkpoint {
        let flag =
            switch mode {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        var (pages, moved): (Int32, Int32) = (0, 0)
        let code = unsafe sqlite3_wal_checkpoint_v2(pointer, nil, flag, &pages, &moved)
        let busy = code & 0xff == SQLITE_BUSY
        if !busy { try check(code) }
        return Checkpoint(pages: Int(max(pages, 0)), moved: Int(max(moved, 0)), wasBusy: busy)
    }
}
