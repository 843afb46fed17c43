internal import Glibc

/// The machine's clock, for all rooms that may look at one.
///
/// Threads: any.
public enum SystemClock {
    /// Milliseconds since 1970 as the wall clock has it, which may be set (`clock_gettime(2)`,
    /// `CLOCK_REALTIME`).
    public static var wallMilliseconds: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
