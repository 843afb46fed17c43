/// An instant of a clock that never steps: nanoseconds since some start, for waits and deadlines.
public struct Instant: Hashable, Sendable, Comparable {
    /// Nanoseconds since the clock's start.
    public var nanoseconds: Int64

    /// The instant that many nanoseconds after the clock's start.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Earlier comes first.
    public static func < (left: Self, right: Self) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant a duration later.
    public static func + (left: Self, right: Duration) -> Self {
        Instant(nanoseconds: left.nanoseconds + right.wholeNanoseconds)
    }

    /// The time from the right instant to the left one.
    public static func - (left: Self, right: Self) -> Duration {
        .nanoseconds(left.nanoseconds - right.nanoseconds)
    }

    /// After everything.
    public static let never = Instant(nanoseconds: .max)
}

extension Duration {
    /// Whole nanoseconds, held between plus and minus a century.
    var wholeNanoseconds: Int64 {
        let seconds = min(max(components.seconds, -3_155_760_000), 3_155_760_000)
        return seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }

    /// Seconds as a floating-point number.
    public var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
