internal import ConnectionEvents
internal import Glibc

/// The wall clock, which the times of tokens go by.
enum WallClock {
    /// This millisecond.
    static func now() -> Timestamp {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(
            milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
