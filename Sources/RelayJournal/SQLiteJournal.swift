public import ConnectionEvents
public import RelayCore
internal import SQLite
internal import Threading

/// The journal on a SQLite file: belief and events in one transaction, entries by position.
///
/// One writing connection, a few reading ones, and a checkpoint on a thread of its own. Bounds:
/// file and write-ahead log by ``JournalLimits``; at most ``ReaderPool/limit`` idle readers are
/// kept.
///
/// Threads: any. Calls block on the disk; `commit` waits for the disk to have it.
public final class SQLiteJournal: Journal {
    /// The file that it is kept in.
    public let file: JournalFile
    private let lock: JournalLock
    let limits: JournalLimits
    private let writer: Lock<Writer>
    private let readers: ReaderPool
    private let checkpointer: Checkpointer
    private let newest: Lock<JournalPosition>

    /// Opens the journal for the one relay that runs on it.
    ///
    /// - Parameter lock: kept until the journal is gone.
    /// - Throws: `JournalFailure`; `unusable` when the file is damaged.
    public init(
        _ file: JournalFile, lock: JournalLock, limits: JournalLimits = .standard
    ) throws(JournalFailure) {
        precondition(lock.journal == file.path, "the lock of another journal")
        self.file = file
        self.lock = lock
        self.limits = limits
        let database = try file.connect()
        let (writer, head) = try reporting(file.path) {
            // Checkpoints run beside the writer, never inside a commit.
            try database.execute("PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -65536")
            let writer = try Writer(database, limits: limits)
            return (writer, writer.head)
        }
        self.writer = Lock(writer)
        newest = Lock(head)
        readers = ReaderPool(file)
        checkpointer = try Checkpointer(file, limits: limits)
    }

    deinit {
        checkpointer.stop()
    }

    /// The journal's identity.
    public var id: JournalID { file.id }

    /// The belief of an account; nil when there is none.
    public func belief(of account: AccountID) throws(JournalFailure) -> Belief? {
        try reading { try $0.belief(of: account) }
    }

    /// The heads of all beliefs.
    public func heads() throws(JournalFailure) -> [AccountID: BeliefHead] {
        try reading { try $0.heads() }
    }

    /// What is left of a belief that cannot be read.
    public func remains(of account: AccountID) throws(JournalFailure) -> BeliefRemains {
        try reading { try $0.remains(of: account) }
    }

    /// The account's open attempts to link, oldest first.
    public func openLinks(of account: AccountID) throws(JournalFailure) -> [LinkWatch] {
        try reading { try $0.openLinks(of: account) }
    }

    /// Makes the batch durable, in one transaction, and returns the head after it.
    public func commit(_ batch: JournalBatch) throws(JournalFailure) -> JournalPosition {
        let (head, isLogLong) = try writing { (try $0.commit(batch), $0.room.isLogLong) }
        newest.withLock { $0 = max($0, head) }
        checkpointer.noteCommit(isUrgent: isLogLong)
        return head
    }

    /// The largest epoch ever given in this journal.
    public func lastEpoch() throws(JournalFailure) -> Int64 {
        try reading { try $0.lastEpoch() }
    }

    /// The position of the newest entry, without asking the disk.
    public func head() throws(JournalFailure) -> JournalPosition {
        newest.withLock { $0 }
    }

    /// The position of the oldest entry still there; one past the head when there is none.
    public func tail() throws(JournalFailure) -> JournalPosition {
        try reading { try $0.tail() }
    }

    /// Entries after a position, in order.
    public func entries(
        after position: JournalPosition, limit: Int, bytes: Int
    ) throws(JournalFailure) -> [JournalEntry] {
        if newest.withLock({ $0 <= position }) { return [] }
        return try reading { try $0.entries(after: position, limit: limit, bytes: bytes) }
    }

    /// The id of the event at a position.
    public func eventID(at position: JournalPosition) throws(JournalFailure) -> EventID? {
        try reading { try $0.eventID(at: position) }
    }

    /// The place a sink has reached.
    public func place(of sink: SinkName) throws(JournalFailure) -> JournalPosition? {
        try reading { try $0.places()[sink] }
    }

    /// Moves and forgets places.
    ///
    /// Written in order but not waited for: a power cut may put a place back, which repeats records
    /// and loses none. The next `commit` makes it durable too.
    public func setPlaces(
        _ places: [SinkName: JournalPosition?]
    ) throws(JournalFailure) {
        try setPlaces(places, told: [:])
    }

    /// Moves and forgets places, with what brokers were told last of the sinks.
    public func setPlaces(
        _ places: [SinkName: JournalPosition?], told: [SinkName: JournalPosition]
    ) throws(JournalFailure) {
        guard !places.isEmpty else { return }
        try writing { try $0.setPlaces(places, told: told) }
        noteCommit()
    }

    /// All sinks that have a place.
    public func places() throws(JournalFailure) -> [SinkName: JournalPosition] {
        try reading { try $0.places() }
    }

    /// What brokers were told last of the sinks, as far as it was saved.
    public func told() throws(JournalFailure) -> [SinkName: JournalPosition] {
        try reading { try $0.told() }
    }

    /// The brokers of these sinks have not said yet what they remember; nothing is written.
    public func awaitWord(of sinks: Set<SinkName>) {
        writer.withLock { $0.awaitWord(of: sinks) }
    }

    /// Where the head was when the first entry was written that a broker was not asked about.
    public func unheard() throws(JournalFailure) -> [SinkName: JournalPosition] {
        try reading { try $0.unheard() }
    }

    /// What the brokers of these sinks remember fits; durable when it returns.
    public func heard(_ sinks: Set<SinkName>) throws(JournalFailure) {
        try writing { try $0.heard(sinks) }
    }

    /// The marks of the last sealed walks, as far as they were saved.
    public func marks() throws(JournalFailure) -> [AccountID: SealMark] {
        try reading { try $0.marks() }
    }

    /// Saves marks beside those saved before, in one transaction that is not waited for.
    public func saveMarks(_ marks: [AccountID: SealMark]) throws(JournalFailure) {
        guard !marks.isEmpty else { return }
        try writing { try $0.saveMarks(marks) }
        noteCommit()
    }

    /// What a state topic held of an account that the register did not have at the renewal.
    public func remembered(of account: AccountID) throws(JournalFailure) -> [StateRecord] {
        try reading { try $0.remembered(of: account) }
    }

    /// What brokers remembered when the journal was renewed because of it.
    public func answered() throws(JournalFailure) -> [SinkName: Progress] {
        try reading { try $0.answered() }
    }

    /// Empties the write-ahead log into the file, so that a copy of the file is the whole journal.
    ///
    /// For a clean stop, when nothing writes any more.
    public func close() throws(JournalFailure) {
        checkpointer.stop()
        try writing { _ = try $0.database.checkpoint(.truncate) }
    }

    func noteCommit() { checkpointer.noteCommit() }

    func reading<Result>(
        _ body: (Reader) throws -> Result
    ) throws(JournalFailure) -> Result {
        try readers.withReader(body)
    }

    func writing<Result>(
        _ body: (Writer) throws -> Result
    ) throws(JournalFailure) -> Result {
        let path = file.path
        return try writer.withLock { (writer) throws(JournalFailure) in
            try reporting(path) { try body(writer) }
        }
    }
}
