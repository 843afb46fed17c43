public import ConnectionEvents
public import Hashing

/// The identity of one journal, made with it: 32 hexadecimal digits.
public struct JournalID: Hashable, Sendable, CustomStringConvertible {
    /// The id as text.
    public let text: String

    /// Takes an id as it was stored.
    public init(_ text: String) { self.text = text }

    /// The id as text.
    public var description: String { text }
}

/// The place of an entry in a journal: from 1, growing by 1; 0 stands before the first.
public struct JournalPosition: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The number.
    public var number: Int64

    /// The position with that number.
    public init(_ number: Int64) { self.number = number }

    /// Before the first entry.
    public static let start = JournalPosition(0)

    /// Earlier comes first.
    public static func < (left: Self, right: Self) -> Bool { left.number < right.number }

    /// The number as text.
    public var description: String { String(number) }
}

/// A sink's identity: its topic, or its name.
public struct SinkName: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// Topic or name.
    public let text: String

    /// The sink of that topic or name.
    public init(_ text: String) { self.text = text }

    /// Topic or name.
    public var description: String { text }

    /// By bytes.
    public static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}

/// A record for state topics: the last state of one connection, or its end.
public struct StateWrite: Hashable, Sendable {
    /// `account/connection`.
    public var key: String
    /// JSON of a ``ConnectionEvents/StateRecord``; nil is a tombstone.
    public var value: [UInt8]?

    /// A record, or with nil a tombstone.
    public init(key: String, value: [UInt8]?) {
        self.key = key
        self.value = value
    }
}

/// One entry to be written: an event, a state record, or both of one happening.
public struct NewEntry: Hashable, Sendable {
    /// Whose entry it is.
    public var account: AccountID
    /// The event; nil for a state record alone (quiet baseline, changed rules).
    public var event: ConnectionEvent?
    /// The state record that goes with it.
    public var state: StateWrite?
    /// JSON that `explain` reads: both observations, the walks, request ids, the rule.
    public var evidence: [UInt8]?
    /// The filtered sinks that take the event and therefore number it.
    public var numberedBy: [SinkName]

    /// One entry, field by field.
    public init(
        account: AccountID, event: ConnectionEvent?, state: StateWrite?,
        evidence: [UInt8]? = nil, numberedBy: [SinkName] = []
    ) {
        self.account = account
        self.event = event
        self.state = state
        self.evidence = evidence
        self.numberedBy = numberedBy
    }
}

/// What a commit does to the belief of one account.
public enum BeliefWrite: Hashable, Sendable {
    /// The head, and the rows that changed (nil: the row is gone).
    case update(BeliefHead, rows: [ConnectionID: BelievedRow?])
    /// The belief is dropped: head, rows, numbers of filtered sinks, soft marks.
    case drop
}

/// One group of changes that becomes durable together or not at all.
public struct JournalBatch: Sendable {
    /// What happens to the beliefs, in order; a drop may be followed by an update of the same
    /// account.
    public var beliefs: [(account: AccountID, write: BeliefWrite)] = []
    /// The entries, in the order in which they are to be published.
    public var entries: [NewEntry] = []
    /// Accounts whose removal is now complete: their register rows go, unless added again
    /// meanwhile.
    public var removals: [(account: AccountID, incarnation: Int64)] = []
    /// Numbers of orders that are carried out, or refused, with this.
    public var ordersDone: [Int64] = []
    /// What was found out about open attempts to link.
    public var links: [LinkFinding] = []

    /// An empty batch.
    public init() {}

    /// Whether there is nothing to commit.
    public var isEmpty: Bool {
        beliefs.isEmpty && entries.isEmpty && removals.isEmpty && ordersDone.isEmpty
            && links.isEmpty
    }
}

/// One entry as the journal hands it out.
public struct JournalEntry: Hashable, Sendable {
    /// Its place.
    public var position: JournalPosition
    /// Whose entry it is.
    public var account: AccountID
    /// What sinks need to know of the event to choose; nil for a state record alone.
    public var event: EventFacts?
    /// The structured CloudEvent, byte for byte; nil for a state record alone.
    public var body: [UInt8]?
    /// The state record that goes with it.
    public var state: StateWrite?
    /// For each filtered sink that takes the event: the account's number before it there, 0 at
    /// first.
    public var previousNumbers: [SinkName: Int64]

    /// One entry, field by field.
    public init(
        position: JournalPosition, account: AccountID, event: EventFacts?, body: [UInt8]?,
        state: StateWrite?, previousNumbers: [SinkName: Int64]
    ) {
        self.position = position
        self.account = account
        self.event = event
        self.body = body
        self.state = state
        self.previousNumbers = previousNumbers
    }
}

/// What a filter looks at.
public struct EventFacts: Hashable, Sendable {
    /// The event's id.
    public var id: EventID
    /// What happened.
    public var type: EventType
    /// Why it was published.
    public var kind: EventKind
    /// Its stream.
    public var lane: EventLane
    /// The platform of the connection; nil for account events and rows without one.
    public var platform: String?
    /// The account's epoch.
    public var epoch: Int64
    /// The account's number.
    public var sequence: Int64
    /// When it was written to the journal.
    public var decidedAt: Timestamp

    /// The facts, field by field.
    public init(
        id: EventID, type: EventType, kind: EventKind, lane: EventLane, platform: String?,
        epoch: Int64, sequence: Int64, decidedAt: Timestamp
    ) {
        self.id = id
        self.type = type
        self.kind = kind
        self.lane = lane
        self.platform = platform
        self.epoch = epoch
        self.sequence = sequence
        self.decidedAt = decidedAt
    }

