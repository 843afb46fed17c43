import Hashing
import Testing

@testable import RelayCore

/// A relay on a virtual clock: walks take a while, and end as the seed wills.
private struct Rig {
    struct Request {
        let at: Instant
        let slot: Int
    }

    var schedule: Schedule
    var now = Instant.zero
    var random: SeededRandom
    var requests: [Request] = []
    /// By how much a walk began later than it was due, at worst.
    var lateness: Duration = .zero
    /// When each walk began.
    var walks: [Int: [Instant]] = [:]
    /// Requests under way, and how many pages are then left; the first to end stands first.
    private var flying: [(end: Instant, slot: Int, pages: Int)] = []
    /// Walks that wait for a page, and how many are left.
    private var asking: [Int: Int] = [:]

    init(_ rules: ScheduleRules, seed: UInt64, expecting: Int = 0) {
        schedule = Schedule(rules: rules, seed: seed, now: .zero, expecting: expecting)
        random = SeededRandom(seed: seed)
    }

    mutating func share(_ share: Double) -> Bool {
        Double.random(in: 0..<1, using: &random) < share
    }

    /// Runs for a while; `end` says how a walk of a slot ends.
    mutating func run(
        until stop: Instant, latency: ClosedRange<Double> = 0.02...0.4, pages: Int = 1,
        end: (Int, inout SeededRandom) -> Schedule.Outcome = { _, _ in
            .sealed(pages: 1, confirm: false)
        }
    ) {
        while now < stop {
            if let first = flying.first, first.end <= now {
                flying.removeFirst()
                if first.pages > 1 {
                    schedule.wantsPage(first.slot, now: now)
                    asking[first.slot] = first.pages - 1
                } else {
                    var outcome = end(first.slot, &random)
                    if case .sealed(_, let confirm) = outcome {
                        outcome = .sealed(pages: pages, confirm: confirm)
                    }
                    schedule.ended(first.slot, outcome, now: now)
                }
                continue
            }
            switch schedule.next(now: now) {
            case .walk(let slot, let due):
                walks[slot, default: []].append(now)
                lateness = max(lateness, now - due)
                let count = pages > 1 ? Int.random(in: 1...pages, using: &random) : 1
                take(slot, pages: count, latency)
            case .page(let slot):
                take(slot, pages: asking.removeValue(forKey: slot) ?? 1, latency)
            case .wait(let until):
                now = min(until ?? stop, flying.first?.end ?? stop, stop)
            }
        }
    }

    private mutating func take(_ slot: Int, pages: Int, _ latency: ClosedRange<Double>) {
        requests.append(Request(at: now, slot: slot))
        let end = now + .seconds(Double.random(in: latency, using: &random))
        let index = flying.firstIndex { $0.end > end } ?? flying.count
        flying.insert((end, slot, pages), at: index)
    }

    func isWalking(_ slot: Int) -> Bool {
        asking[slot] != nil || flying.contains { $0.slot == slot }
    }

    /// The longest time between two walks of a slot, from its admission on.
    func longestGap(_ slot: Int, to end: Instant) -> Duration {
        let begins = [.zero] + (walks[slot] ?? []) + [end]
        return zip(begins, begins.dropFirst()).map { $1 - $0 }.max() ?? .zero
    }
}

