import ConnectionEvents
import RelayCore
import RelayRuntime
import Testing
import Threading

/// Records that a sink does not take are set aside, and all others go on.
@Suite struct ParkingTests {
    private func begin(_ stage: Stage) throws {
        try stage.add("a", ["c1": "active"])
        try stage.run { _ in
            try eventually("baseline") { stage.journal.belief("a") != nil }
        }
    }

    private func change(_ stage: Stage, times: Int) throws {
        for _ in 0..<times {
            let count = stage.journal.events("a").count
            let isActive = stage.world.rows("key-of-a")["c1"]?.status == "active"
            stage.world.set("key-of-a", "c1", isActive ? "expired" : "active")
            try eventually("a change is journaled") { stage.journal.events("a").count > count }
        }
    }

    @Test(arguments: [true, false])
    func `a refused record is parked, its neighbours and its state go on, and a restart knows it`(
        remembers: Bool
    ) throws {
        let stage = Stage(remembers: remembers)
        try begin(stage)
        stage.publisher.state.withLock { $0.poison = [Stage.events: [4]] }
        stage.publisher.leave(true)
        try stage.run { relay in
            try change(stage, times: 5)
            stage.publisher.leave(false)
            try eventually("delivered") { Set(stage.publisher.positions("events")).count == 4 }
            try eventually("counted") { relay.status.sinks[0].parked == 1 }
            #expect(relay.status.sinks[0].failures["MSG_SIZE_TOO_LARGE", default: 0] > 1)
            try eventually("sound") { relay.status.sinks.allSatisfy { $0.failingSince == nil } }
            try eventually("ready") { relay.status.reasons.isEmpty }
        }
        #expect(stage.publisher.positions("events") == [2, 3, 5, 6])
        if remembers { #expect(stage.publisher.positions("states").contains(4)) }
        #expect(stage.parking.positions(Stage.events) == [4])
        let lines = stage.lines.withLock { $0 }
        #expect(lines.contains { $0.contains("record parked: too large") })
        stage.publisher.state.withLock { $0.poison = [:] }
        try stage.run { _ in
            try change(stage, times: 1)
            try eventually("goes on") { stage.publisher.positions("events").contains(7) }
        }
        #expect(stage.publisher.positions("events") == [2, 3, 5, 6, 7])
        #expect(stage.parking.positions(Stage.events) == [4])
    }

    @Test func `an ordered record is sent alone and marked; refused once more it stays`() throws {
        let stage = Stage()
        try begin(stage)
        stage.publisher.state.withLock { $0.poison = [Stage.events: [2]] }
        try stage.run { relay in
            try change(stage, times: 2)
            try eventually("parked") { stage.parking.positions(Stage.events) == [2] }
            try eventually("goes on") { stage.publisher.positions("events") == [3] }
            let record = try #require(stage.parking.state.withLock { $0.records.first })
            #expect(record.event?.sequence == 1)
            stage.parking.orderAll(at: record)
            try eventually("refused") {
                stage.parking.state.withLock { $0.records.first?.orderedAt == nil }
            }
            stage.publisher.state.withLock { $0.poison = [:] }
            stage.parking.orderAll(at: record)
            try eventually("sent") { stage.publisher.positions("events") == [3, 2] }
            try eventually("gone") { relay.status.sinks[0].parked == 0 }
            let sent = try #require(
                stage.publisher.state.withLock { $0.records[Stage.events]?.last })
            #expect(sent.value == record.message.value)
            #expect(sent.headers.dropLast() == record.message.headers[...])
            #expect(sent.headers.last?.name == "trax-replay")
            #expect(Timestamp(sent.headers.last?.value ?? "") != nil)
            try change(stage, times: 1)
            try eventually("goes on") { stage.publisher.positions("events") == [3, 2, 4] }
        }
    }

