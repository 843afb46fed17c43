import ConnectionEvents
import RelayCore
import RelayRuntime
import Testing
import Threading

/// What reaches the sinks, whatever becomes of publishers and acknowledgements.
@Suite struct CourierTests {
    /// Makes one change after another, each seen before the next.
    private func change(_ stage: Stage, times: Int) throws {
        for _ in 0..<times {
            let count = stage.journal.events("a").count
            let isActive = stage.world.rows("key-of-a")["c1"]?.status == "active"
            stage.world.set("key-of-a", "c1", isActive ? "expired" : "active")
            try eventually("a change is journaled") { stage.journal.events("a").count > count }
        }
    }

    private func begin(_ stage: Stage) throws {
        try stage.add("a", ["c1": "active"])
        try stage.run { _ in
            try eventually("baseline") { stage.journal.belief("a") != nil }
        }
        #expect(stage.journal.content.withLock { $0.entries.count } == 1)
    }

    @Test func `a broker that is away costs nothing: all of it arrives once, in order`() throws {
        let stage = Stage()
        try begin(stage)
        stage.publisher.leave(true)
        try stage.run { relay in
            try change(stage, times: 5)
            try eventually("noticed") { relay.status.sinks.allSatisfy { $0.failingSince != nil } }
            #expect(stage.publisher.values("events").isEmpty)
            stage.publisher.leave(false)
            try eventually("delivered") { try stage.delivered("a").count == 5 }
            try eventually("healed") { relay.status.sinks.allSatisfy { $0.failingSince == nil } }
            // Away and back while it runs.
            stage.publisher.leave(true)
            try change(stage, times: 3)
            stage.publisher.leave(false)
            try eventually("delivered") { try stage.delivered("a").count == 8 }
        }
        #expect(stage.publisher.positions("events") == Array(2...9))
        let lines = stage.lines.withLock { $0 }
        #expect(lines.contains { $0.contains("sink takes records again sink=events") })
    }

    @Test("what a broker acknowledged and forgot is published again", arguments: [true, false])
    func forgetful(isNew: Bool) throws {
        let stage = Stage(remembers: true)
        if isNew { try stage.add("a", ["c1": "active"]) } else { try begin(stage) }
        try stage.run { _ in
            try eventually("baseline") { !stage.publisher.values("states").isEmpty }
            for count in 1...3 {
                try change(stage, times: 1)
                try eventually("delivered") { try stage.delivered("a").count == 2 * count - 1 }
                stage.publisher.forget()
                try change(stage, times: 1)
                try eventually("delivered") { try stage.delivered("a").count == 2 * count }
            }
        }
        #expect(stage.publisher.positions("events") == Array(2...7))
        #expect(stage.publisher.positions("states").sorted() == stage.publisher.positions("states"))
        #expect(stage.publisher.values("states").last?.contains("\"sequence\":6") == true)
    }

    @Test
    func `a sink that is new again does not get what came before, even from a forgetful broker`()
        throws
    {
        let stage = Stage(remembers: true)
        try begin(stage)
        try stage.run { _ in
            try change(stage, times: 2)
            try eventually("delivered") { try stage.delivered("a").count == 2 }
        }
        // Left out of the pipeline for a while: the journal has forgotten it, the broker has not.
        try stage.journal.setPlaces([SinkName("events"): nil])
        stage.publisher.state.withLock { $0.records = [:] }
        try stage.run { _ in
            try change(stage, times: 1)
            try eventually("delivered") { try stage.delivered("a").count == 1 }
            stage.publisher.forget()
            try change(stage, times: 1)
            try eventually("delivered") { try stage.delivered("a").count == 2 }
        }
        #expect(stage.publisher.positions("events") == [4, 5])
    }

    @Test func `a lost acknowledgement doubles nothing where the broker remembers the place`()
        throws
    {
        let stage = Stage(remembers: true)
        try begin(stage)
        try stage.run { _ in
            let lost = PublishFailure(kind: .reopen, code: "lost", reason: "no acknowledgement")
            stage.publisher.state.withLock { $0.fates = [.lose(lost), .fail(lost), .lose(lost)] }
            try change(stage, times: 6)
            try eventually("delivered") { try stage.delivered("a").count == 6 }
        }
        #expect(stage.publisher.positions("events") == Array(2...7))
        #expect(stage.publisher.state.withLock { $0.opens } > 2)
    }

    @Test func `and repeats records where it does not, each at its own position, none missing`()
        throws
    {
        let stage = Stage(remembers: false)
        stage.sinks = [SinkPlan(name: Stage.events, role: .events(nil))]
        try begin(stage)
        try stage.run { _ in
            let lost = PublishFailure(kind: .reopen, code: "lost", reason: "no acknowledgement")
            stage.publisher.state.withLock { $0.fates = [.lose(lost)] }
            try change(stage, times: 4)
            try eventually("delivered") { Set(stage.publisher.positions("events")).count == 4 }
        }
        let positions = stage.publisher.positions("events")
        #expect(Set(positions) == Set(2...5))
        #expect(positions.count > 4)
    }

