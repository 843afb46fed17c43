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
    private let readings: Readings

    /// What the two clocks show.
    package struct Readings: Sendable {
        /// The one that never steps.
        package var now: @Sendable () -> Instant
        /// The one on the wall.
        package var wall: @Sendable () -> Timestamp

        /// Any two clocks; the simulation has its own.
        package init(
            now: @escaping @Sendable () -> Instant, wall: @escaping @Sendable () -> Timestamp
        ) {
            self.now = now
            self.wall = wall
        }

        /// The machine's.
        package static let system = Readings(
            now: {
                var time = timespec()
                unsafe clock_gettime(CLOCK_BOOTTIME, &time)
                return Instant(
                    nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
            }, wall: { RelayClock.wall })
    }

    /// A clock whose stamps are never earlier than `floor`.
    public convenience init(floor: Timestamp = Timestamp(milliseconds: 0)) {
        self.init(floor: floor, readings: .system)
    }

    /// A clock over other readings than the machine's.
    package init(floor: Timestamp, readings: Readings) {
        stamps = Lock(StampClock(floor: floor))
        self.readings = readings
    }

    /// For waits and deadlines.
    public var now: Instant { readings.now() }

    /// The wall clock as it is, for figures and dates of others.
    var wall: Timestamp { readings.wall() }

    /// For walks, `decidedAt`, and everything that is published.
    public func stamp() -> Timestamp {
        let (wall, now) = (wall, now)
        return stamps.withLock { $0.stamp(wall, now: now) }
    }

    /// Gives nothing earlier than that from now on.
    func raise(to floor: Timestamp) {
        stamps.withLock { $0.raise(to: floor) }
    }

    /// The wall clock as the system has it, for logs.
    public static var wall: Timestamp { Timestamp(milliseconds: SystemClock.wallMilliseconds) }
}
