/// How much one key may ask.
public struct SandboxRate: Sendable, Equatable {
    /// Requests a second in the long run, above 0.
    public var perSecond: Double
    /// Requests at once after a rest, at least 1.
    public var burst: Double

    /// Names a rate.
    public init(perSecond: Double, burst: Double) {
        self.perSecond = perSecond
        self.burst = burst
    }
}

/// A token bucket that starts full, on a clock that its owner reads.
struct TokenBucket: Sendable {
    private var tokens: Double
    private var filledAt: Duration

    init(_ rate: SandboxRate, at now: Duration) {
        tokens = rate.burst
        filledAt = now
    }

    /// Takes one token; otherwise the whole seconds until there is one, at least 1.
    mutating func take(_ rate: SandboxRate, at now: Duration) -> Int? {
        let passed = max(.zero, now - filledAt) / .seconds(1)
        tokens = min(rate.burst, tokens + passed * rate.perSecond)
        filledAt = max(filledAt, now)
        if tokens >= 1 {
            tokens -= 1
            return nil
        }
        return max(1, Int(min(3600, ((1 - tokens) / rate.perSecond).rounded(.up))))
    }
}

/// SplitMix64: the same numbers from the same seed, for ids and keys that are no secrets.
struct SeededNumbers: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Sixteen lower-case hexadecimal digits.
    mutating func hex16() -> String {
        let text = String(next(), radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
