/// What polling may spend, and how fresh it is to be.
public struct ScheduleRules: Hashable, Sendable {
    /// Requests a second, all accounts together.
    public var budget: Double
    /// Requests a second with one credential.
    public var perAccount: Double
    /// No account is walked more often, but to confirm or when asked.
    public var fastest: Duration
    /// No account that answers waits longer, while the budget suffices.
    public var slowest: Duration
    /// Requests under way at once.
    public var places: Int

    /// Rules, field by field; the defaults are the contract's.
    public init(
        budget: Double = 200, perAccount: Double = 2, fastest: Duration = .seconds(2),
        slowest: Duration = .seconds(60), places: Int = 64
    ) {
        self.budget = budget
        self.perAccount = perAccount
        self.fastest = fastest
        self.slowest = slowest
        self.places = places
    }

    /// How soon a walk is repeated that was refused, or that misses a row.
    public var confirmAfter: Duration { min(slowest, max(fastest, .seconds(5))) }

    /// The longest that failing and blind accounts are left alone.
    public var longestBackOff: Duration { max(slowest, .seconds(300)) }

    /// Requests a second that it takes to walk each account within `slowest`, with lists of one
    /// page; more than the budget is too many.
    ///
    /// - Parameter intervals: what takes the place of `slowest`, for each account; nil: nothing.
    public func need(intervals: [Duration?]) -> Double {
        var demand = WalkDemand(rules: self)
        for case .some(let own) in intervals { demand.count(own, by: 1) }
        return demand.need(accounts: intervals.count)
    }

    /// The longest interval that is planned where `slowest`, or what takes its place, is a promise.
    ///
    /// A little shorter, as who is due waits for the next token of the budget, and perhaps for
    /// others that are due at the same moment. In seconds, both.
    func planned(_ slowest: Double) -> Double {
        let margin = min(max(0.05 * slowest, 2 / budget), 0.2 * slowest)
        return max(fastest.inSeconds, slowest - margin)
    }

    /// The rules of an account whose own interval takes the place of `slowest`.
    func with(interval: Duration?) -> ScheduleRules {
        var rules = self
        if let interval { rules.slowest = interval }
        return rules
    }
}
