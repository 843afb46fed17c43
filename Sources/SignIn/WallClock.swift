internal import ConnectionEvents
internal import Threading

/// The wall clock, which the times of tokens go by.
enum WallClock {
    /// This millisecond.
    static func now() -> Timestamp { Timestamp(milliseconds: SystemClock.wallMilliseconds) }
}
