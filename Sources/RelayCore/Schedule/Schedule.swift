internal import ConnectionEvents

/// Who is walked next, under the budgets.
///
/// The simple form: every account as often as the budget allows, between `fastest` and `slowest`,
/// in the order in which they are due, so none is starved. Slots are small numbers that the caller
/// gives to accounts. A slot is out of the queue from the moment `next` hands it out until `ended`.
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
    private var steady = DueHeap()
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

    /// An empty schedule.
    ///
    /// - Parameter expecting: how many accounts are about to be admitted with a phase; without it
    ///   the first of many would all fall into the short cycle of few.
    public init(rules: ScheduleRules, seed: UInt64, now: Instant, expecting: Int = 0) {
        self.rules = rules
        expected = expecting
        budget = TokenBucket(rate: rules.budget, burst: .milliseconds(10), now: now)
        random = SeededRandom(seed: seed)
    }

    /// How many accounts are admitted.
    public var active: Int { admitted }

    /// How often an account is walked now, if it asks for nothing of its own.
    public var cycle: Duration { interval(slowest: rules.slowest, accounts: admitted) }

    /// Whether the budget suffices to walk every account within `slowest`.
    public var isBudgetSufficient: Bool {
        Double(admitted) * pagesPerWalk <= 0.95 * rules.budget * rules.slowest.inSeconds
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
        slots[slot].interval = Int32(clamping: interval?.wholeMilliseconds ?? 0)
        slots[slot].notBefore = max(kept, emptyBucket(now))
        admitted += 1
        let cycle = self.interval(of: slot, accounts: max(admitted, expected))
        queue(slot, due: now + (phase.map { .seconds(cycle.inSeconds * $0) } ?? .zero))
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
        slots[slot] = Slot()
        if pausing { slots[slot].notBefore = notBefore }
        admitted -= 1
    }

    /// Changes what takes the place of `slowest` for an account.
    public mutating func setInterval(_ slot: Int, _ interval: Duration?, now: Instant) {
        slots[slot].interval = Int32(clamping: interval?.wholeMilliseconds ?? 0)
        guard let due = steady.due(of: slot) else { return }
        queue(slot, due: min(due, now + self.interval(of: slot, accounts: admitted)))
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
        var head = steady.first
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
        let rules = rules(of: slot)
        var due = now
        switch outcome {
        case .sealed(let count, let confirm):
            slots[slot].failures = 0
            pagesPerWalk += (Double(max(1, count)) - pagesPerWalk) * 0.01
            due =
                confirm
                ? now + rules.confirmAfter
                : began + jittered(interval(of: slot, accounts: admitted))
        case .refused:
            slots[slot].failures = 0
            due = now + rules.confirmAfter
        case .blind, .failed:
            due = now + backOff(slot, rules: rules)
        case .throttled(let wait):
            slots[slot].notBefore = max(slots[slot].notBefore, (now + wait).nanoseconds)
            due = now + wait
        case .dropped:
            break
        }
        if slots[slot].isRenewed { renew(slot, now: now) }
        if slots[slot].isHastened { due = now }
        slots[slot].isRenewed = false
        slots[slot].isHastened = false
        return queue(slot, due: max(due, now)) - now
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

    @discardableResult
    private mutating func queue(_ slot: Int, due: Instant) -> Instant {
        let due = max(due, Instant(nanoseconds: slots[slot].notBefore))
        if slots[slot].isTroubled {
            troubled.set(slot, due: due)
        } else {
            steady.set(slot, due: due)
        }
        return due
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

    /// Up to a tenth earlier, never later, so that `slowest` stays a promise and clumps dissolve.
    ///
    /// Less where the budget is nearly spent: walks that come early are paid for by others that
    /// come late, and with nothing to spare everyone goes in turn.
    private mutating func jittered(_ interval: Duration) -> Duration {
        let least = Double(admitted) * pagesPerWalk / rules.budget
        let spare = 1 - least / interval.inSeconds
        let share = min(0.1, max(0, 2 * (spare - 0.02)))
        return max(rules.fastest, .seconds(interval.inSeconds * (1 - share * random.unit())))
    }

    private func rules(of slot: Int) -> ScheduleRules {
        let own = slots[slot].interval
        return rules.with(interval: own > 0 ? .milliseconds(Int64(own)) : nil)
    }

    private func interval(of slot: Int, accounts: Int) -> Duration {
        interval(slowest: rules(of: slot).slowest, accounts: accounts)
    }

    private func interval(slowest: Duration, accounts: Int) -> Duration {
        let fair = Double(accounts) * pagesPerWalk / (0.95 * rules.budget)
        return max(rules.fastest, .seconds(min(fair, 0.95 * slowest.inSeconds)))
    }
}
