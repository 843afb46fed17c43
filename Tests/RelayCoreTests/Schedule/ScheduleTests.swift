import Testing

@testable import RelayCore

/// When each account is walked again: the rules of the contract, one by one.
@Suite struct ScheduleTests {
    private func schedule(_ rules: ScheduleRules = ScheduleRules(), seed: UInt64 = 1) -> Schedule {
        Schedule(rules: rules, seed: seed, now: .zero)
    }

    /// A schedule whose slot 0 is walking, since the instant returned.
    private func walking(
        _ rules: ScheduleRules = ScheduleRules(), interval: Duration? = nil, seed: UInt64 = 1
    ) throws -> (Schedule, Instant) {
        var schedule = schedule(rules, seed: seed)
        schedule.admit(0, phase: nil, interval: interval, now: .zero)
        let began = try schedule.walk(0, from: .zero)
        return (schedule, began)
    }

    @Test func `buckets start empty: the first request waits for a token of both`() throws {
        var schedule = schedule(ScheduleRules(budget: 4, perAccount: 2))
        schedule.admit(0, phase: nil, interval: nil, now: .zero)
        #expect(schedule.next(now: .zero) == .wait(until: .seconds(0.5)))
        #expect(schedule.next(now: .seconds(0.4999)) == .wait(until: .seconds(0.5)))
        #expect(schedule.next(now: .seconds(0.5)) == .walk(slot: 0, due: .seconds(0.5)))

        var tight = self.schedule(ScheduleRules(budget: 1, perAccount: 2))
        tight.admit(0, phase: nil, interval: nil, now: .zero)
        #expect(tight.next(now: .seconds(0.5)) == .wait(until: .seconds(1)))
        #expect(tight.next(now: .seconds(1)) == .walk(slot: 0, due: .seconds(0.5)))
    }

    @Test func `an account is in one walk at a time`() throws {
        var (schedule, began) = try walking()
        #expect(schedule.next(now: began + .seconds(3600)) == .wait(until: nil))
        schedule.hasten(0, afresh: false, now: began)
        #expect(schedule.next(now: began + .seconds(3600)) == .wait(until: nil))
    }

    @Test func `after a sealed walk an account rests, up to a tenth less than its interval`() throws
    {
        let rules = ScheduleRules(
            budget: 0.5, perAccount: 2, fastest: .seconds(1), slowest: .seconds(60))
        var rests: Set<Duration> = []
        for seed in 1...20 {
            var (schedule, began) = try walking(rules, seed: UInt64(seed))
            let end = began + .milliseconds(300)
            let rest = schedule.ended(0, .sealed(pages: 1, confirm: false), now: end)
            // One account of a budget of one request in 2 s, of which 95 % are planned with.
            #expect(end + rest >= began + .seconds(2 / 0.95 * 0.9))
            #expect(end + rest <= began + .seconds(2 / 0.95))
            rests.insert(rest)
        }
        #expect(rests.count > 10, "jitter")
    }

    @Test func `no account is walked more often than fastest, and none exactly as often`() throws {
        var rests: Set<Duration> = []
        for seed in 1...20 {
            var (schedule, began) = try walking(seed: UInt64(seed))
            let end = began + .milliseconds(300)
            let rest = schedule.ended(0, .sealed(pages: 1, confirm: false), now: end)
            #expect(end + rest >= began + .seconds(2))
            #expect(end + rest <= began + .seconds(2.2))
            #expect(schedule.cycle == .seconds(2))
            rests.insert(rest)
        }
        #expect(rests.count > 10, "jitter")
    }

