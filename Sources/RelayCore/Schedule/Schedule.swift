internal import ConnectionEvents

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
}

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
    private var pagesPerWalk = 1.0

    /// An empty schedule.
    public init(rules: ScheduleRules, seed: UInt64, now: Instant) {
        self.rules = rules
        budget = TokenBucket(rate: rules.budget, burst: .milliseconds(10), now: now)
        random = SeededRandom(seed: seed)
    }

    /// How many accounts are admitted.
    public var active: Int { admitted }

    /// How often an account is walked now, if it asks for nothing of its own.
    public var cycle: Duration { interval(slowest: rules.slowest) }

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
        slots[slot] = Slot()
        slots[slot].isAdmitted = true
        slots[slot].interval = Int32(clamping: interval?.wholeMilliseconds ?? 0)
        slots[slot].notBefore = (now + .seconds(1 / rules.perAccount)).nanoseconds
        admitted += 1
        let wait = phase.map { .seconds(self.interval(of: slot).inSeconds * $0) } ?? Duration.zero
        queue(slot, due: now + wait)
    }

    /// Takes an account out; a walk under way must be dropped by the caller.
    public mutating func retire(_ slot: Int) {
        precondition(slots[slot].isAdmitted, "only an admitted slot is retired")
        if slots[slot].isWalking, slots[slot].isTroubled { troubledWalking -= 1 }
        steady.remove(slot)
        troubled.remove(slot)
        pages.remove(slot)
        slots[slot] = Slot()
        admitted -= 1
    }

    /// Changes what takes the place of `slowest` for an account.
    public mutating func setInterval(_ slot: Int, _ interval: Duration?, now: Instant) {
        slots[slot].interval = Int32(clamping: interval?.wholeMilliseconds ?? 0)
        guard let due = steady.due(of: slot) else { return }
        queue(slot, due: min(due, now + self.interval(of: slot)))
    }

    /// Walks an account as soon as its bucket allows: a command, a hint, a new credential.
    ///
    /// - Parameter afresh: forget failures, as a new credential does.
    public mutating func hasten(_ slot: Int, afresh: Bool, now: Instant) {
        guard slots[slot].isAdmitted else { return }
        if slots[slot].isWalking {
            slots[slot].isHastened = true
            return
        }
        steady.remove(slot)
        troubled.remove(slot)
        if afresh { slots[slot].failures = 0 }
        queue(slot, due: now)
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
        var due = now
        switch outcome {
        case .sealed(let count, let confirm):
            slots[slot].failures = 0
            pagesPerWalk += (Double(max(1, count)) - pagesPerWalk) * 0.01
            due = confirm ? now + rules.confirmAfter : began + jittered(interval(of: slot))
        case .refused:
            slots[slot].failures = 0
            due = now + rules.confirmAfter
        case .blind, .failed:
            due = now + backOff(slot)
        case .throttled(let wait):
            slots[slot].notBefore = max(slots[slot].notBefore, (now + wait).nanoseconds)
            due = now + wait
        case .dropped:
            break
        }
        if slots[slot].isHastened {
            slots[slot].isHastened = false
            due = now
        }
        queue(slot, due: max(due, now))
        return max(.zero, due - now)
    }

    private mutating func spend(_ slot: Int, now: Instant) {
        slots[slot].notBefore = (now + .seconds(1 / rules.perAccount)).nanoseconds
    }

    private mutating func queue(_ slot: Int, due: Instant) {
        let due = max(due, Instant(nanoseconds: slots[slot].notBefore))
        if slots[slot].isTroubled {
            troubled.set(slot, due: due)
        } else {
            steady.set(slot, due: due)
        }
    }

    /// Doubles from the confirming interval to the longest, less up to a fifth, so that none march
    /// in step.
    private mutating func backOff(_ slot: Int) -> Duration {
        let doublings = min(Int(slots[slot].failures), 20)
        slots[slot].failures = UInt8(min(doublings + 1, 255))
        let full = min(
            rules.confirmAfter.inSeconds * Double(1 << doublings), rules.longestBackOff.inSeconds)
        return .seconds(full * (1 - 0.2 * random.unit()))
    }

    /// Up to a tenth earlier, never later, so that `slowest` stays a promise and clumps dissolve.
    private mutating func jittered(_ interval: Duration) -> Duration {
        max(rules.fastest, .seconds(interval.inSeconds * (1 - 0.1 * random.unit())))
    }

    private func interval(of slot: Int) -> Duration {
        let own = slots[slot].interval
        return interval(slowest: own > 0 ? .milliseconds(Int64(own)) : rules.slowest)
    }

    private func interval(slowest: Duration) -> Duration {
        let fair = Double(admitted) * pagesPerWalk / (0.95 * rules.budget)
        return max(rules.fastest, .seconds(min(fair, 0.95 * slowest.inSeconds)))
    }
}
