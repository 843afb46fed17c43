public import ConnectionEvents

/// A record of a state topic on its way into the journal.
public struct ReadState: Hashable, Sendable {
    /// Whose connection it is.
    public var account: AccountID
    /// The connection.
    public var connection: ConnectionID
    /// The record's JSON; nil is a tombstone.
    public var value: [UInt8]?
    /// Where it was read: of one partition the later record counts.
    public var partition: Int32
    /// When it was written, in milliseconds since 1970: of two partitions the later one counts.
    public var writtenAt: Int64

    /// A record, field by field.
    public init(
        account: AccountID, connection: ConnectionID, value: [UInt8]?, partition: Int32,
        writtenAt: Int64
    ) {
        self.account = account
        self.connection = connection
        self.value = value
        self.partition = partition
        self.writtenAt = writtenAt
    }
}

/// How a journal begins anew.
public struct JournalRenewal: Sendable {
    /// The accounts of the register, each with its incarnation, in the order of their entries.
    public var accounts: [(id: AccountID, incarnation: Int64)]
    /// Sinks whose place is the head as it was; all others lose theirs.
    public var eventSinks: [SinkName]
    /// Entries beyond are dropped: they may be of a history that nobody was told.
    public var kept: JournalPosition
    /// What brokers remember of before, to which the renewed journal is the answer.
    public var answered: [SinkName: Progress]
    /// The epoch of all accounts, larger than any before.
    public var epoch: Int64

    /// A renewal, field by field.
    public init(
        accounts: [(id: AccountID, incarnation: Int64)], eventSinks: [SinkName],
        kept: JournalPosition, answered: [SinkName: Progress], epoch: Int64
    ) {
        self.accounts = accounts
        self.eventSinks = eventSinks
        self.kept = kept
        self.answered = answered
        self.epoch = epoch
    }
}

/// A journal that can begin anew, with what its brokers hold.
///
/// Nothing else may run on it meanwhile.
public protocol RenewableJournal: Journal {
    /// Forgets what was read of state topics and not yet made beliefs of.
    func forgetStates() throws(JournalFailure)

    /// Keeps records of a state topic for ``renew(_:begin:)``.
    ///
    /// A later record of a key takes the place of an earlier one. They mean nothing before the
    /// renewal: a crash leaves the journal as it was.
    func keep(_ states: [ReadState]) throws(JournalFailure)

    /// Begins anew, in one transaction: a new identity, new beliefs, their first entries, places.
    ///
    /// The journal takes no commit afterwards: it must be opened anew. What was kept of accounts
    /// that the register does not have stays, for the time when it has them.
    ///
    /// - Parameter begin: makes an account's belief and first entries of what was kept of it.
    /// - Returns: the new identity.
    func renew(
        _ renewal: JournalRenewal,
        begin: (AccountID, _ incarnation: Int64, [StateRecord]) -> (Belief, [NewEntry])
    ) throws(JournalFailure) -> JournalID
}

extension Journal {
    /// The places alone: a journal whose brokers are always the same ones.
    public func setPlaces(
        _ places: [SinkName: JournalPosition?], told: [SinkName: JournalPosition]
    ) throws(JournalFailure) {
        try setPlaces(places)
    }

    /// Nothing: a journal whose brokers are always the same ones.
    public func told() throws(JournalFailure) -> [SinkName: JournalPosition] { [:] }

    /// Nothing is noted: a journal that is never put back.
    public func awaitWord(of sinks: Set<SinkName>) {}

    /// None: a journal that is never put back.
    public func unheard() throws(JournalFailure) -> [SinkName: JournalPosition] { [:] }

    /// Nothing was noted: a journal that is never put back.
    public func heard(_ sinks: Set<SinkName>) throws(JournalFailure) {}

    /// Nothing: a journal that is never renewed answers nobody.
    public func answered() throws(JournalFailure) -> [SinkName: Progress] { [:] }

    /// Nothing: a journal that is never renewed has read no state topic.
    public func remembered(of account: AccountID) throws(JournalFailure) -> [StateRecord] { [] }
}
