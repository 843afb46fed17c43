public import ConnectionEvents
internal import Threading

/// The system's clock.
public enum WallClock {
    /// The time of day; any thread.
    public static let now: @Sendable () -> Timestamp = {
        Timestamp(milliseconds: SystemClock.wallMilliseconds)
    }
}
