public import ConnectionEvents

/// One record for one sink.
public struct OutboundMessage: Hashable, Sendable {
    /// Where it came from.
    public var position: JournalPosition
    /// Kafka key: the account id, or `account/connection` for state.
    public var key: String
    /// The bytes; nil is a tombstone.
    public var value: [UInt8]?
    /// Header names and values, in order.
    public var headers: [Header]

    /// A header of a record.
    public struct Header: Hashable, Sendable {
        /// Its name.
        public var name: String
        /// Its value.
        public var value: String

        /// A header of that name and value.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// One record, field by field.
    public init(
        position: JournalPosition, key: String, value: [UInt8]?, headers: [Header] = []
    ) {
        self.position = position
        self.key = key
        self.value = value
        self.headers = headers
    }
}

/// What is published at once: for each sink its records and the place that they reach.
public struct Run: Hashable, Sendable {
    /// One sink's share of a run.
    public struct Part: Hashable, Sendable {
        /// The sink.
        public var sink: SinkName
        /// Its records, in journal order; may be empty when the filter takes none.
        public var messages: [OutboundMessage]
        /// The place after the run.
        public var place: JournalPosition
        /// The id of the event at the place, if there is an event.
        public var eventID: EventID?
        /// Whether more of the same filling follows, so that the place is not yet reached.
        public var isFilling: Bool

        /// One sink's share, field by field.
        public init(
            sink: SinkName, messages: [OutboundMessage], place: JournalPosition,
            eventID: EventID?, isFilling: Bool = false
        ) {
            self.isFilling = isFilling
            self.sink = sink
            self.messages = messages
            self.place = place
            self.eventID = eventID
        }
    }

    /// The sinks' shares.
    public var parts: [Part]

    /// A run of these shares.
    public init(parts: [Part]) { self.parts = parts }
}

/// What a broker remembers of a sink: the value of its progress record.
public struct Progress: Hashable, Sendable {
    /// Whose position it is.
    public var journal: JournalID
    /// The position reached.
    public var position: JournalPosition
    /// The id of the event there, if there is an event.
    public var eventID: EventID?
    /// The largest epoch given when it was written.
    public var epoch: Int64
    /// Which process wrote it.
    public var instance: String

    /// A progress record, field by field.
    public init(
        journal: JournalID, position: JournalPosition, eventID: EventID?, epoch: Int64,
        instance: String
    ) {
        self.journal = journal
        self.position = position
        self.eventID = eventID
        self.epoch = epoch
        self.instance = instance
    }

    /// Whether both tell of the same place, whichever process wrote them.
    public func isSamePlace(as other: Progress) -> Bool {
        journal == other.journal && position == other.position && eventID == other.eventID
    }
}

/// A record of a state topic, as it was read back.
public struct HeldState: Hashable, Sendable {
    /// `account/connection`.
    public var key: String
    /// The value; nil is a tombstone.
    public var value: [UInt8]?
    /// Where it was: the records of one key come in order within a partition.
    public var partition: Int32
    /// When it was written, in milliseconds since 1970; tells which of two partitions is newer.
    public var writtenAt: Int64

    /// A record, field by field.
    public init(key: String, value: [UInt8]?, partition: Int32, writtenAt: Int64) {
        self.key = key
        self.value = value
        self.partition = partition
        self.writtenAt = writtenAt
    }
}

/// Why records did not go out.
public struct PublishFailure: Error, Hashable, CustomStringConvertible {
    /// What the caller can do.
    public enum Kind: Hashable, Sendable {
        /// Nothing was published; the same run may be published again with the same handle.
        case again
        /// It is not known whether the run went out: open anew, read the progress, then decide.
        case reopen
        /// The sink does not take these records (too large, invalid): halve the run.
        case refusedRecord(SinkName)
        /// The sink takes nothing for now (authorisation, unknown topic): the others go on.
        case refusedSink(SinkName)
        /// Broker or output is away: back off, then open anew.
        case unavailable
        /// What is configured cannot work: exit 78.
        case misconfigured
        /// Another process publishes under this name: exit 1.
        case takenOver
        /// The other side is gone and cannot come back, as the reader of a pipe: exit 1.
        case gone
    }

    /// What the caller can do.
    public var kind: Kind
    /// One of few stable words, for a metric, as `MSG_SIZE_TOO_LARGE`.
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

/// Takes runs of records to where they go: Kafka, or an output.
///
/// Called by one thread, which may block. `open` is called before the first `publish` and after
/// each failure of kind `reopen` or `unavailable`; opening an open publisher starts it anew.
public protocol Publisher: AnyObject, Sendable {
    /// Connects, fences any older self, and reads what the other side knows of each sink's place.
    ///
    /// - Returns: progress of the sinks that have any; a sink that keeps its place in the journal
    ///   has none.
    func open() throws(PublishFailure) -> [SinkName: Progress]

    /// The keys for which a state sink holds a value now, of those that `isOurs` takes.
    ///
    /// Called between `open` and the first `publish` of a sink that is to be filled.
    func heldKeys(
        of sink: SinkName, isOurs: (String) -> Bool
    ) throws(PublishFailure) -> Set<String>

    /// Reads all that a state sink holds now, record by record, tombstones too.
    ///
    /// May be called when it is closed.
    ///
    /// - Parameter body: takes the records; what it throws ends the reading.
    func states(
        of sink: SinkName, _ body: (HeldState) throws(PublishFailure) -> Void
    ) throws(PublishFailure)

    /// Whether nothing was ever written to a state sink: it is new, or was deleted and made anew.
    func isEmpty(_ sink: SinkName) throws(PublishFailure) -> Bool

    /// Publishes a run; returns when all of it is acknowledged (exactly-once: committed).
    func publish(_ run: Run) throws(PublishFailure)

    /// Lets the library do its work and says whether the other side can be reached.
    ///
    /// Called about once a second while there is nothing to publish; must not block for long.
    func probe() throws(PublishFailure)

    /// Closes within the given time, whatever the broker does.
    func close(within limit: Duration)
}

extension Publisher {
    /// None: a publisher that serves no state sink holds no key.
    public func heldKeys(
        of sink: SinkName, isOurs: (String) -> Bool
    ) throws(PublishFailure) -> Set<String> { [] }

    /// Nothing: a publisher that serves no state sink holds none.
    public func states(
        of sink: SinkName, _ body: (HeldState) throws(PublishFailure) -> Void
    ) throws(PublishFailure) {}

    /// No: what is not known to be empty is not filled again.
    public func isEmpty(_ sink: SinkName) throws(PublishFailure) -> Bool { false }
}
