public import ConnectionEvents
internal import Glibc
public import RelayCore
internal import Threading

/// The two clocks of the relay: one that never steps, for waits, and one for stamps.
///
/// Waits are measured on a clock that goes on while the machine sleeps (`CLOCK_BOOTTIME`), so that
/// after a suspend everything is due; stamps never run backwards (``RelayCore/StampClock``).
/// Threads: any. `clock_gettime(2)`.
public final class RelayClock: Sendable {
    private let stamps: Lock<StampClock>

    /// A clock whose stamps are never earlier than `floor`.
    public init(floor: Timestamp = Timestamp(milliseconds: 0)) {
        stamps = Lock(StampClock(floor: floor))
    }

    /// For waits and deadlines.
    public var now: Instant {
        let time = Self.read(CLOCK_BOOTTIME)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// For walks, `decidedAt`, and everything that is published.
    public func stamp() -> Timestamp {
        let wall = Self.wall
        return stamps.withLock { $0.stamp(wall) }
    }

    /// Gives nothing earlier than that from now on.
    func raise(to floor: Timestamp) {
        stamps.withLock { _ = $0.stamp(floor) }
    }

    /// The wall clock as the system has it, for logs.
    public static var wall: Timestamp {
        let time = read(CLOCK_REALTIME)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return time
    }
}
