import ConnectionEvents
import Foundation
import JSON
import RelayCore
import RelayRuntime
import Testing
import Threading

/// The whole relay, its threads included, with fakes around it.
@Suite struct RelayTests {
    @Test func `changes are told in order and delivered once, with their states`() throws {
        let stage = Stage()
        try stage.add("a", ["c1": "active", "c2": "active"])
        try stage.run { _ in
            try stage.walks(1, of: "key-of-a")
            stage.world.set("key-of-a", "c1", "expired")
            try eventually("failing") { try stage.delivered("a").count == 1 }
            stage.world.set("key-of-a", "c1", "active")
            try eventually("repaired") { try stage.delivered("a").count == 2 }
            stage.world.set("key-of-a", "c2", nil)
            try eventually("unlinked") { try stage.delivered("a").count == 3 }
        }
        #expect(
            try stage.delivered("a")
                == ["connection.failing", "connection.repaired", "connection.unlinked"])
        #expect(stage.publisher.values("states").count == 5)
        #expect(stage.publisher.values("states").last == "null")
        let positions = stage.publisher.positions("events")
        #expect(positions == positions.sorted())
        #expect(stage.journal.events("a").map(\.sequence) == [1, 2, 3])
    }

    @Test(arguments: [Detection.BaselinePolicy.quiet, .publish])
    func `a baseline gives state records, and events only if asked for`(
        policy: Detection.BaselinePolicy
    ) throws {
        let stage = Stage()
        stage.settings.detection.baseline = policy
        try stage.add("a", ["c1": "active", "c2": "expired"])
        try stage.run { _ in
            try eventually("states") { stage.publisher.values("states").count == 2 }
            try stage.walks(2, of: "key-of-a")
        }
        let expected = policy == .quiet ? [] : Array(repeating: "connection.baseline", count: 2)
        #expect(stage.journal.types("a") == expected)
    }

    @Test func `a list of several pages is read whole, at each change of any page`() throws {
        let stage = Stage()
        let rows = (0..<7).map { ("c\($0)", "active") }
        try stage.add("a", Dictionary(uniqueKeysWithValues: rows))
        stage.world.cut("key-of-a", pageSize: 2)
        try stage.run { relay in
            try eventually("baseline") { stage.journal.belief("a")?.rows.count == 7 }
            try stage.walks(8, of: "key-of-a")
            try eventually("unchanged") { relay.status.poll.walks["unchanged", default: 0] > 0 }
            stage.world.set("key-of-a", "c6", "expired")
            try eventually("told") { try stage.delivered("a") == ["connection.failing"] }
        }
        // Each page of a walk has an id of its own, and none is used twice.
        let ids = stage.transport.requestIDs
        #expect(Set(ids).count == ids.count)
        #expect(ids.prefix(4).map { $0.suffix(2) } == [".1", ".2", ".3", ".4"])
    }

    @Test func `removed and added again: removed, then a larger epoch and a baseline`() throws {
        let stage = Stage()
        try stage.add("a", ["c1": "active"])
        try stage.run { relay in
            try eventually("baseline") { stage.journal.belief("a") != nil }
            let epoch = try #require(stage.journal.belief("a")?.head.epoch)
            stage.register.remove(try account("a"))
            relay.readRegister()
            try eventually("removed") { try stage.delivered("a") == ["account.removed"] }
            #expect(stage.register[try account("a")] == nil)
            try stage.add("a", ["c2": "active"])
            relay.readRegister()
            try eventually("met again") { stage.journal.belief("a") != nil }
            #expect(try #require(stage.journal.belief("a")?.head.epoch) > epoch)
            try eventually("states") { stage.publisher.values("states").count == 3 }
        }
        #expect(try stage.delivered("a") == ["account.removed"])
        #expect(stage.publisher.values("states")[1] == "null")
    }

    @Test func `the relay sees what changed in the register by itself`() throws {
        let stage = Stage()
        try stage.run { relay in
            try stage.add("a", ["c1": "active"])
            try eventually("walked") { stage.journal.belief("a") != nil }
            stage.register.pause(try account("a"))
            try eventually("paused") { relay.status.poll.paused == 1 }
            let asked = stage.world.asked("key-of-a")
            stage.world.set("key-of-a", "c1", "expired")
            try stage.add("b", ["c1": "active"])
            try eventually("another is walked") { stage.journal.belief("b") != nil }
            try stage.walks(5, of: "key-of-b")
            #expect(stage.world.asked("key-of-a") == asked)
            stage.register.pause(try account("a"), false)
            try eventually("told") { try stage.delivered("a") == ["connection.failing"] }
        }
    }

    @Test func `a new credential is walked at once, and so is a hint`() throws {
        let stage = Stage()
        stage.settings.schedule.slowest = .seconds(3600)
        stage.settings.schedule.fastest = .seconds(3000)
        try stage.add("a", ["c1": "active"])
        try stage.run { relay in
            try eventually("walked") { stage.journal.belief("a") != nil }
            stage.world.put("new", ["c1": "expired"])
            stage.register.give(try account("a"), key: "new")
            relay.readRegister()
            try eventually("told") { try stage.delivered("a") == ["connection.failing"] }
            stage.world.set("new", "c1", "active")
            relay.hasten(try account("a"))
            try eventually("told") { try stage.delivered("a").last == "connection.repaired" }
            relay.hasten(try account("nobody"))
        }
    }

    @Test func `of six accounts one is blind when it alone is refused, and none when most are`()
        throws
    {
        let stage = Stage()
        let ids = (1...6).map { "a\($0)" }
        for id in ids { try stage.add(id, ["c1": "active"]) }
        try stage.run { relay in
            try eventually("all sealed") { ids.allSatisfy { stage.journal.belief($0) != nil } }
            let keys = ids.map { "key-of-\($0)" }
            stage.world.answer(Array(keys.prefix(4)), World.refusal)
            try eventually("fleet refused") {
                relay.status.reasons.contains { $0.code == "fleet_refused" }
            }
            try stage.walks(4, of: "key-of-a1")
            #expect(stage.journal.events.isEmpty)
            stage.world.answer(Array(keys.dropFirst()), .truth)
            try eventually("blind") { try stage.delivered("a1") == ["account.blind"] }
            try eventually("ready") { relay.status.reasons.isEmpty }
            stage.world.answer("key-of-a1", .truth)
            relay.hasten(try account("a1"))
            try eventually("restored") { try stage.delivered("a1").last == "account.restored" }
        }
        #expect(Set(stage.journal.events.map(\.account.text)) == ["a1"])
    }

    @Test func `with a full journal nothing is believed, and it recovers by itself`() throws {
        let stage = Stage()
        try stage.add("a", ["c1": "active"])
        try stage.run { relay in
            try eventually("baseline") { stage.journal.belief("a") != nil }
            stage.journal.fill(true)
            stage.world.set("key-of-a", "c1", "expired")
            try eventually("stalled") {
                relay.status.reasons.map(\.code).contains("journal_stalled")
            }
            try stage.walks(2, of: "key-of-a")
            #expect(stage.journal.events.isEmpty)
            #expect(stage.journal.belief("a")?.rows.values.first?.shown.status == "active")
            stage.journal.fill(false)
            try eventually("told") { try stage.delivered("a") == ["connection.failing"] }
            try eventually("ready") { relay.status.reasons.isEmpty }
        }
        // However many walks met it, a person reads it once, and that it is over.
        let lines = stage.lines.withLock { $0 }.filter { $0.contains("the journal can") }
        #expect(lines.count == 2, "\(lines)")
        #expect(lines.first?.contains("cannot be used") == true)
        #expect(lines.last?.contains("can be written again") == true)
    }

    @Test func `after a restart the same bytes are not judged again, and after is not later`()
        throws
    {
        let stage = Stage()
        try stage.add("a", ["c1": "active"])
        try stage.run { _ in
            try eventually("baseline") { stage.journal.belief("a") != nil }
            try stage.walks(3, of: "key-of-a")
        }
        let mark = try #require(stage.journal.content.withLock { $0.marks[try account("a")] })
        let commits = stage.journal.content.withLock { $0.commits }
        try stage.run { relay in
            try stage.walks(3, of: "key-of-a")
            try eventually("unchanged") { relay.status.poll.walks["unchanged", default: 0] > 1 }
            #expect(relay.status.poll.walks["sealed"] == nil)
            #expect(stage.journal.content.withLock { $0.commits } == commits)
        }
        stage.world.set("key-of-a", "c1", "expired")
        let last = try #require(stage.journal.content.withLock { $0.marks[try account("a")] })
        #expect(last.walk.start >= mark.walk.start)
        try stage.run { _ in
            try eventually("told") { try stage.delivered("a").count == 1 }
        }
        guard case .connection(let change) = stage.journal.events[0].content else {
            throw InVain(description: "an event of a connection")
        }
        #expect(change.changedBetween?.after == last.walk.start)
    }

    @Test func `beliefs of accounts that are in no register end as removals`() throws {
        let stage = Stage()
        try stage.add("a", ["c1": "active"])
        try stage.add("b", ["c1": "active"])
        try stage.run { _ in
            try eventually("baselines") {
                stage.journal.belief("a") != nil && stage.journal.belief("b") != nil
            }
        }
        // As after a crash between the register's change and the journal's.
        stage.register.remove(try account("a"))
        stage.register.forget(
            try account("a"), try #require(stage.register[try account("a")]).incarnation)
        try stage.run { _ in
            try eventually("removed") { try stage.delivered("a") == ["account.removed"] }
        }
        #expect(stage.journal.belief("a") == nil)
        #expect(stage.journal.belief("b") != nil)
    }

    @Test func `under changed rules all rows are judged anew, without a walk`() throws {
        let stage = Stage()
        try stage.add("a", ["c1": "odd", "c2": "active"])
        try stage.run { _ in
            try eventually("baseline") { stage.journal.belief("a") != nil }
        }
        stage.settings.detection.healthy = ["active", "odd"]
        stage.world.answer("key-of-a", .silence)
        try stage.run { _ in
            try eventually("told") { try stage.delivered("a") == ["connection.status_changed"] }
        }
        #expect(stage.journal.events.map(\.kind) == [.resync])
    }

    @Test func `epochs grow and stamps do not run backwards, whatever the clock did`() throws {
        let stage = Stage()
        try stage.add("a", ["c1": "active"])
        let future = RelayClock.wall.adding(.seconds(3600))
        stage.journal.content.withLock { $0.lastEpoch = future.milliseconds }
        try stage.run { _ in
            try eventually("baseline") { stage.journal.belief("a") != nil }
            stage.world.set("key-of-a", "c1", "expired")
            try eventually("told") { stage.journal.events.count == 1 }
        }
        #expect(stage.journal.events[0].epoch > future.milliseconds)
        #expect(stage.journal.events[0].decidedAt >= future)
        // A belief whose walk is of the future is a floor, too.
        let walk = WalkID(start: future.adding(.seconds(3600)), random: (1, 1))
        stage.journal.content.withLock { content in
            for id in content.beliefs.keys { content.beliefs[id]?.head.lastSealed = walk }
        }
        stage.world.set("key-of-a", "c1", "active")
        try stage.run { _ in try eventually("told") { stage.journal.events.count == 2 } }
        #expect(stage.journal.events[1].decidedAt >= walk.start)
    }

    @Test func `no line of the log and no reason holds a credential`() throws {
        let stage = Stage()
        let secret = "sk_live_CANARY_0123456789"
        stage.world.put(secret, ["c1": "active"])
        let id = try account("a")
        stage.register.add(id, key: secret)
        try stage.run { relay in
            try eventually("baseline") { stage.journal.belief("a") != nil }
            for answer: World.Answer in [
                World.refusal, .failure(code: "reset"), .status(200, "<html>"),
                .status(500, secret), .throttled(seconds: 0), .truth,
            ] {
                stage.world.answer(secret, answer)
                relay.hasten(id)
                try eventually("asked") {
                    relay.status.poll.walks.values.reduce(0, +) > 1
                }
                stage.publisher.leave(true)
                stage.journal.fill(true)
                stage.world.set(secret, "c1", "\(answer)")
                let asked = stage.world.asked(secret)
                try eventually("walked twice") {
                    relay.hasten(id)
                    return stage.world.asked(secret) > asked + 1
                }
                stage.publisher.leave(false)
                stage.journal.fill(false)
            }
            stage.register.give(id, key: secret + "-2")
            relay.readRegister()
            stage.register.remove(id)
            relay.readRegister()
            try eventually("removed") { stage.journal.types("a").last == "account.removed" }
            #expect(!"\(relay.status)".contains("CANARY"))
        }
        let lines = stage.lines.withLock { $0 }
        #expect(lines.count > 4)
        #expect(!lines.contains { $0.contains("CANARY") })
        #expect(!stage.publisher.values("events").contains { $0.contains("CANARY") })
    }
}
