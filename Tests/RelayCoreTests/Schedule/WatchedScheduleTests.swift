import RelayCore
import Testing

/// Accounts whose links are waited for, among others that have their turn.
@Suite struct WatchedScheduleTests {
    private let rules = ScheduleRules(
        budget: 10, perAccount: 2, fastest: .seconds(1), slowest: .seconds(60))

    /// Walks for so long, bringing each walk of a watched slot forward; the starts by slot.
    private func starts(
        _ schedule: inout Schedule, watched: Int, accounts: Int, seconds: Int
    ) -> [Int: [Instant]] {
        var starts: [Int: [Instant]] = [:]
        var paces: [Int: WatchPace] = [:]
        for slot in 0..<watched {
            paces[slot] = WatchPace(now: .zero)
            paces[slot]?.opened(1, lifetime: .seconds(100_000), now: .zero)
        }
        var now = Instant.zero
        while now < .seconds(Double(seconds)) {
            switch schedule.next(now: now) {
            case .walk(let slot, _):
                starts[slot, default: []].append(now)
                schedule.ended(slot, .sealed(pages: 1, confirm: false), now: now)
                guard var pace = paces[slot] else { continue }
                let interval = pace.interval(rules: rules, crowd: paces.count, now: now)
                paces[slot] = pace
                schedule.bringForward(slot, to: now + interval)
            case .page: preconditionFailure("lists of one page")
            case .wait(let until): now = max(now + .milliseconds(1), until ?? now + .seconds(1))
            }
        }
        return starts
    }

    private func gaps(_ starts: [Instant]) -> [Duration] {
        zip(starts.dropFirst(), starts).map { $0 - $1 }
    }

    @Test func `one that is watched is walked at the fastest pace, the others in their turn`() {
        var schedule = Schedule(rules: rules, seed: 1, now: .zero, expecting: 100)
        for slot in 0..<100 {
            schedule.admit(slot, phase: Double(slot) / 100, interval: nil, now: .zero)
        }
        let starts = starts(&schedule, watched: 1, accounts: 100, seconds: 110)
        let own = gaps(starts[0] ?? [])
        #expect(own.count > 60)
        #expect(own.allSatisfy { $0 >= .seconds(1) && $0 < .seconds(2) })
        for slot in 1..<100 {
            #expect(gaps(starts[slot] ?? []).allSatisfy { $0 < .seconds(14) }, "\(slot)")
        }
    }

    @Test func `half the fleet watched leaves the other half its turn within slowest`() {
        var schedule = Schedule(rules: rules, seed: 1, now: .zero, expecting: 100)
        for slot in 0..<100 {
            schedule.admit(slot, phase: Double(slot) / 100, interval: nil, now: .zero)
        }
        let starts = starts(&schedule, watched: 50, accounts: 100, seconds: 300)
        for slot in 0..<100 {
            let gaps = gaps(starts[slot] ?? [])
            #expect(gaps.count >= 3)
            #expect(gaps.allSatisfy { $0 < .seconds(60) }, "\(slot)")
        }
        let total = starts.values.reduce(0) { $0 + $1.count }
        #expect(total <= 3001)
    }

    @Test func `only what would be later is brought forward, and never before its bucket`() {
        var schedule = Schedule(rules: rules, seed: 1, now: .zero)
        schedule.admit(0, phase: nil, interval: nil, now: .zero)
        schedule.bringForward(0, to: .zero)
        #expect(schedule.next(now: .zero) == .wait(until: .seconds(0.5)))
        schedule.noteRequest(0, now: .seconds(0.5))
        schedule.hasten(0, afresh: false, now: .seconds(0.5))
        #expect(schedule.next(now: .seconds(0.5)) == .wait(until: .seconds(1)))
        schedule.bringForward(0, to: .seconds(50))
        schedule.bringForward(7, to: .zero)
        schedule.noteRequest(7, now: .zero)
        #expect(schedule.next(now: .seconds(1)) == .walk(slot: 0, due: .seconds(1)))
        schedule.bringForward(0, to: .zero)
        #expect(schedule.next(now: .seconds(9)) == .wait(until: nil), "it is under way")
        schedule.ended(0, .failed, now: .seconds(9))
        schedule.bringForward(0, to: .seconds(9))
        guard case .wait(let until) = schedule.next(now: .seconds(9)) else {
            Issue.record("a walk that failed backs off")
            return
        }
        #expect(until.map { $0 > .seconds(12) } ?? false)
    }
}