    @Test(arguments: [(1000, 1000), (1000, 1040), (1000, 1100)])
    func `jitter does not break the promise of slowest, however near fastest is`(
        fastest: Int, slowest: Int
    ) throws {
        let rules = ScheduleRules(
            fastest: .milliseconds(fastest), slowest: .milliseconds(slowest))
        for seed in 1...20 {
            var (schedule, began) = try walking(rules, seed: UInt64(seed))
            let rest = schedule.ended(0, .sealed(pages: 1, confirm: false), now: began)
            #expect(rest >= rules.fastest)
            #expect(rest <= max(rules.fastest, rules.slowest * 0.95))
        }
    }

    @Test func `a walk that took longer than its interval is followed at once, not twice`() throws {
        var (schedule, began) = try walking()
        let end = began + .seconds(10)
        #expect(schedule.ended(0, .sealed(pages: 1, confirm: false), now: end) == .zero)
        _ = try schedule.walk(0, from: end)
        #expect(schedule.next(now: end + .seconds(100)) == .wait(until: nil))
    }

    @Test(
        arguments: [
            (2, 60, nil, 5), (10, 60, nil, 10), (1, 3, nil, 3), (2, 60, 4, 4), (2, 60, 300, 5),
            (10, 60, 300, 10), (10, 60, 7, 7),
        ] as [(Int, Int, Int?, Int)])
    func `confirming walks come after min(slowest, max(fastest, 5 s)), the account's own slowest`(
        fastest: Int, slowest: Int, own: Int?, expected: Int
    ) throws {
        let rules = ScheduleRules(fastest: .seconds(fastest), slowest: .seconds(slowest))
        for outcome in [Schedule.Outcome.sealed(pages: 1, confirm: true), .refused] {
            var (schedule, began) = try walking(rules, interval: own.map { .seconds($0) })
            let end = began + .milliseconds(300)
            #expect(schedule.ended(0, outcome, now: end) == .seconds(expected))
        }
    }

    @Test(arguments: [Schedule.Outcome.failed, .blind])
    func `failing and blind accounts back off, doubling to max(slowest, 5 min), with jitter`(
        outcome: Schedule.Outcome
    ) throws {
        for (slowest, own, longest) in [(60, nil, 300), (600, nil, 600), (60, 1200, 1200)]
            as [(Int, Int?, Int)]
        {
            let rules = ScheduleRules(slowest: .seconds(slowest))
            var (schedule, now) = try walking(rules, interval: own.map { .seconds($0) })
            var full = 5
            for _ in 0..<30 {
                let rest = schedule.ended(0, outcome, now: now)
                #expect(rest <= .seconds(full))
                #expect(rest > .seconds(Double(full) * 0.8 - 0.001))
                full = min(full * 2, longest)
                now = try schedule.walk(0, from: now)
            }
        }
    }

    @Test func `a sealed walk ends the back-off, a refusal too, a throttled one does not`() throws {
        for (outcome, longest) in [
            (Schedule.Outcome.sealed(pages: 1, confirm: false), 5), (.refused, 5),
            (.throttled(.seconds(1)), 80),
        ] {
            var (schedule, now) = try walking()
            for _ in 0..<4 {
                schedule.ended(0, .failed, now: now)
                now = try schedule.walk(0, from: now)
            }
            schedule.ended(0, outcome, now: now)
            now = try schedule.walk(0, from: now)
            let rest = schedule.ended(0, .failed, now: now)
            #expect(rest <= .seconds(longest))
            #expect(rest > .seconds(Double(longest) * 0.8 - 0.001))
        }
    }

    @Test func `a throttled account waits as long as the server asked, hastened or not`() throws {
        var (schedule, now) = try walking()
        #expect(schedule.ended(0, .throttled(.seconds(90)), now: now) == .seconds(90))
        schedule.hasten(0, afresh: false, now: now)
        #expect(schedule.next(now: now + .seconds(89.9)) == .wait(until: now + .seconds(90)))
        now = try schedule.walk(0, from: now)
        schedule.hasten(0, afresh: false, now: now)
        #expect(schedule.ended(0, .throttled(.seconds(30)), now: now) == .seconds(30))
    }

