public import ConnectionEvents

/// A record that a sink does not take, set aside so that its neighbours go on.
public struct ParkedRecord: Hashable, Sendable {
    /// Given by the journal, never again; 0 before it is parked.
    public var number: Int64
    /// Whose record it is.
    public var sink: SinkName
    /// The record as it was refused; its position is that of its entry, or of the filling.
    public var message: OutboundMessage
    /// Whose account it tells of.
    public var account: AccountID
    /// The event; nil for a state record alone.
    public var event: EventFacts?
    /// Why it was refused: one of few stable words, as `MSG_SIZE_TOO_LARGE`.
    public var code: String
    /// Why it was refused, a sentence.
    public var reason: String
    /// When it was parked, or refused once more.
    public var parkedAt: Timestamp
    /// When an operator ordered that it be sent again; nil: nobody has.
    public var orderedAt: Timestamp?

    /// A record, field by field.
    public init(
        number: Int64 = 0, sink: SinkName, message: OutboundMessage, account: AccountID,
        event: EventFacts?, code: String, reason: String, parkedAt: Timestamp,
        orderedAt: Timestamp? = nil
    ) {
        self.number = number
        self.sink = sink
        self.message = message
        self.account = account
        self.event = event
        self.code = code
        self.reason = reason
        self.parkedAt = parkedAt
        self.orderedAt = orderedAt
    }
}

/// What a look at the parked records found.
public struct ParkedSight: Hashable, Sendable {
    /// How many are parked, by sink; those without any are left out.
    public var counts: [SinkName: Int]
    /// Those that an operator wants to be sent again, oldest first.
    public var ordered: [ParkedRecord]

    /// What was found, field by field.
    public init(counts: [SinkName: Int], ordered: [ParkedRecord]) {
        self.counts = counts
        self.ordered = ordered
    }
}

/// Keeps records that sinks do not take, and hears what operators want done with them.
///
/// Threads: any. Calls block on the disk.
public protocol ParkingDesk: AnyObject, Sendable {
    /// Parks a record, and moves its sink's place past it in the same breath.
    ///
    /// - Parameter place: where the sink goes on; nil leaves its place alone.
    /// - Throws: `full` when too many records of the sink are parked already.
    func park(_ record: ParkedRecord, place: JournalPosition?) throws(JournalFailure)

    /// What is parked and ordered; nil when nothing was written since the last look.
    func look() throws(JournalFailure) -> ParkedSight?

    /// An ordered record was sent, and is parked no longer.
    func sent(_ number: Int64) throws(JournalFailure)

    /// An ordered record was refused once more: it stays, and is no longer ordered.
    func refused(_ number: Int64, _ failure: PublishFailure) throws(JournalFailure)
}
