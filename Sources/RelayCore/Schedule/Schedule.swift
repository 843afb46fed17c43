internal import ConnectionEvents

/// Who is walked next, under the budgets.
///
/// The simple form: every account as often as the budget allows, between `fastest` and `slowest`,
/// and of those that are due the one first that `slowest` allows least to wait, so none is starved.
/// Slots are small numbers that the caller gives to accounts. A slot is out of the queue from the
/// moment `next` hands it out until `ended`.
public struct Schedule: Sendable {
    /// What the caller does next.
    public enum Next: Hashable, Sendable {
        /// Begin a walk of the slot and ask for its first page; it was due at that instant.
        case walk(slot: Int, due: Instant)
        /// Ask for the next page of the slot's walk.
        case page(slot: Int)
        /// Nothing until then; nil: nothing until something ends or is admitted.
        case wait(until: Instant?)
    }

    /// How a walk ended.
    public enum Outcome: Hashable, Sendable {
        /// Sealed; `confirm` when the next walk should come soon, to confirm what this one lacked.
        case sealed(pages: Int, confirm: Bool)
        /// Refused, and not yet judged blind: repeated soon.
        case refused
        /// Refused, and known to be blind: backs off.
        case blind
        /// Not sealed: backs off.
        case failed
        /// The server asked to wait that long.
        case throttled(Duration)
        /// Dropped without a result, because account or credential changed: walked anew.
        case dropped
    }

    struct Slot {
        /// Before then no request may use the slot's credential.
        var notBefore: Int64 = .min
        /// When the walk under way, or the last one, began.
        var began: Int64 = .min
        /// Takes the place of `slowest`, in milliseconds; 0: it does not.
        var interval: Int32 = 0
        /// Failed walks in a row, for the back-off.
        var failures: UInt8 = 0
        var isAdmitted = false
        var isWalking = false
        var isTroubled: Bool { failures > 0 }
        /// Asked for while it was under way.
        var isHastened = false
        /// Given a new credential while it was under way.
        var isRenewed = false
    }

    let rules: ScheduleRules
    var slots: [Slot] = []
    private var steady = WalkQueue()
    private var troubled = DueHeap()
    private var pages = DueHeap()
    private var budget: TokenBucket
    private var random: SeededRandom
    private var troubledWalking = 0
    private var admitted = 0
    /// How many accounts the start will admit, so that the first ones know how long a cycle will
    /// be.
    private let expected: Int
    private var pagesPerWalk = 1.0
    private var demand: WalkDemand

    /// An empty schedule.
    ///
    /// - Parameter expecting: how many accounts are about to be admitted with a phase; without it
    ///   the first of many would all fall into the short cycle of few.
    public init(rules: ScheduleRules, seed: UInt64, now: Instant, expecting: Int = 0) {
        self.rules = rules
        expected = expecting
        budget = TokenBucket(rate: rules.budget, burst: .milliseconds(10), now: now)
        random = SeededRandom(seed: seed)
        demand = WalkDemand(rules: rules)
    }

    /// How many accounts are admitted.
    public var active: Int { admitted }

    /// How often an account is walked now, if it asks for nothing of its own.
    public var cycle: Duration { .seconds(interval(of: nil, plan: plan(admitted))) }

    /// Whether the budget suffices to walk every account within `slowest`, or what takes its place.
    public var isBudgetSufficient: Bool {
        demand.need(accounts: admitted) * pagesPerWalk <= rules.budget
    }

    /// Takes an account in.
    ///
    /// - Parameters:
    ///   - phase: from 0 to 1, the same after every start: where in its interval the first walk
    ///     falls; nil for an account that is new, which is walked at once.
    ///   - interval: takes the place of `slowest` for this account.
    public mutating func admit(
        _ slot: Int, phase: Double?, interval: Duration?, now: Instant
    ) {
        while slots.count <= slot { slots.append(Slot()) }
        precondition(!slots[slot].isAdmitted, "a slot is admitted once")
        let kept = slots[slot].notBefore
        slots[slot] = Slot()
        slots[slot].isAdmitted = true
        own(slot, interval)
        slots[slot].notBefore = max(kept, emptyBucket(now))
        admitted += 1
        guard let phase else {
            queue(slot, due: now)
            return
        }
        let cycle = self.interval(of: slot, plan: plan(max(admitted, expected)))
        queue(slot, due: now + .seconds(cycle * phase), slack: slack(slot, after: cycle))
    }

    /// Takes an account out; a walk under way must be dropped by the caller.
    ///
    /// - Parameter pausing: the slot stays the account's; admitted again, it still leaves the
    ///   server alone for as long as that had asked.
    public mutating func retire(_ slot: Int, pausing: Bool = false) {
        precondition(slots[slot].isAdmitted, "only an admitted slot is retired")
        let notBefore = slots[slot].notBefore
        if slots[slot].isWalking, slots[slot].isTroubled { troubledWalking -= 1 }
        steady.remove(slot)
        troubled.remove(slot)
        pages.remove(slot)
        own(slot, nil)
        slots[slot] = Slot()
        if pausing { slots[slot].notBefore = notBefore }
        admitted -= 1
    }

