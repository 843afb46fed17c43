public import ConnectionEvents
internal import Glibc

/// The system's clock.
public enum WallClock {
    /// The time of day, as `CLOCK_REALTIME` has it; any thread.
    public static let now: @Sendable () -> Timestamp = {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
