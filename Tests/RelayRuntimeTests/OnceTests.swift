import ConnectionEvents
import RelayCore
import RelayRuntime
import Testing
import Threading

@testable import RelayRuntime

/// `run --once`: one walk of every account.
@Suite struct OnceTests {
    private func once(
        _ stage: Stage, patience: Duration = .seconds(60), _ body: (Relay) throws -> Void = { _ in }
    ) throws -> (Relay.OnceResult, PublishFailure?) {
        let relay = try stage.relay()
        try relay.start(once: true, brokerPatience: patience)
        try body(relay)
        let result = relay.finishOnce(patience: patience)
        return (result, relay.failure(within: .zero))
    }

    @Test func `every account is walked once, and what was found is delivered`() throws {
        let stage = Stage()
        for id in ["a", "b", "c"] { try stage.add(id, ["c1": "active"]) }
        try stage.add("paused", ["c1": "active"], paused: true)
        try stage.add("gone", ["c1": "active"])
        stage.register.remove(try account("gone"))
        let (result, failure) = try once(stage)
        #expect(result == Relay.OnceResult(sealed: 3, unsealed: 0, isDelivered: true))
        #expect(failure == nil)
        #expect(stage.publisher.values("states").count == 3)
        #expect(try stage.delivered("gone") == ["account.removed"])
        #expect(stage.world.asked("key-of-a") == 1)
        #expect(stage.world.asked("key-of-paused") == 0)
        #expect(stage.journal.content.withLock { $0.marks.count } == 3)
    }

    @Test func `without accounts it is over at once`() throws {
        let (result, _) = try once(Stage())
        #expect(result == Relay.OnceResult(sealed: 0, unsealed: 0, isDelivered: true))
    }

