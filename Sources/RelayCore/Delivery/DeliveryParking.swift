// Records that a sink does not take: what is refused alone, twice, is parked.
//
// A refused record fails the whole batch and transaction that it goes in, and the transaction after
// an abort may fail as well without any fault of its own. So a refusal is believed only of a record
// that was sent alone, and only the second time.

extension Delivery {
    /// So often must a record be refused alone before it is parked.
    public static let refusalLimit = 2

    /// A record was refused that went alone.
    mutating func noteRefusal(_ index: Int) { lanes[index].refusals += 1 }

    /// The sink whose next record is to be parked now; nil when there is none.
    func refusing(now: Instant) -> Lane? {
        lanes.first { lane in
            lane.refusals >= Self.refusalLimit && (lane.blockedUntil.map { $0 <= now } ?? true)
        }
    }

    /// The record after a sink's place is parked, and its place moved past it; both are durable.
    public mutating func parked(_ sink: SinkName, at place: JournalPosition) {
        guard let index = lanes.firstIndex(where: { $0.plan.name == sink }) else { return }
        lanes[index].place = place
        recover(index)
    }

    /// The record after a sink's place could not be parked: the sink waits, and is then asked once
    /// more whether it takes it.
    public mutating func couldNotPark(_ sink: SinkName, _ failure: PublishFailure, now: Instant) {
        guard let index = lanes.firstIndex(where: { $0.plan.name == sink }) else { return }
        note(failure, of: index, now: now)
        lanes[index].refusals = Self.refusalLimit - 1
        lanes[index].failures += 1
        lanes[index].blockedUntil = now + Self.backOff(lanes[index].failures)
    }
}
