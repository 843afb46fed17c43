internal import ConnectionEvents
internal import RelayCore

/// The clocks of a simulated machine: one that only goes on, and one on the wall that may step.
final class VirtualClock: @unchecked Sendable {
    // @unchecked: a simulation runs on one thread.
    /// What the wall shows at the start.
    static let epoch = Timestamp(milliseconds: 1_796_040_000_000)

    private(set) var now = Instant(nanoseconds: 0)
    private var offset: Duration = .zero

    var wall: Timestamp { Self.epoch.adding(.nanoseconds(now.nanoseconds)).adding(offset) }

    func advance(to instant: Instant) { now = max(now, instant) }

    func step(_ by: Duration) { offset += by }
}