    @Test func `accounts that fail are counted, each walked once`() throws {
        let stage = Stage()
        for id in ["a", "b", "c", "d", "e"] { try stage.add(id, ["c1": "active"]) }
        stage.world.answer("key-of-b", .failure(code: "reset"))
        stage.world.answer("key-of-c", .throttled(seconds: 60))
        stage.world.answer("key-of-d", .status(200, #"{"data":[{}]}"#))
        stage.world.answer("key-of-e", World.refusal)
        let (result, _) = try once(stage)
        #expect(result == Relay.OnceResult(sealed: 1, unsealed: 4, isDelivered: true))
        for id in ["a", "b", "c", "d", "e"] { #expect(stage.world.asked("key-of-\(id)") == 1) }
    }

    @Test func `refusals and confirmations are counted from round to round`() throws {
        let stage = Stage()
        try stage.add("a", ["c1": "active", "c2": "active"])
        try stage.add("b", ["c1": "active"])
        _ = try once(stage)
        stage.world.set("key-of-a", "c2", nil)
        stage.world.answer("key-of-b", World.refusal)
        _ = try once(stage)
        #expect(stage.journal.events.isEmpty)
        #expect(stage.journal.belief("b")?.head.refusal?.count == 1)
        let (result, _) = try once(stage)
        #expect(result.unsealed == 1)
        #expect(stage.journal.types("a") == ["connection.unlinked"])
        #expect(stage.journal.types("b") == ["account.blind"])
        // A blind account is refused without a judge, and ends the round all the same.
        #expect(try once(stage).0.unsealed == 1)
        stage.world.answer("key-of-b", .truth)
        #expect(try once(stage).0.unsealed == 0)
        #expect(stage.journal.types("b") == ["account.blind", "account.restored"])
    }

    @Test func `refusals are judged when all others have answered`() throws {
        let stage = Stage()
        let ids = (1...6).map { "a\($0)" }
        for id in ids { try stage.add(id, ["c1": "active"]) }
        _ = try once(stage)
        stage.world.answer("key-of-a1", World.refusal)
        _ = try once(stage)
        #expect(stage.journal.belief("a1")?.head.refusal?.count == 1)
        for id in ids.dropFirst() { stage.world.answer("key-of-\(id)", .silence) }
        _ = try once(stage) { _ in
            try eventually("refused") { stage.world.asked("key-of-a1") == 3 }
            #expect(stage.journal.events.isEmpty)
            for id in ids.dropFirst() { stage.world.answer("key-of-\(id)", .truth) }
        }
        #expect(stage.journal.types("a1") == ["account.blind"])
    }

    @Test func `when most are refused, nobody is blind in any round`() throws {
        let stage = Stage()
        let ids = (1...6).map { "a\($0)" }
        for id in ids { try stage.add(id, ["c1": "active"]) }
        _ = try once(stage)
        for id in ids { stage.world.answer("key-of-\(id)", World.refusal) }
        for _ in 0..<3 {
            #expect(
                try once(stage).0
                    == Relay.OnceResult(sealed: 0, unsealed: 6, isDelivered: true))
        }
        #expect(stage.journal.events.isEmpty)
        for id in ids.dropFirst(2) { stage.world.answer("key-of-\(id)", .truth) }
        _ = try once(stage)
        #expect(Set(stage.journal.events.map(\.account.text)) == ["a1", "a2"])
    }

    @Test func `with a full journal no account counts as sealed that had something to write`()
        throws
    {
        let stage = Stage()
        try stage.add("a", ["c1": "active"])
        stage.journal.fill(true)
        let (result, _) = try once(stage)
        #expect(result == Relay.OnceResult(sealed: 0, unsealed: 1, isDelivered: true))
    }

    @Test func `an empty journal gives up on a broker that is away, and walks nothing`() throws {
        let stage = Stage()
        try stage.add("a", ["c1": "active"])
        stage.publisher.leave(true)
        let (result, failure) = try once(stage, patience: .milliseconds(300))
        #expect(result.sealed == 0)
        #expect(failure?.kind == .unavailable)
        #expect(stage.world.asked("key-of-a") == 0)
    }

    @Test func `with a journal the broker may be away: walked, and delivered another time`() throws
    {
        let stage = Stage()
        try stage.add("a", ["c1": "active"])
        _ = try once(stage)
        stage.world.set("key-of-a", "c1", "expired")
        stage.publisher.leave(true)
        let (result, failure) = try once(stage, patience: .milliseconds(300))
        #expect(result == Relay.OnceResult(sealed: 1, unsealed: 0, isDelivered: false))
        #expect(failure == nil)
        stage.publisher.leave(false)
        #expect(try once(stage).0.isDelivered)
        #expect(try stage.delivered("a") == ["connection.failing"])
    }

    @Test func `a round that is abandoned counts what it did not walk`() throws {
        let stage = Stage()
        try stage.add("a", ["c1": "active"])
        try stage.add("b", ["c1": "active"])
        stage.world.answer("key-of-b", .silence)
        let (result, _) = try once(stage) { relay in
            try eventually("one is sealed") { stage.journal.belief("a") != nil }
            try eventually("it is told") { relay.status.poll.walks["sealed"] == 1 }
            relay.abandonOnce()
        }
        #expect(result == Relay.OnceResult(sealed: 1, unsealed: 1, isDelivered: true))
    }

    @Test func `a round can be abandoned while it waits for the broker`() throws {
        let stage = Stage()
        try stage.add("a", ["c1": "active"])
        stage.publisher.leave(true)
        let (result, _) = try once(stage) { relay in
            relay.abandonOnce()
            stage.publisher.leave(false)
        }
        #expect(result.sealed == 0)
        #expect(result.unsealed == 1)
        #expect(stage.world.asked("key-of-a") == 0)
    }

    @Test func `a round keeps to the accounts that were there when it began`() throws {
        let bench = Bench(once: 2)
        for id in ["a", "b"] {
            try bench.add(id, ["c1": "active"])
            bench.world.answer("key-of-\(id)", .silence)
        }
        try bench.start()
        bench.turn()
        bench.register.remove(try account("a"))
        bench.register.pause(try account("b"))
        try bench.add("c", [:])
        try bench.readRegister()
        for id in ["a", "b"] { bench.world.answer("key-of-\(id)", .truth) }
        bench.settle()
        #expect(bench.transport.isStopped)
        #expect(bench.loop.once?.sealed == 2)
        #expect(bench.world.asked("key-of-c") == 0)
    }
}