    @Test(arguments: [PublishFailure.Kind.takenOver, .misconfigured, .gone])
    func `what only an operator can mend ends the relay`(kind: PublishFailure.Kind) throws {
        let stage = Stage()
        try begin(stage)
        let relay = try stage.relay()
        try relay.start()
        let failure = PublishFailure(kind: kind, code: "x", reason: "another one runs")
        stage.publisher.state.withLock { $0.fates = [.fail(failure)] }
        stage.world.set("key-of-a", "c1", "expired")
        #expect(relay.failure(within: .seconds(60)) == failure)
        #expect(!relay.stop(within: .seconds(10)))
    }

    @Test func `a foreign or newer progress ends the relay before anything is walked`() throws {
        for position in [JournalPosition(0), JournalPosition(7)] {
            for journal in ["journal-1", "journal-2"]
            where position.number > 0 || journal != "journal-1" {
                let stage = Stage()
                try stage.add("a", ["c1": "active"])
                stage.publisher.state.withLock {
                    $0.progress[Stage.events] = Progress(
                        journal: JournalID(journal), position: position, eventID: nil, epoch: 5,
                        instance: "other")
                }
                let relay = try stage.relay()
                try relay.start()
                #expect(relay.failure(within: .seconds(60))?.kind == .misconfigured)
                relay.stop(within: .seconds(10))
                #expect(stage.world.asked("key-of-a") == 0)
                #expect(stage.journal.content.withLock { $0.commits } == 0)
            }
        }
    }

    @Test func `an empty journal walks nothing before the broker has told what it knows`() throws {
        let stage = Stage()
        try stage.add("a", ["c1": "active"])
        stage.publisher.leave(true)
        try stage.run { relay in
            try eventually("tried") { stage.publisher.state.withLock { $0.opens } > 2 }
            #expect(relay.status.reasons.map(\.code) == ["broker_progress"])
            #expect(stage.world.asked("key-of-a") == 0)
            stage.publisher.leave(false)
            try eventually("walked") { stage.journal.belief("a") != nil }
            try eventually("ready") { relay.status.reasons.isEmpty }
        }
    }

    @Test func `new sinks begin at the head, and sinks that are gone are forgotten`() throws {
        let stage = Stage()
        try begin(stage)
        try stage.run { _ in
            try change(stage, times: 3)
            try eventually("delivered") { try stage.delivered("a").count == 3 }
        }
        stage.sinks = [
            SinkPlan(name: SinkName("more"), role: .events(nil)),
            SinkPlan(name: Stage.states, role: .state),
        ]
        try stage.run { _ in
            try change(stage, times: 1)
            try eventually("delivered") { stage.publisher.values("more").count == 1 }
        }
        #expect(stage.publisher.positions("more") == [5])
        #expect(stage.publisher.positions("events") == [2, 3, 4])
        let places = stage.journal.content.withLock { $0.places }
        #expect(places == [SinkName("more"): JournalPosition(5), Stage.states: JournalPosition(5)])
    }

    @Test func `a sink that takes nothing does not stop the others`() throws {
        let stage = Stage()
        try begin(stage)
        try stage.run { relay in
            stage.publisher.state.withLock {
                $0.refusing = (
                    Stage.events,
                    PublishFailure(
                        kind: .refusedSink(Stage.events), code: "TOPIC_AUTHORIZATION_FAILED",
                        reason: "no right to write")
                )
            }
            try change(stage, times: 3)
            try eventually("states") { stage.publisher.values("states").count == 4 }
            #expect(stage.publisher.values("events").isEmpty)
            let sinks = relay.status.sinks
            #expect(sinks[0].failures["TOPIC_AUTHORIZATION_FAILED", default: 0] > 0)
            #expect(sinks[1].failures.isEmpty)
            stage.publisher.state.withLock { $0.refusing = nil }
            try eventually("events") { try stage.delivered("a").count == 3 }
        }
    }

    @Test func `entries that cannot be read are read later`() throws {
        let stage = Stage()
        try begin(stage)
        try stage.run { relay in
            stage.journal.content.withLock { $0.readFailure = FakeJournal.full }
            try change(stage, times: 2)
            try eventually("noticed") { relay.status.sinks[0].failures["full", default: 0] > 0 }
            stage.journal.content.withLock { $0.readFailure = nil }
            try eventually("delivered") { try stage.delivered("a").count == 2 }
        }
    }

