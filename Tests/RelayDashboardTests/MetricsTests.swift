import ConnectionEvents
import RelayCore
import Testing

@testable import RelayDashboard
@testable import RelayRuntime

/// A status in which nothing is zero or missing.
func busyStatus(sinks: [(name: String, sort: String)] = [("t", "kafka"), ("out", "log")])
    -> RelayStatus
{
    var poll = PollFigures()
    poll.active = 7
    poll.paused = 2
    poll.blind = 1
    poll.failing = 3
    poll.walks = ["unchanged": 100, "sealed": 5, "http_5xx": 2]
    poll.requests = 123
    poll.hasAnswered = true
    poll.lastSealed = Instant(nanoseconds: 9_000_000_000)
    poll.cycle = .milliseconds(2500)
    for milliseconds in [1, 20, 700, 400_000] { poll.lateness.add(.milliseconds(milliseconds)) }
    poll.walkDuration.add(.milliseconds(31))
    var judge = JudgeFigures()
    judge.events = ["connection.failing": 4]
    judge.head = JournalPosition(40)
    judge.commits = 2
    judge.commitDuration.add(.milliseconds(2))
    judge.decisionDelay.add(.milliseconds(3))
    var bounds = BoundsFigures()
    bounds.size = JournalSize(
        file: 9000, used: 8000, log: 700, limit: 8 << 30, entries: 40, prunable: 3, oldest: nil)
    bounds.pruned = 5
    return RelayStatus(
        name: "connections", startedAt: Timestamp(milliseconds: 0),
        now: Instant(nanoseconds: 10_000_000_000), slowest: .seconds(60), poll: poll, judge: judge,
        bounds: bounds,
        sinks: sinks.map { name, sort in
            var sink = SinkFigures(name: SinkName(name), sort: sort)
            sink.place = JournalPosition(38)
            sink.records = 11
            sink.failures = ["_TRANSPORT": 2]
            sink.delay.add(.milliseconds(30))
            return sink
        }, accountsFileProblem: nil, isWaitingForBroker: false)
}

@Suite struct MetricsTests {
    private func page(_ status: RelayStatus) throws -> PrometheusPage {
        try PrometheusPage(
            MetricsText.render(
                status, version: "1.2.3", libraries: [("librdkafka", "2.0.2")]))
    }

    @Test func `the page is strict Prometheus text, empty or busy`() throws {
        _ = try page(busyStatus())
        var status = busyStatus(sinks: [])
        status.poll = PollFigures()
        status.judge = JudgeFigures()
        _ = try page(status)
    }

    @Test func `these are the families; renaming one breaks dashboards`() throws {
        let found = try page(busyStatus()).families.map { "\($0.type) \($0.name.dropFirst(11))" }
        let expected = """
            gauge build_info
            gauge ready
            gauge accounts
            gauge open_holds
            gauge link_watches
            counter links_total
            gauge first_round_left_accounts
            counter walks_total
            counter requests_total
            gauge walks_in_flight
            gauge walks_held_bytes
            gauge walk_cycle_seconds
            gauge budget_sufficient
            gauge last_sealed_walk_age_seconds
            histogram walk_lateness_seconds
            histogram walk_duration_seconds
            counter events_total
            gauge journal_writable
            gauge journal_head
            histogram journal_commit_duration_seconds
            histogram decision_delay_seconds
            counter journal_pruned_entries_total
            histogram journal_prune_duration_seconds
            gauge journal_size_bytes
            gauge journal_limit_bytes
            gauge journal_entries
            gauge journal_prunable_entries
            gauge journal_oldest_event_age_seconds
            counter sink_records_total
            gauge sink_lag_entries
            gauge sink_up
            gauge parked_records
            counter sink_failures_total
            histogram delivery_delay_seconds
            """
        #expect(found.joined(separator: "\n") == expected)
    }

    @Test func `the figures stand where they belong`() throws {
        let page = try page(busyStatus())
        #expect(page.value("build_info", ["version": "1.2.3", "librdkafka": "2.0.2"]) == 1)
        #expect(page.value("ready") == 1)
        #expect(page.value("accounts", ["state": "blind"]) == 1)
        #expect(page.value("walks_total", ["outcome": "http_5xx"]) == 2)
        #expect(page.value("last_sealed_walk_age_seconds") == 1)
        #expect(page.value("walk_cycle_seconds") == 2.5)
        #expect(page.value("walk_lateness_seconds_bucket", ["le": "1.0"]) == 3)
        #expect(page.value("walk_lateness_seconds_count") == 4)
        #expect(page.value("events_total", ["type": "connection.failing"]) == 4)
        #expect(page.value("sink_lag_entries", ["sink": "t", "sort": "kafka"]) == 2)
        #expect(page.value("sink_failures_total", ["sink": "t", "reason": "_TRANSPORT"]) == 2)
        #expect(page.value("delivery_delay_seconds_count", ["sink": "out"]) == 1)
    }

    @Test func `what is not ready, stalled or down is 0`() throws {
        var status = busyStatus()
        let failure = JournalFailure(kind: .full, code: "full", reason: "no room")
        status.judge.failure = failure
        status.judge.failingSince = status.now
        status.sinks[0].failingSince = status.now
        let page = try page(status)
        #expect(page.value("ready") == 0)
        #expect(page.value("journal_writable") == 0)
        #expect(page.value("sink_up", ["sink": "t"]) == 0)
        #expect(page.value("sink_up", ["sink": "out"]) == 1)
    }

    @Test(arguments: ["a\"b", "a\\b", "a\nb", "a\r\nb", "\\\"\n\\n", "ü🎥"])
    func `a label holds any text`(name: String) throws {
        let page = try page(busyStatus(sinks: [(name, "kafka")]))
        #expect(page.value("sink_up", ["sink": name]) == 1)
    }

    @Test func `no account stands in a label`() throws {
        let allowed: Set = [
            "version", "librdkafka", "state", "outcome", "le", "type", "sink", "sort", "reason",
            "part",
        ]
        let labels = try page(busyStatus()).families.flatMap(\.samples).flatMap(\.labels)
        #expect(Set(labels.map(\.name)) == allowed)
    }
}
