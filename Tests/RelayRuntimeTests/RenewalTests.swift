import ConnectionEvents
import RelayCore
import Testing
import Threading

@testable import RelayRuntime

@Suite struct RenewalTests {
    /// A relay that has told of a change of `a`, and is stopped.
    private func begin(_ stage: Stage) throws {
        try stage.add("a", ["c1": "active", "c2": "active", "c3": "active"])
        try stage.add("b", ["d1": "expired"])
        try stage.run { _ in
            try eventually("baselines") {
                stage.journal.belief("a") != nil && stage.journal.belief("b") != nil
            }
            stage.world.set("key-of-a", "c1", "expired")
            try eventually("told") { try stage.delivered("a") == ["connection.failing"] }
        }
    }

    /// The journal file is gone; another one has the accounts of the file.
    private func lose(_ stage: Stage) {
        stage.journal.content.withLock { content in
            content = FakeJournal.Content(id: JournalID("journal-2"))
        }
    }

    /// Runs it until it finds that its journal does not fit, renews it, and says what it was.
    private func renew(_ stage: Stage) throws -> Misfit {
        let relay = try stage.relay()
        try relay.start()
        _ = try #require(relay.failure(within: .seconds(60)))
        relay.stop(within: .seconds(10))
        let misfit = try #require(relay.misfit)
        if misfit.cause != .foreign { try stage.renewal().run(misfit) }
        return misfit
    }

    private func events(_ stage: Stage, _ id: String) throws -> [ConnectionEvent] {
        try stage.publisher.values("events").map { try ConnectionEvent(parsing: Array($0.utf8)) }
            .filter { $0.account.text == id }
    }