    @Test func `an account that is overdue is never made later by being hastened`() throws {
        var schedule = schedule(ScheduleRules(budget: 10, perAccount: 10))
        schedule.admit(0, phase: nil, interval: nil, now: .zero)
        schedule.admit(1, phase: nil, interval: nil, now: .seconds(1))
        for _ in 0..<3 { schedule.hasten(0, afresh: false, now: .seconds(10)) }
        #expect(schedule.next(now: .seconds(10)) == .walk(slot: 0, due: .seconds(0.1)))
        _ = try schedule.walk(1, from: .seconds(10))
    }

    @Test func `an account that was paused while throttled still waits when it is resumed`() throws
    {
        var (schedule, now) = try walking()
        schedule.ended(0, .throttled(.seconds(90)), now: now)
        schedule.retire(0, pausing: true)
        schedule.admit(0, phase: nil, interval: nil, now: now)
        #expect(schedule.next(now: now + .seconds(80)) == .wait(until: now + .seconds(90)))
        schedule.retire(0)
        schedule.admit(0, phase: nil, interval: nil, now: now)
        #expect(try schedule.walk(0, from: now) == now + .seconds(0.5), "another account's slot")
    }

    @Test func `a new credential walks at once: no back-off, no throttling of the old one`() throws
    {
        var (schedule, now) = try walking()
        for _ in 0..<4 {
            schedule.ended(0, .blind, now: now)
            now = try schedule.walk(0, from: now)
        }
        schedule.ended(0, .throttled(.seconds(900)), now: now)
        schedule.hasten(0, afresh: true, now: now)
        let began = try schedule.walk(0, from: now)
        #expect(began == now + .seconds(0.5), "its bucket starts empty")
        #expect(schedule.ended(0, .failed, now: began) <= .seconds(5))
    }

    @Test func `a credential that changes during a walk counts from the walk's end`() throws {
        var (schedule, now) = try walking()
        for _ in 0..<4 {
            schedule.ended(0, .failed, now: now)
            now = try schedule.walk(0, from: now)
        }
        schedule.hasten(0, afresh: true, now: now)
        #expect(schedule.ended(0, .throttled(.seconds(900)), now: now) == .seconds(0.5))
        now = try schedule.walk(0, from: now)
        #expect(schedule.ended(0, .failed, now: now) <= .seconds(5))
    }

    @Test func `an account that is hastened is walked as soon as its bucket allows`() throws {
        var (schedule, now) = try walking()
        schedule.ended(0, .failed, now: now)
        schedule.hasten(0, afresh: false, now: now + .milliseconds(100))
        #expect(try schedule.walk(0, from: now) == now + .seconds(0.5))
        now = now + .seconds(0.5)
        schedule.hasten(0, afresh: false, now: now)
        schedule.ended(0, .sealed(pages: 1, confirm: false), now: now + .seconds(0.1))
        #expect(try schedule.walk(0, from: now) == now + .seconds(0.5), "asked for while under way")
        schedule.hasten(7, afresh: false, now: now)
    }

    @Test func `a dropped walk is walked anew at once`() throws {
        var (schedule, now) = try walking()
        #expect(schedule.ended(0, .dropped, now: now) == .seconds(0.5))
        now = try schedule.walk(0, from: now)
        schedule.ended(0, .failed, now: now)
        schedule.retire(0)
        #expect(schedule.next(now: now + .seconds(900)) == .wait(until: nil))
        schedule.admit(0, phase: nil, interval: nil, now: now)
        now = try schedule.walk(0, from: now)
        #expect(schedule.ended(0, .failed, now: now) <= .seconds(5), "failures are forgotten")
    }

