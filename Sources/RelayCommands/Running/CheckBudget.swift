internal import RelayConfiguration
internal import RelayCore

// What `check` says of intervals and of the budget that they need.

extension Check {
    /// Whether every account can be walked within `slowest`, or what takes its place.
    mutating func budget(_ accounts: [Candidate]) {
        noteHasty(accounts)
        let schedule = assembly.schedule
        let budget = pipeline.source.budget
        let whole = Self.count(accounts.count, "account")
        let slowest = DurationText.format(schedule.slowest)
        let own = accounts.count { $0.interval != nil }
        let need = schedule.need(intervals: accounts.map(\.interval))
        if need <= schedule.budget {
            let whose = own == 0 ? "" : ", \(own) of them in their own interval"
            return ok("budget: \(budget) suffices for \(whole) in \(slowest)\(whose)")
        }
        let whose = own == 0 ? "" : ", \(own) of them within their own interval,"
        let text =
            "budget \(budget) is too small: to walk \(whole) within `slowest` \(slowest)\(whose)"
            + " takes \((need * 10).rounded(.up) / 10) requests a second, and more where lists have"
            + " several pages: raise `budget`, `interval.slowest`"
            + (own == 0 ? "" : " or the accounts' intervals")
        problem(pipeline.problem(at: "source.budget", text).description)
    }

    private func noteHasty(_ accounts: [Candidate]) {
        let fastest = assembly.schedule.fastest
        let hasty = accounts.filter { $0.interval.map { $0 < fastest } ?? false }
        guard let first = hasty.first else { return }
        note(
            "intervals: \(Self.count(hasty.count, "account")) (\(first.id)"
                + "\(hasty.count > 1 ? ", …" : "")) would be walked more often than"
                + " `interval.fastest` allows, and will be every \(DurationText.format(fastest))")
    }

    private static func count(_ number: Int, _ what: String) -> String {
        "\(number) \(what)\(number == 1 ? "" : "s")"
    }
}