    /// Changes what takes the place of `slowest` for an account.
    public mutating func setInterval(_ slot: Int, _ interval: Duration?, now: Instant) {
        own(slot, interval)
        guard let due = steady.due(of: slot) else { return }
        let cycle = self.interval(of: slot, plan: plan(admitted))
        queue(slot, due: min(due, now + .seconds(cycle)), slack: slack(slot, after: cycle))
    }

    /// Walks an account as soon as its bucket allows: a command, a hint, a new credential.
    ///
    /// Nothing happens when it is not admitted; one that is overdue keeps its place in the queue.
    ///
    /// - Parameter afresh: the credential is new: forget failures, and what the server asked of the
    ///   old one; its bucket is empty.
    public mutating func hasten(_ slot: Int, afresh: Bool, now: Instant) {
        guard slots.indices.contains(slot), slots[slot].isAdmitted else { return }
        if slots[slot].isWalking {
            slots[slot].isHastened = true
            slots[slot].isRenewed = slots[slot].isRenewed || afresh
            return
        }
        let due = steady.due(of: slot) ?? troubled.due(of: slot) ?? now
        steady.remove(slot)
        troubled.remove(slot)
        if afresh { renew(slot, now: now) }
        queue(slot, due: min(due, now))
    }

    /// Has an account walked at that instant already, where it would be later: it is watched.
    ///
    /// Nothing happens to one that is under way, backs off, or is not admitted.
    public mutating func bringForward(_ slot: Int, to instant: Instant) {
        guard slots.indices.contains(slot), let due = steady.due(of: slot), due > instant else {
            return
        }
        steady.remove(slot)
        queue(slot, due: instant)
    }

    /// Hands out what is to be done next; whoever is handed out has its token.
    public mutating func next(now: Instant) -> Next {
        let place = troubledWalking < max(1, rules.places / 4)
        var head = steady.first(now: now)
        if place, let other = troubled.first, head.map({ other.due < $0.due }) ?? true {
            head = other
        }
        if let page = pages.first, page.due <= now || head.map({ page.due < $0.due }) ?? true {
            guard page.due <= now else { return .wait(until: page.due) }
            guard budget.take(now: now) else { return .wait(until: budget.ready(now: now)) }
            pages.remove(page.slot)
            spend(page.slot, now: now)
            return .page(slot: page.slot)
        }
        guard let head else { return .wait(until: nil) }
        guard head.due <= now else { return .wait(until: head.due) }
        guard budget.take(now: now) else { return .wait(until: budget.ready(now: now)) }
        steady.remove(head.slot)
        troubled.remove(head.slot)
        slots[head.slot].isWalking = true
        slots[head.slot].began = now.nanoseconds
        if slots[head.slot].isTroubled { troubledWalking += 1 }
        spend(head.slot, now: now)
        return .walk(slot: head.slot, due: head.due)
    }

    /// The slot's walk wants another page; `next` hands it out when the budgets allow.
    public mutating func wantsPage(_ slot: Int, now: Instant) {
        pages.set(slot, due: max(now, Instant(nanoseconds: slots[slot].notBefore)))
    }

    /// The slot's walk is over; it is due again when its outcome says.
    ///
    /// - Returns: how long it is left alone from now.
    @discardableResult
    public mutating func ended(_ slot: Int, _ outcome: Outcome, now: Instant) -> Duration {
        precondition(slots[slot].isWalking, "only a walk under way ends")
        if slots[slot].isTroubled { troubledWalking -= 1 }
        pages.remove(slot)
        slots[slot].isWalking = false
        let began = Instant(nanoseconds: slots[slot].began)
        var due = now
        var slack = 0.0
        switch outcome {
        case .sealed(let count, let confirm):
            slots[slot].failures = 0
            pagesPerWalk += (Double(max(1, count)) - pagesPerWalk) * 0.01
            if confirm {
                due = now + rules(of: slot).confirmAfter
            } else {
                let plan = plan(admitted)
                let interval = interval(of: slot, plan: plan)
                due = began + .seconds(jittered(slot, interval, plan))
                slack = self.slack(slot, after: interval)
            }
        case .refused:
            slots[slot].failures = 0
            due = now + rules(of: slot).confirmAfter
        case .blind, .failed:
            due = now + backOff(slot, rules: rules(of: slot))
        case .throttled(let wait):
            slots[slot].notBefore = max(slots[slot].notBefore, (now + wait).nanoseconds)
            due = now + wait
        case .dropped:
            break
        }
        if slots[slot].isRenewed { renew(slot, now: now) }
        if slots[slot].isHastened { (due, slack) = (now, 0) }
        slots[slot].isRenewed = false
        slots[slot].isHastened = false
        return queue(slot, due: max(due, now), slack: slack) - now
    }

