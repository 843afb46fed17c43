public import ConnectionEvents

/// Makes a wall clock that never runs backwards: it stands still until the real one has caught up.
public struct StampClock: Sendable {
    private var last: Timestamp

    /// A clock that gives nothing earlier than `floor`: what the process before had given.
    public init(floor: Timestamp) { last = floor }

    /// The stamp for what happens when the wall clock shows `wall`.
    public mutating func stamp(_ wall: Timestamp) -> Timestamp {
        last = max(last, wall)
        return last
    }
}
