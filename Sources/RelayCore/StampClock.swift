public import ConnectionEvents

/// Makes a wall clock that never runs backwards: it goes at half the speed until the real one has
/// caught up.
///
/// It must not stand still meanwhile: what is sealed since something was first seen is told by its
/// stamp, and what is held waits by stamps.
public struct StampClock: Sendable {
    private var last: Timestamp
    /// The stamp, and the moment, at which the wall clock was first seen to be behind.
    private var behind: (stamp: Timestamp, since: Instant)?

    /// A clock that gives nothing earlier than `floor`: what the process before had given.
    public init(floor: Timestamp) { last = floor }

    /// The stamp for what happens when the wall clock shows `wall`.
    ///
    /// - Parameter now: of a clock that never steps.
    public mutating func stamp(_ wall: Timestamp, now: Instant) -> Timestamp {
        guard wall < last else {
            last = wall
            behind = nil
            return last
        }
        let (stamp, since) = behind ?? (last, now)
        behind = (stamp, since)
        last = max(last, stamp.adding((now - since) / 2))
        return last
    }

    /// Gives nothing earlier than that from now on.
    public mutating func raise(to floor: Timestamp) {
        guard floor > last else { return }
        last = floor
        behind = nil
    }
}
