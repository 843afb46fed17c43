/// Accounts that wait for their next walk: first none before it is due, then those that are due,
/// the one first whose promise is broken first (earliest deadline first; Liu and Layland 1973).
///
/// Due order alone would let a crowd that may well wait hold up the few that may not.
struct WalkQueue: Sendable {
    /// Not due yet, by when they are.
    private var resting = DueHeap()
    /// Due, by their deadlines.
    private var ready = DueHeap()
    /// How long each slot may wait once it is due, in milliseconds.
    private var slacks: [Int32] = []

    /// Puts a slot in, or moves it.
    ///
    /// - Parameter slack: how much later than due it may be walked without breaking a promise, in
    ///   seconds.
    mutating func set(_ slot: Int, due: Instant, slack: Double) {
        while slacks.count <= slot { slacks.append(0) }
        slacks[slot] = Int32(min(max(0, slack) * 1000, Double(Int32.max)))
        ready.remove(slot)
        resting.set(slot, due: due)
    }

    /// Takes a slot out; nothing happens when it is not in.
    mutating func remove(_ slot: Int) {
        resting.remove(slot)
        ready.remove(slot)
    }

    /// When a slot is due, or was; nil when it is not in.
    func due(of slot: Int) -> Instant? {
        resting.due(of: slot) ?? ready.due(of: slot).map { due(by: $0, slot) }
    }

    /// The slot to walk next, and since when, or from when on, it is due.
    mutating func first(now: Instant) -> (slot: Int, due: Instant)? {
        while let (slot, due) = resting.first, due <= now {
            resting.remove(slot)
            ready.set(slot, due: Instant(nanoseconds: due.nanoseconds + slack(of: slot)))
        }
        guard let (slot, deadline) = ready.first else { return resting.first }
        return (slot, due(by: deadline, slot))
    }

    /// When a slot of that deadline became due.
    private func due(by deadline: Instant, _ slot: Int) -> Instant {
        Instant(nanoseconds: deadline.nanoseconds - slack(of: slot))
    }

    /// In nanoseconds.
    private func slack(of slot: Int) -> Int64 { Int64(slacks[slot]) * 1_000_000 }
}
