import RelayCore
import Testing

@Suite struct WatchPaceTests {
    private let rules = ScheduleRules(
        budget: 100, perAccount: 2, fastest: .seconds(2), slowest: .seconds(60))
    private let start = Instant(nanoseconds: 1_000_000_000_000)

    @Test func `it is fastest for two minutes, then grows by half each time up to slowest`() {
        var pace = WatchPace(now: start)
        pace.opened(1, lifetime: .seconds(600), now: start)
        func interval(_ seconds: Int) -> Duration {
            pace.interval(rules: rules, crowd: 1, now: start + .seconds(seconds))
        }
        #expect(interval(0) == .seconds(2))
        #expect(interval(119) == .seconds(2))
        #expect(interval(121) == .seconds(3))
        #expect(interval(124) == .milliseconds(4500))
        for second in 130..<150 { _ = interval(second) }
        #expect(interval(150) == .seconds(60))
    }

    @Test func `another opening makes it fast again, the same one does not`() {
        var pace = WatchPace(now: start)
        pace.opened(1, lifetime: .seconds(600), now: start)
        for second in 0..<40 {
            _ = pace.interval(rules: rules, crowd: 1, now: start + .seconds(120 + second))
        }
        let later = start + .seconds(200)
        pace.opened(1, lifetime: .seconds(400), now: later)
        #expect(pace.interval(rules: rules, crowd: 1, now: later) == .seconds(60))
        pace.opened(2, lifetime: .seconds(600), now: later)
        #expect(pace.interval(rules: rules, crowd: 1, now: later) == .seconds(2))
    }

    @Test func `the last look comes when the attempt's time is over`() {
        var pace = WatchPace(now: start)
        pace.opened(1, lifetime: .seconds(300), now: start)
        for second in 0..<40 {
            _ = pace.interval(rules: rules, crowd: 1, now: start + .seconds(120 + second))
        }
        #expect(
            pace.interval(rules: rules, crowd: 1, now: start + .seconds(290)) == .seconds(10))
    }

    @Test func `many that are watched take half of the budget at most`() {
        var pace = WatchPace(now: start)
        pace.opened(1, lifetime: .seconds(600), now: start)
        #expect(pace.interval(rules: rules, crowd: 1000, now: start) == .seconds(20))
        #expect(pace.interval(rules: rules, crowd: 10_000, now: start) == .seconds(200))
    }

    @Test func `it is over with the last watch, or long after the attempt's time`() {
        var pace = WatchPace(now: start)
        #expect(pace.isOver(now: start))
        pace.opened(1, lifetime: .seconds(600), now: start)
        pace.opened(2, lifetime: .seconds(600), now: start)
        pace.ended(1)
        #expect(!pace.isOver(now: start + .seconds(1499)))
        #expect(pace.isOver(now: start + .seconds(1501)))
        pace.ended(2)
        #expect(pace.isOver(now: start))
    }

    @Test func `what two looks in a row do not find was ended by somebody else`() {
        let start = Instant.zero
        var pace = WatchPace(now: start)
        for number: Int64 in 1...2 { pace.opened(number, lifetime: .seconds(600), now: start) }
        pace.found([1])
        #expect(pace.open == [1, 2], "the look may be older than the opening")
        pace.found([1, 2])
        pace.found([1])
        #expect(pace.open == [1, 2])
        pace.found([1])
        #expect(pace.open == [1])
    }
}