    @Test func `a lost journal goes on from the state topic, in a new epoch`() throws {
        let stage = Stage()
        try begin(stage)
        let old = try #require(try events(stage, "a").last?.epoch)
        lose(stage)
        stage.world.set("key-of-a", "c1", "active")
        stage.world.set("key-of-a", "c2", "revoked")
        stage.world.put("key-of-a", ["c1": "active", "c2": "revoked"])
        let asked = stage.world.asked("key-of-a")
        #expect(try renew(stage).cause == .lost)
        #expect(stage.world.asked("key-of-a") == asked, "nothing is walked before it is mended")
        try stage.run { _ in
            try eventually("told") { try events(stage, "a").count == 5 }
        }
        let told = try events(stage, "a").dropFirst()
        #expect(
            told.map(\.type) == [.accountResynced, .repaired, .failing, .unlinked])
        #expect(told.map(\.sequence) == [1, 2, 3, 4])
        #expect(Set(told.map(\.epoch)).count == 1)
        #expect(try #require(told.first).epoch > old)
        #expect(try events(stage, "b").map(\.type) == [.accountResynced])
        // The broker knows the renewed journal now.
        let progress = stage.publisher.state.withLock { $0.progress[Stage.events] }
        #expect(progress?.journal == stage.journal.id)
        try stage.run { _ in try stage.walks(2, of: "key-of-a") }
        #expect(try events(stage, "a").count == 5)
    }

    @Test func `a restored journal sends nothing that it still had to send`() throws {
        let stage = Stage()
        try begin(stage)
        let backup = stage.journal.content.withLock { $0 }
        try stage.run { _ in
            stage.world.set("key-of-a", "c1", "active")
            try eventually("told") { try stage.delivered("a").count == 2 }
        }
        stage.journal.content.withLock { $0 = backup }
        // The broker is away, and the old journal goes on by itself for a while.
        stage.publisher.leave(true)
        try stage.run { _ in
            try eventually("journaled") { stage.journal.events("a").count == 2 }
        }
        stage.publisher.leave(false)
        let delivered = stage.publisher.values("events").count
        #expect(try renew(stage).cause == .restored)
        #expect(stage.publisher.values("events").count == delivered)
        try stage.run { _ in try stage.walks(3, of: "key-of-a") }
        let told = try events(stage, "a")
        #expect(told.map(\.type) == [.failing, .repaired, .accountResynced])
        #expect(told.last?.sequence == 1)
        #expect(told.last?.content == .account(.resynced(reason: "restore")))
    }

    /// A journal of which an older copy was put back, with the broker away.
    ///
    /// The accounts file still has the account that came since: its rows come to the same position.
    private func putBack() throws -> Stage {
        let stage = Stage()
        try begin(stage)
        let backup = stage.journal.content.withLock { $0 }
        try stage.add("c", ["e1": "active"])
        try stage.run { _ in
            try eventually("baseline") {
                stage.publisher.values("states").contains { $0.contains("\"e1\"") }
            }
        }
        stage.journal.content.withLock { $0 = backup }
        stage.publisher.leave(true)
        return stage
    }

    @Test func `what is written before the broker tells does not hide that a copy is older`() throws
    {
        let stage = try putBack()
        let relay = try stage.relay()
        try relay.start()
        try eventually("baseline") { stage.journal.belief("c") != nil }
        stage.publisher.leave(false)
        _ = relay.failure(within: .seconds(60))
        relay.stop(within: .seconds(10))
        #expect(relay.misfit?.cause == .restored)
    }

    @Test func `nor does a restart before the broker tells`() throws {
        let stage = try putBack()
        // It comes to the same position with the same record, and dies.
        try stage.run { _ in
            try eventually("baseline") { stage.journal.belief("c") != nil }
        }
        stage.publisher.leave(false)
        #expect(try renew(stage).cause == .restored)
        // The next life has nothing to be in doubt about.
        try stage.run { _ in try stage.walks(2, of: "key-of-a") }
        #expect(stage.journal.content.withLock { $0.unheard.isEmpty })
        try stage.run { _ in try stage.walks(2, of: "key-of-a") }
    }

    @Test func `nothing is published before it is noted that the broker has told`() throws {
        let stage = Stage()
        try begin(stage)
        stage.publisher.leave(true)
        try stage.run { _ in
            stage.world.set("key-of-a", "c1", "active")
            try eventually("journaled") { stage.journal.events("a").count == 2 }
        }
        stage.publisher.leave(false)
        let failure = JournalFailure(kind: .failed, code: "io", reason: "the disk failed")
        stage.journal.content.withLock { $0.placeFailure = failure }
        let delivered = stage.publisher.values("events").count
        try stage.run { _ in
            try eventually("tried") { stage.publisher.state.withLock { $0.opens } > 1 }
            #expect(stage.publisher.values("events").count == delivered)
            stage.journal.content.withLock { $0.placeFailure = nil }
            try eventually("told") { try stage.delivered("a").count == 2 }
        }
    }

    @Test func `a copy that differs by a state record alone is noticed too`() throws {
        let stage = Stage()
        try begin(stage)
        // The last thing published is an event; here a quiet record stands at its place.
        stage.journal.content.withLock { content in
            content.entries[content.entries.count - 1].event = nil
        }
        #expect(try renew(stage).cause == .restored)
    }

    @Test func `another journal that is not empty is an operator's matter`() throws {
        let stage = Stage()
        try begin(stage)
        stage.journal.content.withLock { $0.id = JournalID("another") }
        let misfit = try renew(stage)
        #expect(misfit.cause == .foreign)
        #expect(stage.journal.id == JournalID("another"))
        // Told to take over, it is treated like a restored one.
        try stage.renewal().run(misfit)
        try stage.run { _ in
            try eventually("told") { try events(stage, "a").count == 2 }
        }
        #expect(try events(stage, "a").last?.content == .account(.resynced(reason: "restore")))
    }

    @Test func `of a journal that does not fit no local sink is told anything`() throws {
        let stage = Stage()
        try begin(stage)
        stage.journal.content.withLock { $0.id = JournalID("another") }
        stage.world.set("key-of-a", "c1", "revoked")
        let output = SinkName("log")
        // What it has still to send to this sink is of another life.
        try stage.journal.setPlaces([output: .start])
        let local = FakePublisher(journal: stage.journal, remembers: false)
        let routes =
            stage.routes + [
                Route(
                    publisher: local, sinks: [SinkPlan(name: output, role: .events(nil))],
                    sorts: [output: "log"], remembersPlaces: false)
            ]
        let relay = try Relay(
            Relay.Parts(
                settings: stage.settings, journal: stage.journal, register: stage.register,
                transport: FakeTransport(stage.world), routes: routes, log: stage.log))
        try relay.start()
        _ = try #require(relay.failure(within: .seconds(60)))
        relay.stop(within: .seconds(10))
        #expect(relay.misfit?.cause == .foreign)
        #expect(local.values("log").isEmpty)
    }

    @Test func `who dies after the renewal goes on, and who dies before begins again`() throws {
        let stage = Stage()
        try begin(stage)
        lose(stage)
        // The state topic cannot be read to its end: nothing has changed.
        let relay = try stage.relay()
        try relay.start()
        _ = relay.failure(within: .seconds(60))
        relay.stop(within: .seconds(10))
        let misfit = try #require(relay.misfit)
        stage.publisher.leave(true)
        let failure = try #require(throws: PublishFailure.self) {
            try stage.renewal().run(misfit)
        }
        #expect(failure == FakePublisher.away)
        #expect(stage.journal.content.withLock { $0.beliefs.isEmpty && $0.entries.isEmpty })
        stage.publisher.leave(false)
        #expect(try renew(stage).cause == .lost)
        // Renewed, and the broker has not been told yet.
        let id = stage.journal.id
        for _ in 0..<2 {
            stage.publisher.leave(true)
            try stage.run { _ in
                try eventually("tried") { stage.publisher.state.withLock { $0.opens } > 0 }
            }
            stage.publisher.leave(false)
        }
        try stage.run { _ in
            try eventually("told") { try events(stage, "a").count == 2 }
        }
        #expect(stage.journal.id == id)
    }

    @Test func `without a state sink, or with one that was never whole, a quiet baseline`() throws {
        for hasSink in [false, true] {
            let stage = Stage()
            if !hasSink { stage.sinks.removeLast() }
            try begin(stage)
            lose(stage)
            if hasSink { stage.publisher.state.withLock { $0.progress[Stage.states] = nil } }
            stage.world.put("key-of-a", ["c1": "active"])
            #expect(try renew(stage).cause == .lost)
            try stage.run { _ in
                try eventually("baseline") { stage.journal.belief("a")?.head.isBaselined == true }
                try stage.walks(2, of: "key-of-a")
                try eventually("told") { try events(stage, "a").count == 2 }
            }
            #expect(try events(stage, "a").map(\.type) == [.failing, .accountResynced])
        }
    }

    /// A journal that was lost and began anew while account b was not in the register.
    private func renewedWithoutB() throws -> Stage {
        let stage = Stage()
        try begin(stage)
        lose(stage)
        let b = try account("b")
        stage.register.remove(b)
        stage.register.forget(b, try #require(stage.register[b]).incarnation)
        #expect(try renew(stage).cause == .lost)
        return stage
    }

    @Test func `an account that is in the register only later goes on from what is remembered`()
        throws
    {
        let stage = try renewedWithoutB()
        let b = try account("b")
        stage.world.put("key-of-b", ["d1": "active"])
        try stage.run { relay in
            try stage.walks(2, of: "key-of-a")
            #expect(try events(stage, "b").isEmpty)
            stage.register.add(b, key: "key-of-b")
            relay.readRegister()
            try eventually("told") { try events(stage, "b").count == 2 }
        }
        #expect(try events(stage, "b").map(\.type) == [.accountResynced, .repaired])
    }

    @Test func `an account that comes later has its state records in the new epoch at once`()
        throws
    {
        let stage = try renewedWithoutB()
        let b = try account("b")
        try stage.run { relay in
            try stage.walks(1, of: "key-of-a")
            stage.register.add(b, key: "key-of-b")
            relay.readRegister()
            try eventually("met") { try !events(stage, "b").isEmpty }
            let epoch = try #require(stage.journal.belief("b")).head.epoch
            try eventually("told") {
                let records = stage.publisher.state.withLock { $0.records[Stage.states] ?? [] }
                let last = records.last { $0.key == "b/d1" }?.value.map {
                    String(decoding: $0, as: UTF8.self)
                }
                return last?.contains("\"epoch\":\(epoch)") ?? false
            }
        }
        #expect(try events(stage, "b").map(\.type) == [.accountResynced], "nothing changed")
    }

    @Test func `one that is removed before it was ever met leaves no record behind`() throws {
        let stage = try renewedWithoutB()
        let b = try account("b")
        try stage.run { relay in
            try stage.walks(1, of: "key-of-a")
            stage.register.add(b, key: "key-of-b", paused: true)
            relay.readRegister()
            stage.register.remove(b)
            relay.readRegister()
            try eventually("told") { try events(stage, "b").count == 2 }
            try eventually("forgotten") {
                let records = stage.publisher.state.withLock { $0.records[Stage.states] ?? [] }
                return records.last { $0.key == "b/d1" }?.value == nil
            }
        }
        #expect(try events(stage, "b").map(\.type) == [.accountResynced, .accountRemoved])
    }

    @Test func `an epoch is larger than any that was told, whatever the wall clock says`() throws {
        let stage = Stage()
        try begin(stage)
        lose(stage)
        let future = RelayClock.wall.milliseconds + 1_000_000
        stage.publisher.state.withLock { $0.progress[Stage.events]?.epoch = future }
        #expect(try renew(stage).cause == .lost)
        let head = try #require(stage.journal.belief("a")).head
        #expect(head.epoch > future)
        let resynced = try #require(stage.journal.events("a").last)
        #expect(resynced.decidedAt.milliseconds > future)
    }

    @Test func `a state sink is filled with the new epoch, and when its place was pruned`() throws {
        let stage = Stage()
        try begin(stage)
        lose(stage)
        #expect(try renew(stage).cause == .lost)
        try stage.run { _ in
            try eventually("filled") {
                stage.publisher.state.withLock { $0.progress[Stage.states]?.journal }
                    == stage.journal.id
            }
        }
        let epoch = try #require(stage.journal.belief("a")).head.epoch
        let last = stage.publisher.values("states").suffix(4)
        #expect(last.allSatisfy { $0.contains("\"epoch\":\(epoch)") })
        // Entries beyond its place are gone: what they said is told by filling.
        let count = stage.publisher.values("states").count
        stage.journal.content.withLock { content in
            content.base = content.head.number + 5
            content.entries = []
        }
        try stage.run { _ in
            try eventually("filled") { stage.publisher.values("states").count == count + 4 }
        }
    }
}