    @Test func `an entry that is damaged is published nowhere, and ends the relay`() throws {
        let stage = Stage()
        try begin(stage)
        let relay = try stage.relay()
        try relay.start()
        let damage = JournalFailure(kind: .unusable, code: "corrupt", reason: "it is damaged")
        stage.journal.content.withLock { $0.readFailure = damage }
        try change(stage, times: 1)
        let failure = try #require(relay.failure(within: .seconds(60)))
        #expect(failure.kind == .misconfigured && failure.code == "corrupt")
        relay.stop(within: .seconds(10))
        #expect(relay.misfit == nil)
        #expect(stage.publisher.values("events").isEmpty)
    }

    @Test func `places that could not be written are written later`() throws {
        let stage = Stage(remembers: false)
        try begin(stage)
        try stage.run { _ in
            stage.journal.content.withLock { $0.placeFailure = FakeJournal.full }
            try change(stage, times: 2)
            try eventually("delivered") { try stage.delivered("a").count == 2 }
            stage.journal.content.withLock { $0.placeFailure = nil }
            try eventually("saved") {
                stage.journal.content.withLock { $0.places[Stage.events] } == JournalPosition(3)
            }
        }
    }

    @Test func `a stop delivers what is there, and says what is not`() throws {
        let stage = Stage()
        try begin(stage)
        let relay = try stage.relay()
        try relay.start()
        stage.publisher.state.withLock { $0.isHeld = true }
        try change(stage, times: 2)
        #expect(!relay.stop(within: .milliseconds(300)))
        #expect(stage.publisher.state.withLock { $0.closes } > 0)
        let other = try stage.relay()
        try other.start()
        #expect(other.stop(within: .seconds(60)))
        #expect(Set(stage.publisher.positions("events")) == [2, 3])
        // Nothing left to deliver, and nobody to ask: that is delivered, too.
        stage.publisher.leave(true)
        let third = try stage.relay()
        try third.start()
        #expect(third.stop(within: .seconds(60)))
    }

    @Test func `a state sink that is new gets all that is believed, and loses what is not`() throws
    {
        let stage = Stage()
        stage.sinks = [SinkPlan(name: Stage.events, role: .events(nil))]
        try stage.add("a", ["c1": "active", "c2": "expired"])
        try stage.run { _ in
            try eventually("baseline") { stage.journal.belief("a") != nil }
        }
        stage.sinks.append(SinkPlan(name: Stage.states, role: .state))
        // The topic holds rows of another time: of this account, and of one that is not ours.
        stage.publisher.state.withLock { state in
            state.records[Stage.states] = ["a/gone", "b/other"].map {
                OutboundMessage(position: .start, key: $0, value: Array("{}".utf8))
            }
        }
        try stage.run { _ in
            try eventually("filled") { stage.publisher.values("states").count == 5 }
        }
        let records = stage.publisher.state.withLock { $0.records[Stage.states] ?? [] }
        #expect(records.dropFirst(2).map(\.key) == ["a/c1", "a/c2", "a/gone"])
        #expect(records.last?.value == nil)
        let lines = stage.lines.withLock { $0 }
        #expect(lines.contains { $0.contains("state sink filled") })
        // Filled once: the broker remembers.
        try stage.run { _ in try stage.walks(2, of: "key-of-a") }
        #expect(stage.publisher.values("states").count == 5)
    }

    @Test func `who publishes under a new name is said before a state sink is filled`() throws {
        let stage = Stage(remembers: true)
        let publisher = stage.publisher
        let said = Lock<JournalID?>(nil)
        publisher.state.withLock { state in
            state.whileFilling = {
                let progress = publisher.state.withLock { $0.progress[Stage.events] }
                said.withLock { $0 = $0 ?? progress?.journal }
            }
        }
        try begin(stage)
        try stage.run { _ in
            try eventually("filled") { !publisher.values("states").isEmpty }
        }
        #expect(said.withLock { $0 } == stage.journal.id)
    }

    @Test func `a key never goes back, though its account changes while its sink is filled`() throws
    {
        let stage = Stage()
        stage.sinks = [SinkPlan(name: Stage.events, role: .events(nil))]
        try begin(stage)
        stage.sinks.append(SinkPlan(name: Stage.states, role: .state))
        let (world, journal) = (stage.world, stage.journal)
        stage.publisher.state.withLock { state in
            state.whileFilling = {
                for status in ["expired", "active", "revoked"] {
                    let count = journal.events("a").count
                    world.set("key-of-a", "c1", status)
                    #expect(throws: Never.self) {
                        try eventually("journaled") { journal.events("a").count > count }
                    }
                }
            }
        }
        try stage.run { _ in
            try eventually("filled") { !stage.publisher.values("states").isEmpty }
            try change(stage, times: 2)
            try eventually("told") {
                stage.publisher.values("states").last?.contains("\"sequence\":5") == true
            }
        }
        let records = stage.publisher.state.withLock { $0.records[Stage.states] ?? [] }
        let numbers = records.compactMap { $0.value.flatMap { StateRecord(parsing: $0) }?.sequence }
        #expect(numbers == [3, 4, 5])
        #expect(try stage.delivered("a").count == 5)
    }
}
