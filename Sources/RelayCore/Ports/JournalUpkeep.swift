public import ConnectionEvents

/// How large a journal is, and what of it may go.
public struct JournalSize: Hashable, Sendable {
    /// Bytes of the file, those among them that are free to be used again.
    public var file: Int
    /// Bytes of the file that hold something.
    public var used: Int
    /// Bytes of the write-ahead log.
    public var log: Int
    /// Bytes that file and log may take together.
    public var limit: Int
    /// Entries that are kept.
    public var entries: Int64
    /// Entries that may be pruned now.
    public var prunable: Int64
    /// When the oldest event that is kept was decided; nil: there is none.
    public var oldest: Timestamp?

    /// Sizes, one by one.
    public init(
        file: Int, used: Int, log: Int, limit: Int, entries: Int64, prunable: Int64,
        oldest: Timestamp?
    ) {
        self.file = file
        self.used = used
        self.log = log
        self.limit = limit
        self.entries = entries
        self.prunable = prunable
        self.oldest = oldest
    }
}

/// What may be pruned: old entries that every sink has.
public struct PruningRule: Hashable, Sendable {
    /// Only what was decided before.
    public var decidedBefore: Timestamp
    /// Only up to there: no sink that delivers now is behind it.
    public var through: JournalPosition

    /// A rule of both bounds.
    public init(decidedBefore: Timestamp, through: JournalPosition) {
        self.decidedBefore = decidedBefore
        self.through = through
    }
}

/// Keeps a journal within its bounds.
///
/// Called by one thread, beside the one that commits. Calls block on the disk.
public protocol JournalUpkeep: AnyObject, Sendable {
    /// Takes away some of the oldest entries, as one short transaction between two commits.
    ///
    /// Never beyond a place that the journal itself holds of a sink, and never the newest entry,
    /// whose id and time tell this journal's history.
    ///
    /// - Returns: how many went; 0: nothing more may go.
    func prune(_ rule: PruningRule) throws(JournalFailure) -> Int

    /// How large it is, and what the rule would let go.
    func size(_ rule: PruningRule) throws(JournalFailure) -> JournalSize

    /// Makes sure that a commit would find room, and that the file is still the one it was.
    ///
    /// - Throws: `full` without room; `unusable` where the file was taken away or exchanged.
    func proveRoom() throws(JournalFailure)
}
