import ConnectionEvents
import RelayCore

import Testing

@testable import RelayRuntime

@Suite struct ReadinessTests {
    private func status(_ change: (inout RelayStatus) -> Void = { _ in }) -> RelayStatus {
        var status = RelayStatus(
            name: "connections", startedAt: Timestamp(milliseconds: 0),
            now: Instant(nanoseconds: 1_000_000_000_000), slowest: .seconds(60),
            poll: PollFigures(), judge: JudgeFigures(),
            sinks: [
                SinkFigures(name: SinkName("t"), sort: "kafka"),
                SinkFigures(name: SinkName("out"), sort: "log"),
            ],
            accountsFileProblem: nil, isWaitingForBroker: false)
        change(&status)
        return status
    }

    /// That long before `now`.
    private func ago(_ duration: Duration) -> Instant {
        Instant(nanoseconds: 1_000_000_000_000) + (.zero - duration)
    }

    @Test func `a relay without a due account is ready`() {
        #expect(status().reasons.isEmpty)
    }

    @Test func `a stalled journal, a bad accounts file and a refused fleet are reasons`() {
        let reasons = status {
            $0.judge.failure = JournalFailure(kind: .full, code: "full", reason: "disk full")
            $0.accountsFileProblem = "line 3 is wrong"
            $0.poll.fleetRefused = 2
        }.reasons
        #expect(reasons.map(\.code) == ["journal_stalled", "accounts_file", "fleet_refused"])
        #expect(reasons[0].text.contains("disk full"))
        #expect(reasons[1].text == "line 3 is wrong")
    }

    @Test func `an API that has not answered is a reason once an account is due`() {
        #expect(
            status { $0.poll.dueSince = ago(.seconds(1)) }.reasons.map(\.code) == ["api_silent"])
        let answered = status {
            $0.poll.dueSince = ago(.seconds(1))
            $0.poll.hasAnswered = true
        }
        #expect(answered.reasons.isEmpty)
    }

    @Test func `no sealed walk is a reason after three times slowest`() {
        for (seconds, expected) in [(180, []), (181, ["no_sealed_walk"])] {
            let reasons = status {
                $0.poll.dueSince = ago(.seconds(seconds))
                $0.poll.hasAnswered = true
            }.reasons
            #expect(reasons.map(\.code) == expected)
        }
    }

    @Test func `a sink is a reason after 30 s, but a log`() {
        for (seconds, expected) in [(29, []), (30, ["sink_unreachable"])] {
            let reasons = status {
                $0.sinks[0].failingSince = ago(.seconds(seconds))
                $0.sinks[1].failingSince = ago(.seconds(seconds))
            }.reasons
            #expect(reasons.map(\.code) == expected)
        }
    }

    @Test func `waiting for the broker's word stands for an API that was not asked`() {
        let reasons = status {
            $0.isWaitingForBroker = true
            $0.poll.dueSince = ago(.seconds(1))
        }.reasons
        #expect(reasons.map(\.code) == ["broker_progress"])
    }

    @Test func `blind, failing and paused accounts and an unfinished round are no reasons`() {
        let reasons = status {
            $0.poll.blind = 3
            $0.poll.failing = 4
            $0.poll.paused = 5
            $0.poll.firstRoundLeft = 1000
            $0.poll.isBudgetSufficient = false
        }.reasons
        #expect(reasons.isEmpty)
    }
}