@Suite struct BudgetTests {
    @Test(arguments: 1...12)
    func `in no window do requests exceed budget or perAccount, whatever happens`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let rules = ScheduleRules(
            budget: Double.random(in: 1...30, using: &random),
            perAccount: Double.random(in: 0.3...4, using: &random), fastest: .seconds(2),
            slowest: .seconds(20), places: 8)
        var rig = Rig(rules, seed: seed)
        var admitted: [Int: Instant] = [:]
        for _ in 0..<200 {
            let slot = Int.random(in: 0..<40, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0 where admitted[slot] != nil && !rig.isWalking(slot):
                rig.schedule.retire(slot)
                admitted[slot] = nil
            case 0, 1, 2:
                guard admitted[slot] == nil else { continue }
                rig.schedule.admit(slot, phase: nil, interval: nil, now: rig.now)
                admitted[slot] = rig.now
            case 3: rig.schedule.hasten(slot, afresh: false, now: rig.now)
            default: rig.schedule.hasten(slot, afresh: rig.share(0.1), now: rig.now)
            }
            rig.run(until: rig.now + .seconds(Double.random(in: 0...3, using: &random)), pages: 3) {
                _, random in
                switch Int.random(in: 0..<9, using: &random) {
                case 0: .failed
                case 1: .refused
                case 2: .blind
                case 3: .dropped
                case 4: .throttled(.seconds(3))
                case 5: .sealed(pages: 1, confirm: true)
                default: .sealed(pages: 1, confirm: false)
                }
            }
        }
        #expect(rig.requests.count > 50)
        #expect(exceeds(rig.requests.map(\.at), rate: rules.budget, burst: 0.01) == nil)
        for (slot, requests) in Dictionary(grouping: rig.requests, by: \.slot) {
            #expect(exceeds(requests.map(\.at), rate: rules.perAccount, burst: 0) == nil, "\(slot)")
        }
    }

    /// The first instant at which a bucket that was empty at the start would have been overdrawn.
    private func exceeds(_ instants: [Instant], rate: Double, burst: Double) -> Instant? {
        let capacity = max(1, rate * burst)
        var (tokens, filled) = (0.0, Instant.zero)
        for instant in instants {
            tokens = min(capacity, tokens + (instant - filled).inSeconds * rate)
            filled = instant
            guard tokens >= 1 - 1e-6 else { return instant }
            tokens -= 1
        }
        return nil
    }

    @Test(arguments: [
        (1, 1), (30, 1), (100, 1), (170, 1), (180, 1), (190, 1), (195, 1), (60, 3), (95, 2),
    ])
    func `while the budget suffices, no account waits longer than slowest`(
        accounts: Int, pages: Int
    ) {
        let rules = ScheduleRules(
            budget: 10, perAccount: 5, fastest: .seconds(2), slowest: .seconds(20))
        var rig = Rig(rules, seed: UInt64(accounts))
        for slot in 0..<accounts {
            let phase = Double(slot) / Double(accounts)
            rig.schedule.admit(slot, phase: phase, interval: nil, now: .zero)
        }
        rig.run(until: .seconds(200), pages: pages)
        for slot in 0..<accounts {
            #expect(rig.longestGap(slot, to: rig.now) <= rules.slowest, "\(slot)")
        }
        #expect(rig.schedule.isBudgetSufficient == (accounts < 195), "it says so with some caution")
        #expect(rules.need(intervals: Array(repeating: nil, count: 190)) <= 10)
    }

    @Test(arguments: [(30, 1, 1000), (30, 2, 2000), (200, 6, 2500), (600, 8, 4000)])
    func `an account's own interval is kept however short, and the crowd has what is left`(
        crowd: Int, hasty: Int, own: Int
    ) {
        let rules = ScheduleRules(
            budget: 5, perAccount: 5, fastest: .milliseconds(500), slowest: .seconds(900))
        var rig = Rig(rules, seed: UInt64(crowd))
        for slot in 0..<crowd { rig.schedule.admit(slot, phase: nil, interval: nil, now: .zero) }
        let asking = crowd..<crowd + hasty
        for slot in asking {
            rig.schedule.admit(slot, phase: nil, interval: .milliseconds(own), now: .zero)
        }
        #expect(rig.schedule.isBudgetSufficient)
        rig.run(until: .seconds(2000))
        // The start is a queue of new accounts.
        let start = Instant.seconds(400)
        for slot in asking {
            let times = rig.walks[slot, default: []].drop { $0 < start }
            let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
            #expect(gaps.max()! <= .milliseconds(own), "\(slot)")
        }
        let used = Double(rig.requests.count) / (2000 * rules.budget)
        #expect(used > 0.9, "what they leave is spent on the others")
        for slot in asking { rig.schedule.setInterval(slot, nil, now: rig.now) }
        #expect(rig.schedule.cycle < .seconds(Double(crowd + hasty) / 4.74))
    }

    @Test func `own intervals that the budget cannot bear are told, and the others go in turn`() {
        let rules = ScheduleRules(
            budget: 5, perAccount: 5, fastest: .milliseconds(500), slowest: .seconds(60))
        var rig = Rig(rules, seed: 8)
        for slot in 0..<60 { rig.schedule.admit(slot, phase: nil, interval: nil, now: .zero) }
        #expect(rig.schedule.isBudgetSufficient)
        for slot in 60..<90 {
            rig.schedule.admit(slot, phase: nil, interval: .seconds(1), now: .zero)
        }
        #expect(!rig.schedule.isBudgetSufficient)
        rig.run(until: .seconds(600))
        for slot in 0..<60 { #expect(rig.longestGap(slot, to: rig.now) < .seconds(90), "\(slot)") }
        for slot in 60..<90 { rig.schedule.retire(slot) }
        #expect(rig.schedule.isBudgetSufficient)
    }

    @Test func `when the budget does not suffice, it is spent, and nobody starves`() {
        let rules = ScheduleRules(
            budget: 10, perAccount: 5, fastest: .seconds(2), slowest: .seconds(20))
        var rig = Rig(rules, seed: 3)
        for slot in 0..<600 {
            rig.schedule.admit(slot, phase: nil, interval: nil, now: .zero)
        }
        #expect(!rig.schedule.isBudgetSufficient)
        rig.run(until: .seconds(600)) { slot, _ in
            // Half of them fail, and some always want to be confirmed.
            slot % 2 == 0 ? .failed : .sealed(pages: 1, confirm: slot % 10 == 1)
        }
        #expect(Double(rig.requests.count) > 0.98 * 600 * rules.budget)
        for slot in 0..<600 {
            // 600 accounts at 10 a second are a round of 60 s; in trouble, up to 5 minutes more.
            let limit: Duration = slot % 2 == 0 ? .seconds(420) : .seconds(90)
            #expect(rig.longestGap(slot, to: rig.now) <= limit, "\(slot)")
        }
    }

    @Test func `the fewer accounts, the oftener each is walked: the budget is spent`() {
        let rules = ScheduleRules(
            budget: 10, perAccount: 5, fastest: .seconds(2), slowest: .seconds(60))
        var rig = Rig(rules, seed: 5)
        for slot in 0..<100 { rig.schedule.admit(slot, phase: nil, interval: nil, now: .zero) }
        rig.run(until: .seconds(200))
        #expect(Double(rig.requests.count) > 0.9 * 200 * rules.budget)
        #expect(rig.schedule.cycle < .seconds(11))
        for slot in 0..<100 { #expect(rig.longestGap(slot, to: rig.now) < .seconds(13)) }
    }

    @Test func `accounts that were taken in together do not march in step for ever`() {
        let rules = ScheduleRules(
            budget: 500, perAccount: 5, fastest: .seconds(2), slowest: .seconds(60))
        var rig = Rig(rules, seed: 9)
        for slot in 0..<40 { rig.schedule.admit(slot, phase: nil, interval: nil, now: .zero) }
        rig.run(until: .seconds(600))
        // The widest silence of the last cycle: in step it is nearly the whole of it.
        let last = rig.requests.suffix(41)
        let gaps = zip(last, last.dropFirst()).map { $1.at - $0.at }
        #expect(gaps.max()! < .seconds(0.6))
    }

    @Test func `phases hashed from the ids spread a restart over the whole cycle`() {
        let rules = ScheduleRules(budget: 100, slowest: .seconds(60))
        var rig = Rig(rules, seed: 7, expecting: 4000)
        for slot in 0..<4000 {
            let phase = Double(StableHash.of("acct_\(slot)") >> 11) * 0x1p-53
            rig.schedule.admit(slot, phase: phase, interval: nil, now: .zero)
        }
        rig.run(until: .seconds(42))
        // 4,000 accounts at 95 a second are a cycle of 42 s: every tenth of it gets its share.
        for tenth in 0..<10 {
            let span =
                Instant.seconds(Double(tenth) * 4.21)..<Instant.seconds(Double(tenth + 1) * 4.21)
            let count = rig.requests.count { span.contains($0.at) }
            #expect((300...500).contains(count), "\(tenth)")
        }
        #expect(rig.lateness < .seconds(3), "they are due when they can be walked, not before")
    }

    @Test func `accounts that are new are walked at once, as fast as the budget allows`() {
        var rig = Rig(ScheduleRules(budget: 100), seed: 9)
        for slot in 0..<50 { rig.schedule.admit(slot, phase: nil, interval: nil, now: .zero) }
        rig.run(until: .seconds(1.2))
        #expect(rig.walks.count == 50)
    }

    @Test func `the same seed makes the same schedule`() {
        func run(_ seed: UInt64) -> [Instant] {
            var rig = Rig(ScheduleRules(budget: 5), seed: seed)
            for slot in 0..<20 { rig.schedule.admit(slot, phase: nil, interval: nil, now: .zero) }
            rig.run(until: .seconds(60)) { slot, _ in
                slot % 3 == 0 ? .failed : .sealed(pages: 1, confirm: false)
            }
            return rig.requests.map(\.at)
        }
        #expect(run(1) == run(1))
        #expect(run(1) != run(2))
    }
}