    @Test func `a parked state record is sent again as it is believed by then`() throws {
        let stage = Stage()
        try begin(stage)
        stage.publisher.state.withLock { $0.poison = [Stage.states: [2]] }
        try stage.run { relay in
            try change(stage, times: 2)
            try eventually("parked") { stage.parking.positions(Stage.states) == [2] }
            try eventually("goes on") { stage.publisher.positions("states").contains(3) }
            let record = try #require(stage.parking.state.withLock { $0.records.first })
            #expect(record.event == nil && record.message.key == "a/c1")
            stage.publisher.state.withLock { $0.poison = [:] }
            stage.parking.orderAll(at: record)
            try eventually("sent") { stage.parking.positions(Stage.states).isEmpty }
            let values = stage.publisher.values("states")
            #expect(values.suffix(2).first == values.last, "the newest once more, not the older")
        }
    }

    @Test func `a record that cannot be parked holds its sink, and no other`() throws {
        let stage = Stage()
        try begin(stage)
        stage.publisher.state.withLock { $0.poison = [Stage.events: [2]] }
        stage.parking.state.withLock { $0.failure = FakeJournal.full }
        try stage.run { relay in
            try change(stage, times: 2)
            try eventually("states") { stage.publisher.positions("states").contains(3) }
            try eventually("told") { relay.status.sinks[0].failures["full", default: 0] > 0 }
            #expect(stage.publisher.positions("events").isEmpty)
            stage.parking.state.withLock { $0.failure = nil }
            try eventually("goes on") { stage.publisher.positions("events") == [3] }
        }
    }

    @Test func `a filling parks the one record that the topic refuses`() throws {
        let stage = Stage()
        stage.sinks = [SinkPlan(name: Stage.events, role: .events(nil))]
        try stage.add("a", ["c1": "active", "c2": "active", "c3": "active"])
        try stage.run { _ in
            try eventually("baseline") { stage.journal.belief("a") != nil }
        }
        stage.sinks.append(SinkPlan(name: Stage.states, role: .state))
        let head = Int64(stage.journal.content.withLock { $0.entries.count })
        // All records of a filling stand at the head: this refuses each of them.
        stage.publisher.state.withLock { $0.poison = [Stage.states: [head]] }
        try stage.run { _ in
            try eventually("filled") {
                stage.publisher.state.withLock { $0.progress[Stage.states] != nil }
            }
        }
        #expect(stage.parking.positions(Stage.states) == [head, head, head])
        #expect(stage.publisher.positions("states").isEmpty)
    }

    @Test func `a state topic that turns out to be empty is filled anew`() throws {
        let stage = Stage()
        try begin(stage)
        try stage.run { _ in
            try change(stage, times: 1)
            try eventually("delivered") { stage.publisher.positions("states") == [1, 2] }
        }
        stage.publisher.state.withLock { state in
            state.records[Stage.states] = []
            state.empty = [Stage.states]
        }
        try stage.run { _ in
            try eventually("filled") { stage.publisher.values("states").count == 1 }
            try change(stage, times: 1)
            try eventually("goes on") { stage.publisher.values("states").count == 2 }
        }
        // Deleted and made anew while it runs: the refusal in between gives it away.
        try stage.run { _ in
            let gone = PublishFailure(
                kind: .refusedSink(Stage.states), code: "UNKNOWN_TOPIC_OR_PART", reason: "gone")
            stage.publisher.state.withLock { $0.refusing = (Stage.states, gone) }
            try change(stage, times: 1)
            try eventually("told") {
                stage.lines.withLock { $0.contains { $0.contains("delivery failed: gone") } }
            }
            stage.publisher.state.withLock { state in
                state.records[Stage.states] = []
                state.empty = [Stage.states]
                state.refusing = nil
            }
            try eventually("filled") { stage.publisher.values("states").count >= 1 }
        }
        let lines = stage.lines.withLock { $0 }
        #expect(lines.count { $0.contains("state sink filled") } == 2 + 1)
    }
}
