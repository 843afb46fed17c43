/// What the accounts' own intervals ask of the budget, and what that leaves for all others.
///
/// Counted by the intervals' size, eight classes to the octave, so that a million intervals that
/// all differ cost what a few do.
struct WalkDemand: Sendable {
    /// What the schedule plans with.
    struct Plan: Hashable, Sendable {
        /// Seconds between the walks of an account whose `slowest` is no shorter; infinite where
        /// the others' own intervals ask for the whole budget.
        var fair: Double
        /// The share of the budget that is planned, 1 being all of it; more where it is too small.
        var load: Double
    }

    private struct Class {
        var count = 0
        /// Walks a second that are planned for them together.
        var rate = 0.0
        /// The same without the time that is planned for waiting.
        var need = 0.0
        /// The shortest interval that belongs here, in seconds.
        let shortest: Double
    }

    private let rules: ScheduleRules
    /// `fastest`, `slowest`, and what is planned for that, in seconds.
    let fastest: Double
    let slowest: Double
    let longest: Double
    private var classes: [Class] = []
    private var counted = 0

    init(rules: ScheduleRules) {
        self.rules = rules
        fastest = rules.fastest.inSeconds
        slowest = rules.slowest.inSeconds
        longest = rules.planned(slowest)
    }

    /// An account with an interval of its own came, or left.
    mutating func count(_ own: Duration, by step: Int) {
        let seconds = rules.planned(own.inSeconds)
        // From a millisecond on, which no interval undercuts.
        let size = max(1, seconds * 1000)
        let index = Int(size.exponent) * 8 + Int((size.significand - 1) * 8)
        while classes.count <= index {
            let (octave, eighth) = classes.count.quotientAndRemainder(dividingBy: 8)
            let start = Double(1 << octave) * (1 + Double(eighth) / 8)
            classes.append(Class(shortest: start / 1000))
        }
        classes[index].count += step
        classes[index].rate += Double(step) / seconds
        classes[index].need += Double(step) * needed(own)
        if classes[index].count == 0 { (classes[index].rate, classes[index].need) = (0, 0) }
        counted += step
    }

    /// The intervals of so many accounts, those with one of their own among them.
    func plan(accounts: Int, pagesPerWalk: Double) -> Plan {
        let budget = rules.budget / pagesPerWalk
        var left = Double(accounts)
        var rate = 0.0
        var fair = left / (0.95 * budget)
        for each in classes where each.count > 0 {
            guard each.shortest < fair else { break }
            left = max(0, left - Double(each.count))
            rate += each.rate
            let rest = 0.95 * budget - rate
            fair = rest > 0 ? max(fair, left / rest) : .infinity
        }
        let interval = max(fastest, min(fair, longest))
        return Plan(fair: fair, load: (rate + left / interval) / budget)
    }

    /// Walks a second that it takes to walk each of so many accounts within its own `slowest`.
    func need(accounts: Int) -> Double {
        let own = classes.reduce(0) { $0 + $1.need }
        return own + Double(max(0, accounts - counted)) * needed(rules.slowest)
    }

    /// Walks a second that a promise takes, of which a budget that is all used would break some.
    private func needed(_ slowest: Duration) -> Double {
        1 / max(fastest, 0.95 * slowest.inSeconds)
    }
}
