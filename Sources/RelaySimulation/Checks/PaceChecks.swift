internal import RelayCore

/// Holds every request against the budgets, and every account against `slowest`.
final class PaceChecks {
    private unowned let checks: Checks
    private var tokens = 0.0
    private var filledAt = Instant(nanoseconds: 0)
    private var bornAt = Instant(nanoseconds: 0)
    private var lastRequests: [String: Instant] = [:]
    private var notBefore: [String: Instant] = [:]
    private var lastWalks: [Int: String] = [:]
    /// When walks of each account began, since pace is kept count of.
    private var begins: [Int: [Instant]] = [:]
    private var isCounting = false

    init(_ checks: Checks) { self.checks = checks }

    private var rules: ScheduleRules { checks.world.scenario.rules.schedule }

    /// A new life: its buckets are empty, and what servers had asked before is forgotten.
    func began(now: Instant) {
        tokens = 0
        filledAt = now
        bornAt = now
        notBefore = [:]
    }

    func requested(
        _ walk: ShownWalk, inFlight: [ShownWalk], places: Int, now: Instant
    ) {
        let name = "a\(walk.account)"
        if inFlight.count >= places {
            checks.fail(.bounded, "\(inFlight.count + 1) requests under way, not \(places)")
        }
        if inFlight.contains(where: { $0.account == walk.account }) {
            checks.fail(.oneWalk, "a second request of \(name) while one is under way")
        }
        if walk.completedAt != nil {
            checks.fail(.oneWalk, "a request of \(name) in a walk that is over")
        }
        spend(now: now)
        let gap = Duration.seconds(1 / rules.perAccount)
        let earliest = max(lastRequests[walk.credential].map { $0 + gap } ?? bornAt, bornAt + gap)
        if now + .microseconds(1) < earliest {
            checks.fail(.perAccount, "\(name) was asked more often than perAccount allows")
        }
        lastRequests[walk.credential] = now
        if let wait = notBefore[walk.credential], now < wait {
            checks.fail(.retryAfter, "\(name) was asked \(wait - now) before Retry-After was over")
        }
        if lastWalks[walk.account] != walk.id {
            lastWalks[walk.account] = walk.id
            if isCounting { begins[walk.account, default: []].append(now) }
        }
    }

    private func spend(now: Instant) {
        let capacity = max(1, rules.budget * 0.01)
        tokens = min(capacity, tokens + (now - filledAt).inSeconds * rules.budget)
        filledAt = now
        tokens -= 1
        if tokens < -0.001 { checks.fail(.budget, "more requests than budget allows") }
    }

    func answered(_ walk: ShownWalk, wait: Duration?, now: Instant) {
        if let wait { notBefore[walk.credential] = now + wait }
    }

    /// From now on nothing disturbs: every account must come within `slowest`.
    func count(from now: Instant) {
        isCounting = true
        begins = [:]
    }

    /// Nobody waited too long until now.
    func checkSlowest(from start: Instant, to now: Instant) {
        let world = checks.world
        let active = world.register.active
        let pages = active.reduce(0) { $0 + world.api.pages($1) }
        let need = Double(pages) / (0.9 * rules.budget)
        func own(_ account: Int) -> Double {
            (world.register[account]?.interval ?? rules.slowest).inSeconds
        }
        // Requests a second that the accounts' own intervals ask for.
        let load = active.reduce(0) { $0 + Double(world.api.pages($1)) / own($1) }
        let longest = active.map { world.api.pages($0) }.max() ?? 0
        for account in active {
            let suffices = need <= rules.slowest.inSeconds && load <= 0.9 * rules.budget
            // Where the budget does not suffice, everyone goes in turn.
            let limit = suffices ? own(account) : 3 * max(need, own(account))
            // A walk that is under way takes the tokens of its pages first, and what is planned
            // leaves time for that in an interval of the length of `slowest` only.
            let isOwn = world.register[account]?.interval != nil
            let turn = isOwn ? (Double(longest) + 1) / rules.budget : 0
            let most = max(limit, rules.fastest.inSeconds) + turn + 0.25
            var last = start
            for begin in (begins[account] ?? []) + [now] {
                let gap = (begin - last).inSeconds
                if gap > most {
                    checks.fail(.slowest, "a\(account) waited \(gap) s, not \(most)")
                }
                last = begin
            }
        }
    }
}