    /// The facts of an event.
    public init(_ event: ConnectionEvent) {
        var platform: String?
        if case .connection(let change) = event.content { platform = change.connection.platform }
        self.init(
            id: event.id, type: event.type, kind: event.kind, lane: event.lane,
            platform: platform, epoch: event.epoch, sequence: event.sequence,
            decidedAt: event.decidedAt)
    }
}

/// What is kept of an account's last sealed walk; losing it costs accuracy of `after`, nothing
/// else.
public struct SealMark: Hashable, Sendable {
    /// The walk; its time is its start.
    public var walk: WalkID
    /// Of all its pages' bytes together.
    public var fingerprint: Fingerprint

    /// The mark of a walk.
    public init(walk: WalkID, fingerprint: Fingerprint) {
        self.walk = walk
        self.fingerprint = fingerprint
    }
}

/// Why the journal could not do what was asked.
public struct JournalFailure: Error, Hashable, CustomStringConvertible {
    /// What the caller can do.
    public enum Kind: Hashable, Sendable {
        /// Try again soon: another process holds the file for a moment.
        case busy
        /// There is no room: stop believing, keep what is there, go on when there is.
        case full
        /// The file cannot be read as a journal, or its key does not fit: exit 78, overwrite
        /// nothing.
        case unusable
        /// Another process runs on it: exit 78.
        case locked
        /// The disk or the library failed.
        case failed
    }

    /// What the caller can do.
    public var kind: Kind
    /// One of few stable words, for a metric.
    public var code: String
    /// A sentence with the remedy where there is one; never a secret.
    public var reason: String

    /// A failure, field by field.
    public init(kind: Kind, code: String, reason: String) {
        self.kind = kind
        self.code = code
        self.reason = reason
    }

    /// The reason.
    public var description: String { reason }
}

/// Makes belief and events durable together, and hands events out in order.
///
/// One relay owns a journal. `commit` and `saveMarks` are called by its one writer thread, the rest
/// by any thread. Calls block on the disk.
public protocol Journal: AnyObject, Sendable {
    /// The journal's identity.
    var id: JournalID { get }

    /// The belief of an account; nil when the journal never met it, or dropped it.
    func belief(of account: AccountID) throws(JournalFailure) -> Belief?

    /// What a state topic held of an account when the journal was renewed, while the register does
    /// not have the account yet.
    func remembered(of account: AccountID) throws(JournalFailure) -> [StateRecord]

    /// What is left of a belief that cannot be read, to take it away by.
    func remains(of account: AccountID) throws(JournalFailure) -> BeliefRemains

    /// The heads of all beliefs, for the start.
    func heads() throws(JournalFailure) -> [AccountID: BeliefHead]

    /// The account's open attempts to link, oldest first.
    func openLinks(of account: AccountID) throws(JournalFailure) -> [LinkWatch]

    /// Makes the batch durable (on the disk, not in a cache) and returns the head after it.
    func commit(_ batch: JournalBatch) throws(JournalFailure) -> JournalPosition

    /// The largest epoch ever given in this journal; 0 at first.
    func lastEpoch() throws(JournalFailure) -> Int64

    /// The position of the newest entry.
    func head() throws(JournalFailure) -> JournalPosition

    /// The position of the oldest entry still there; one past the head when there is none.
    func tail() throws(JournalFailure) -> JournalPosition

    /// Entries after a position, in order; at most that many, and about that many bytes (at least
    /// one).
    func entries(
        after position: JournalPosition, limit: Int, bytes: Int
    ) throws(JournalFailure) -> [JournalEntry]

    /// The id of the event at a position; nil when there is none, or no event.
    func eventID(at position: JournalPosition) throws(JournalFailure) -> EventID?

    /// The place a sink has reached; nil when the journal does not know the sink.
    func place(of sink: SinkName) throws(JournalFailure) -> JournalPosition?

    /// Moves places; a place that is nil is forgotten.
    func setPlaces(_ places: [SinkName: JournalPosition?]) throws(JournalFailure)

    /// The same, and what brokers were told last of the sinks, in one.
    ///
    /// - Parameter told: the position of each progress record that was acknowledged last.
    func setPlaces(
        _ places: [SinkName: JournalPosition?], told: [SinkName: JournalPosition]
    ) throws(JournalFailure)

    /// What brokers were told last of the sinks, as far as it was saved.
    func told() throws(JournalFailure) -> [SinkName: JournalPosition]

    /// The brokers of these sinks have not said yet what they remember; nothing is written.
    ///
    /// The next commit of entries notes where the head was before, unless that is noted already:
    /// a broker that remembers more than that does not speak of this history, though entries of
    /// the same numbers are there by then.
    func awaitWord(of sinks: Set<SinkName>)

    /// Where the head was when the first entry was written that a sink's broker was not asked
    /// about, as far as there is one.
    func unheard() throws(JournalFailure) -> [SinkName: JournalPosition]

    /// What the brokers of these sinks remember fits; durable before it returns, since what is
    /// published from then on is remembered, too.
    func heard(_ sinks: Set<SinkName>) throws(JournalFailure)

    /// All sinks that have a place.
    func places() throws(JournalFailure) -> [SinkName: JournalPosition]

    /// What brokers remembered when the journal was renewed because of it.
    func answered() throws(JournalFailure) -> [SinkName: Progress]

    /// The marks of the last sealed walks, as far as they were saved.
    func marks() throws(JournalFailure) -> [AccountID: SealMark]

    /// Saves marks, all in one transaction; called once a minute and on stop.
    func saveMarks(_ marks: [AccountID: SealMark]) throws(JournalFailure)
}

extension Journal {
    /// None: what a journal says that keeps no watches.
    public func openLinks(of account: AccountID) throws(JournalFailure) -> [LinkWatch] { [] }
}
