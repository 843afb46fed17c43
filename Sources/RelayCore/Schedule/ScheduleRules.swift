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

    /// The rules of an account whose own interval takes the place of `slowest`.
    func with(interval: Duration?) -> ScheduleRules {
        var rules = self
        if let interval { rules.slowest = interval }
        return rules
    }
}