    /// When a bucket that is empty now has its first token.
    private func emptyBucket(_ now: Instant) -> Int64 {
        (now + .seconds(1 / rules.perAccount)).nanoseconds
    }

    /// A request with the account's credential was sent by somebody else: it took a token, too.
    public mutating func noteRequest(_ slot: Int, now: Instant) {
        guard slots.indices.contains(slot), slots[slot].isAdmitted else { return }
        slots[slot].notBefore = max(slots[slot].notBefore, emptyBucket(now))
    }

    private mutating func spend(_ slot: Int, now: Instant) {
        slots[slot].notBefore = emptyBucket(now)
    }

    private mutating func renew(_ slot: Int, now: Instant) {
        slots[slot].failures = 0
        slots[slot].notBefore = emptyBucket(now)
    }

    /// Puts a slot into the queue that is its own.
    ///
    /// - Parameter slack: how many seconds it may wait once it is due.
    /// - Returns: when it is due.
    @discardableResult
    private mutating func queue(_ slot: Int, due: Instant, slack: Double = 0) -> Instant {
        let due = max(due, Instant(nanoseconds: slots[slot].notBefore))
        if slots[slot].isTroubled {
            troubled.set(slot, due: due)
        } else {
            steady.set(slot, due: due, slack: slack)
        }
        return due
    }

    /// How long an account may wait that is due that long after its last walk, in seconds.
    ///
    /// The jitter of its interval is no part of it, so that of accounts with the same promise the
    /// one comes first that is due first.
    private func slack(_ slot: Int, after interval: Double) -> Double {
        slowest(of: slot) - interval
    }

    /// Doubles from the confirming interval to the longest, less up to a fifth, so that none march
    /// in step.
    private mutating func backOff(_ slot: Int, rules: ScheduleRules) -> Duration {
        let doublings = min(Int(slots[slot].failures), 20)
        slots[slot].failures = UInt8(min(doublings + 1, 255))
        let full = min(
            rules.confirmAfter.inSeconds * Double(1 << doublings), rules.longestBackOff.inSeconds)
        return .seconds(full * (1 - 0.2 * random.unit()))
    }

    /// When a walk that is sealed comes again, in seconds from its beginning.
    ///
    /// Up to a tenth earlier than the interval, so that `slowest` stays a promise and clumps
    /// dissolve: accounts that were taken in together, or waited together, would march in step.
    /// Where that were sooner than `fastest`, as much later, as far as `slowest` has room.
    /// Less where the budget is nearly spent: walks that come early are paid for by others that
    /// come late, and with nothing to spare everyone goes in turn.
    private mutating func jittered(
        _ slot: Int, _ interval: Double, _ plan: WalkDemand.Plan
    ) -> Double {
        let span = interval * min(0.1, max(0, 2 * (0.98 - plan.load)))
        let earliest = max(demand.fastest, interval - span)
        let latest = max(interval, min(earliest + span, longest(of: slot)))
        return latest - (latest - earliest) * random.unit()
    }

    private func rules(of slot: Int) -> ScheduleRules {
        let own = slots[slot].interval
        return rules.with(interval: own > 0 ? .milliseconds(Int64(own)) : nil)
    }

    /// How often a slot is walked, or one that asks for nothing of its own, in seconds.
    private func interval(of slot: Int?, plan: WalkDemand.Plan) -> Double {
        let longest = slot.map { self.longest(of: $0) } ?? demand.longest
        return plan.fair < longest ? max(demand.fastest, plan.fair) : longest
    }

    /// The longest interval that is planned for a slot, in seconds.
    private func longest(of slot: Int) -> Double {
        slots[slot].interval > 0 ? rules.planned(slowest(of: slot)) : demand.longest
    }

    /// What a slot is promised, in seconds.
    private func slowest(of slot: Int) -> Double {
        let own = slots[slot].interval
        return own > 0 ? Double(own) / 1000 : demand.slowest
    }

    private func plan(_ accounts: Int) -> WalkDemand.Plan {
        demand.plan(accounts: accounts, pagesPerWalk: pagesPerWalk)
    }

    /// Takes a slot's own interval into the demand, and the one before out of it.
    private mutating func own(_ slot: Int, _ interval: Duration?) {
        let before = slots[slot].interval
        if before > 0 { demand.count(.milliseconds(Int64(before)), by: -1) }
        let own = Int32(clamping: interval?.wholeMilliseconds ?? 0)
        slots[slot].interval = own
        if own > 0 { demand.count(.milliseconds(Int64(own)), by: 1) }
    }
}
