/// How often an account is walked while attempts to link are open: fast at first, then slower.
///
/// A value without clock; the poll loop asks it after each walk of the account.
public struct WatchPace: Hashable, Sendable {
    /// How long the fastest pace is kept after the last opening.
    public static let eager: Duration = .seconds(120)
    /// By how much an interval grows after that, each time.
    public static let growth = 1.5
    /// How long an attempt that has expired is still looked for: a list that cannot be read.
    public static let patience: Duration = .seconds(900)

    /// Numbers of the open watches.
    public private(set) var open: Set<Int64> = []
    /// Those that the last look at the journal did not find any more.
    private var missing: Set<Int64> = []
    private var eagerUntil: Instant
    private var expires: Instant
    private var last: Duration = .zero

    /// The pace of an account without a watch yet.
    public init(now: Instant) {
        eagerUntil = now
        expires = now
    }

    /// A watch was opened.
    ///
    /// - Parameter lifetime: until the attempt's time is over.
    public mutating func opened(_ number: Int64, lifetime: Duration, now: Instant) {
        guard open.insert(number).inserted else { return }
        eagerUntil = max(eagerUntil, now + min(Self.eager, max(.zero, lifetime)))
        expires = max(expires, now + lifetime)
        last = .zero
    }

    /// A watch has ended.
    public mutating func ended(_ number: Int64) { open.remove(number) }

    /// A look at the journal found these open; what two looks in a row miss was ended by somebody
    /// else.
    ///
    /// One look may be older than the opening.
    public mutating func found(_ numbers: Set<Int64>) {
        let gone = open.subtracting(numbers)
        open.subtract(gone.intersection(missing))
        missing = gone.intersection(open)
    }

    /// Whether nothing is waited for any more.
    public func isOver(now: Instant) -> Bool {
        open.isEmpty || now > expires + Self.patience
    }

    /// How long after a walk the next one comes.
    ///
    /// - Parameter crowd: accounts with an open watch; together they take at most half the budget.
    public mutating func interval(
        rules: ScheduleRules, crowd: Int, now: Instant
    ) -> Duration {
        let fair = Duration.seconds(Double(crowd) * 2 / rules.budget)
        let least = max(rules.fastest, fair)
        if now < eagerUntil || last == .zero {
            last = least
        } else {
            last = min(last * Self.growth, max(rules.slowest, least))
        }
        // The last look is due as soon as the attempt's time is over.
        let rest = expires - now
        return rest > .zero ? min(max(last, least), max(rest, least)) : max(last, least)
    }
}
