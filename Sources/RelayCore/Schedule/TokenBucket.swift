/// How many requests may go out: so many a second, never more than a moment's worth at once.
///
/// Starts empty, so that a restart spends nothing that the process before had not saved.
struct TokenBucket: Sendable {
    /// Tokens a second.
    let rate: Double
    /// The most tokens that are saved up.
    let capacity: Double
    private var tokens = 0.0
    private var filledAt: Instant

    /// A bucket that saves up at most `burst` worth of its rate, and at least one token.
    init(rate: Double, burst: Duration, now: Instant) {
        self.rate = rate
        capacity = max(1, rate * burst.inSeconds)
        filledAt = now
    }

    /// Takes a token if there is one.
    mutating func take(now: Instant) -> Bool {
        fill(now)
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// When the next token is there, if none is taken until then.
    mutating func ready(now: Instant) -> Instant {
        fill(now)
        guard tokens < 1 else { return now }
        return now + .nanoseconds(Int64(((1 - tokens) / rate * 1e9).rounded(.up)))
    }

    private mutating func fill(_ now: Instant) {
        guard now > filledAt else { return }
        tokens = min(capacity, tokens + (now - filledAt).inSeconds * rate)
        filledAt = now
    }
}

/// A small generator of numbers that a seed determines: SplitMix64 (Steele, Lea, Flood 2014).
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// The sequence of that seed.
    public init(seed: UInt64) { state = seed }

    /// The next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    /// A number from 0 up to, not including, 1.
    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