    @Test func `an account's own interval takes the place of slowest, and may change`() throws {
        let rules = ScheduleRules(budget: 0.01, slowest: .seconds(60))
        var (schedule, now) = try walking(rules, interval: .seconds(10))
        #expect(schedule.ended(0, .sealed(pages: 1, confirm: false), now: now) <= .seconds(9.5))
        schedule.setInterval(0, .seconds(4), now: now)
        guard case .wait(let due) = schedule.next(now: now) else {
            Issue.record("walked too early")
            return
        }
        #expect(try #require(due) <= now + .seconds(4))
        schedule.setInterval(0, nil, now: now)
        now = now + .seconds(200)
        _ = try schedule.walk(0, from: now)
        let rest = schedule.ended(0, .sealed(pages: 1, confirm: false), now: now)
        #expect(rest > .seconds(45))
        #expect(rest <= .seconds(57))
    }

    @Test func `pages come from the same buckets, before further walks`() throws {
        var (schedule, began) = try walking(ScheduleRules(budget: 200, perAccount: 2))
        schedule.admit(1, phase: nil, interval: nil, now: .zero)
        schedule.wantsPage(0, now: began)
        let now = began + .seconds(0.5)
        #expect(schedule.next(now: now) == .page(slot: 0))
        #expect(schedule.next(now: now) == .walk(slot: 1, due: .seconds(0.5)))
        schedule.wantsPage(0, now: now)
        #expect(schedule.next(now: now + .seconds(0.1)) == .wait(until: now + .seconds(0.5)))
        schedule.ended(0, .failed, now: now)
        #expect(schedule.next(now: now + .seconds(0.5)) != .page(slot: 0))
    }

    @Test func `whoever is retired while it waits for a page is asked for none`() throws {
        var (schedule, began) = try walking()
        schedule.wantsPage(0, now: began)
        schedule.retire(0)
        #expect(schedule.next(now: began + .seconds(10)) == .wait(until: nil))
    }

    @Test func `accounts in trouble have no more than a quarter of the places`() throws {
        var schedule = schedule(ScheduleRules(budget: 1000, perAccount: 10, places: 16))
        for slot in 0..<40 { schedule.admit(slot, phase: nil, interval: nil, now: .zero) }
        var now = Instant.seconds(1)
        for slot in schedule.everything(at: &now) where slot < 30 {
            schedule.ended(slot, .failed, now: now)
        }
        for slot in 30..<40 { schedule.ended(slot, .sealed(pages: 1, confirm: false), now: now) }
        now = now + .seconds(100)
        var walked = schedule.everything(at: &now)
        #expect(walked.filter { $0 < 30 }.count == 4)
        #expect(walked.filter { $0 >= 30 }.count == 10, "the others go on")
        let troubled = try #require(walked.first { $0 < 30 })
        schedule.ended(troubled, .failed, now: now)
        walked = schedule.everything(at: &now)
        #expect(walked.count == 1, "a place is free again")
        let other = try #require(walked.first)
        schedule.retire(other)
        #expect(schedule.everything(at: &now).count == 1, "a retired one gives its place back")
    }
}

extension Instant {
    static let zero = Instant(nanoseconds: 0)

    static func seconds(_ seconds: Double) -> Instant { zero + .seconds(seconds) }
}

extension Schedule {
    /// Waits until a slot's walk is handed out; when that was.
    mutating func walk(_ slot: Int, from start: Instant) throws -> Instant {
        var now = start
        for _ in 0..<1000 {
            switch next(now: now) {
            case .walk(slot, _): return now
            case .wait(let until?): now = max(until, now)
            case .walk, .page, .wait: throw Missed(what: "a walk of \(slot)")
            }
        }
        throw Missed(what: "a walk of \(slot)")
    }

    /// All walks that may begin within a second.
    mutating func everything(at now: inout Instant) -> [Int] {
        var walked: [Int] = []
        let end = now + .seconds(1)
        while now < end {
            switch next(now: now) {
            case .walk(let slot, _): walked.append(slot)
            case .page: break
            case .wait(let until): now = min(until ?? end, end)
            }
        }
        return walked
    }
}
