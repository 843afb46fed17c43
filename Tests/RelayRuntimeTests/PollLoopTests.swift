import ConnectionEvents
import Crypto
import RelayCore
import Testing
import Threading

@testable import RelayRuntime

@Suite struct PollLoopTests {
    @Test func `an unchanged walk reaches neither judge nor journal`() throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        try bench.start()
        bench.settle()
        let commits = bench.journal.content.withLock { $0.commits }
        bench.settle(40)
        #expect(bench.journal.content.withLock { $0.commits } == commits)
        #expect(bench.loop.figures.walks["unchanged", default: 0] > 20)
        #expect(bench.loop.figures.walks["sealed"] == 1)
        #expect(bench.inconsistency() == nil)
    }

    @Test(arguments: ["pause", "key", "remove", "again"])
    func `a walk in flight is dropped when its account changes`(change: String) throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        try bench.start()
        bench.settle()
        bench.turn()
        let token = try #require(bench.transport.asking.keys.first)
        let id = try account("a")
        switch change {
        case "pause": bench.register.pause(id)
        case "key":
            bench.world.put("new", ["c1": "active"])
            bench.register.give(id, key: "new")
        case "remove": bench.register.remove(id)
        default:
            bench.register.remove(id)
            bench.register.add(id, key: "key-of-a")
        }
        bench.world.set("key-of-a", "c1", "expired")
        try bench.readRegister()
        bench.turn()
        #expect(bench.loop.figures.walks["dropped"] == 1)
        if bench.transport.asking[token] == nil {
            // What comes late is nobody's answer.
            bench.loop.answer(token, 200, #"{"data":[]}"#)
            bench.loop.failed(token, PageFailure(code: "reset", reason: "late"))
        }
        #expect(bench.inconsistency() == nil)
        if change == "key" {
            #expect(bench.transport.asking[token]?.credential.reveal() == "new")
        }
        bench.settle()
        #expect(bench.inconsistency() == nil)
        #expect(bench.journal.types("a").first != "connection.failing")
    }

    @Test func `changes during a judgement wait for it, and the latest counts`() throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        try bench.start()
        bench.turn()
        bench.answer(WalkToken(try bench.slot("a")))
        #expect(try bench.polled("a").isJudging)
        let id = try account("a")
        bench.register.pause(id)
        try bench.readRegister()
        bench.turn()
        bench.register.pause(id, false)
        bench.register.give(id, key: "new")
        bench.world.put("new", ["c1": "active"])
        try bench.readRegister()
        bench.turn()
        #expect(bench.loop.deferred.count == 1)
        bench.judgeSome()
        bench.turn()
        #expect(bench.loop.deferred.isEmpty)
        #expect(try bench.polled("a").credential.reveal() == "new")
        #expect(try !bench.polled("a").isPaused)
        bench.settle()
        #expect(bench.inconsistency() == nil)
    }

    @Test func `removed while the judge has it: told once, and its slot is free`() throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        try bench.start()
        bench.turn()
        bench.answer(WalkToken(try bench.slot("a")))
        bench.register.remove(try account("a"))
        try bench.readRegister()
        bench.turn()
        bench.settle()
        #expect(bench.journal.types("a") == ["account.removed"])
        #expect(bench.journal.belief("a") == nil)
        #expect(bench.loop.slots.isEmpty)
        #expect(bench.loop.freeSlots == [0])
        #expect(bench.register[try account("a")] == nil)
    }

    @Test func `removed, added and removed again before the journal forgot it: gone for good`()
        throws
    {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        try bench.start()
        bench.settle()
        let id = try account("a")
        bench.register.remove(id)
        try bench.readRegister()
        bench.turn()
        bench.register.add(id, key: "key-of-a")
        try bench.readRegister()
        bench.turn()
        bench.register.remove(id)
        try bench.readRegister()
        bench.turn()
        bench.settle()
        #expect(bench.register[id] == nil)
        #expect(bench.loop.slots.isEmpty)
        #expect(bench.inconsistency() == nil)
    }

    @Test func `removed and added again: the old epoch ends before the new one is walked`() throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        try bench.start()
        bench.settle()
        let epoch = try #require(bench.journal.belief("a")?.head.epoch)
        let id = try account("a")
        bench.register.remove(id)
        bench.register.add(id, key: "key-2")
        bench.world.put("key-2", ["c9": "active"])
        bench.world.answer("key-2", .failure(code: "reset"))
        try bench.readRegister()
        bench.settle()
        #expect(bench.journal.types("a") == ["account.removed"])
        #expect(bench.journal.belief("a") == nil)
        bench.world.answer("key-2", .truth)
        bench.loop.post(.hasten(id))
        bench.settle(40)
        let belief = try #require(bench.journal.belief("a"))
        #expect(belief.head.epoch > epoch)
        #expect(belief.head.sequence == 0)
        #expect(belief.rows.keys.map(\.text) == ["c9"])
    }

    @Test func `an account that waits for its removal is not walked, hastened or counted`() throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        bench.register.remove(try account("a"))
        try bench.start()
        bench.loop.post(.hasten(try account("a")))
        bench.turn()
        #expect(bench.transport.asking.isEmpty)
        #expect(bench.loop.figures.firstRoundLeft == 0)
        #expect(bench.inconsistency() == nil)
        bench.settle()
        #expect(bench.journal.types("a") == ["account.removed"])
        #expect(bench.register[try account("a")] == nil)
    }

    @Test func `a paused account is not walked, and leaves every figure but its own`() throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        bench.world.answer("key-of-a", World.refusal)
        try bench.start()
        bench.settle()
        #expect(bench.loop.figures.blind == 1)
        #expect(bench.loop.figures.failing == 1)
        bench.register.pause(try account("a"))
        try bench.readRegister()
        bench.settle()
        #expect(bench.loop.figures.blind == 0)
        #expect(bench.loop.figures.failing == 0)
        #expect(bench.loop.figures.paused == 1)
        #expect(bench.transport.asking.isEmpty)
        bench.register.pause(try account("a"), false)
        bench.world.answer("key-of-a", .truth)
        try bench.readRegister()
        bench.settle()
        #expect(bench.journal.types("a") == ["account.blind", "account.restored"])
        #expect(bench.inconsistency() == nil)
    }

    @Test func `a blind account is waited for by no readiness`() throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        bench.world.answer("key-of-a", .failure(code: "reset"))
        try bench.start()
        bench.settle(2)
        #expect(bench.loop.figures.dueSince != nil)
        bench.world.answer("key-of-a", World.refusal)
        bench.settle(30)
        #expect(bench.journal.types("a") == ["account.blind"])
        #expect(bench.loop.figures.dueSince == nil)
    }

    /// How a command takes an account's credential out of use.
    enum Farewell: CaseIterable {
        case pause, removal, otherKey, otherAccount

        func say(to id: AccountID, in register: FakeRegister) {
            switch self {
            case .pause: register.pause(id)
            case .removal: register.remove(id)
            case .otherKey: register.give(id, key: "another")
            case .otherAccount:
                register.remove(id)
                register.add(id, key: "another")
            }
        }
    }

    @Test(
        "a refusal counts for nothing once a command took the credential out of use",
        arguments: Farewell.allCases)
    func farewell(_ way: Farewell) throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        try bench.add("b", ["c1": "active"])
        bench.world.put("another", ["c1": "active"])
        try bench.start()
        bench.settle()
        // The relay has not looked at its register yet, and walks on.
        way.say(to: try account("a"), in: bench.register)
        bench.world.answer("key-of-a", World.refusal)
        for _ in 0..<5 { bench.settle(1) }
        #expect(bench.world.asked("key-of-a") > 3)
        #expect(bench.journal.belief("a")?.head.refusal == nil)
        #expect(bench.journal.types("a").isEmpty)
        #expect(bench.loop.figures.failing == 0)
        #expect(bench.loop.figures.walks["refused"] == nil)
        #expect(bench.inconsistency() == nil)
        try bench.readRegister()
        bench.settle()
        #expect(!bench.journal.types("a").contains("account.blind"))
        #expect(bench.loop.figures.paused == (way == .pause ? 1 : 0))
        #expect(bench.inconsistency() == nil)
    }

    @Test func `a refusal counts again once the register's change is known`() throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        try bench.start()
        bench.settle()
        bench.world.answer("key-of-a", World.refusal)
        // Its labels, say.
        bench.register.change(try account("a")) { _ in }
        bench.settle(3)
        #expect(bench.journal.types("a").isEmpty)
        try bench.readRegister()
        bench.settle(3)
        #expect(bench.journal.types("a") == ["account.blind"])
    }

    @Test func `a new credential resets the count of refusals`() throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        bench.world.answer("key-of-a", World.refusal)
        try bench.start()
        bench.settle(1)
        #expect(bench.journal.belief("a")?.head.refusal?.count == 1)
        bench.world.put("new", [:])
        bench.world.answer("new", World.refusal)
        bench.register.give(try account("a"), key: "new")
        try bench.readRegister()
        bench.settle(1)
        #expect(bench.journal.belief("a")?.head.refusal?.count == 1)
        #expect(bench.journal.types("a").isEmpty)
        bench.settle(1)
        #expect(bench.journal.types("a") == ["account.blind"])
    }

    @Test
    func `with a full journal nothing is believed, and the change is told when there is room`()
        throws
    {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        try bench.start()
        bench.settle()
        bench.journal.fill(true)
        bench.world.set("key-of-a", "c1", "expired")
        bench.settle(5)
        #expect(bench.journal.events.isEmpty)
        #expect(bench.judge.published.withLock { $0.failure } == FakeJournal.full)
        #expect(bench.loop.figures.failing == 0)
        bench.journal.fill(false)
        try eventually("the change is told") {
            bench.settle(1)
            return bench.journal.types("a") == ["connection.failing"]
        }
        #expect(bench.judge.published.withLock { $0.failure } == nil)
    }

    @Test func `a walk that writes nothing does not pass for a journal that can be written`()
        throws
    {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        try bench.add("b", ["c1": "active", "c2": "active"])
        try bench.start()
        bench.settle()
        bench.journal.fill(true)
        bench.world.set("key-of-a", "c1", "expired")
        bench.settle(3)
        bench.world.answer("key-of-a", .silence)
        // Other bytes of the same meaning: judged, and nothing to write.
        bench.world.cut("key-of-b", pageSize: 1)
        bench.settle(6)
        #expect(bench.judge.published.withLock { $0.failure } == FakeJournal.full)
    }

    @Test func `an unwritten refusal counts for nothing`() throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        try bench.start()
        bench.settle()
        bench.journal.fill(true)
        bench.world.answer("key-of-a", World.refusal)
        bench.settle(2)
        #expect(try bench.polled("a").refusalSince == nil)
        #expect(bench.journal.belief("a")?.head.refusal == nil)
        #expect(bench.inconsistency() == nil)
    }

    @Test func `a removal outlasts a full journal`() throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        try bench.start()
        bench.settle()
        bench.journal.fill(true)
        bench.register.remove(try account("a"))
        try bench.readRegister()
        bench.settle(4)
        #expect(bench.register[try account("a")]?.isRemoving == true)
        bench.journal.fill(false)
        bench.settle(4)
        #expect(bench.journal.types("a") == ["account.removed"])
        #expect(bench.register[try account("a")] == nil)
        #expect(bench.loop.slots.isEmpty)
    }

    @Test func `marks are taken once each`() throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        try bench.start()
        bench.settle(1)
        #expect(bench.loop.takeMarks().count == 1)
        #expect(bench.loop.takeMarks().isEmpty)
        bench.settle(3)
        let walk = try bench.polled("a").lastSealed
        #expect(bench.loop.takeMarks().values.map(\.walk) == [walk])
    }

    @Test func `with every place taken no walk begins`() throws {
        let bench = Bench(places: 2)
        for id in ["a", "b", "c", "d"] {
            try bench.add(id, [:])
            bench.world.answer("key-of-\(id)", .silence)
        }
        try bench.start()
        bench.settle(4)
        #expect(bench.transport.asking.count == 2)
        #expect(bench.loop.walks.count == 2)
    }

    @Test(arguments: [false, true])
    func `a pause does not cut short what the server asked, a new key does`(
        isRenewed: Bool
    ) throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        bench.world.answer("key-of-a", .throttled(seconds: 600))
        try bench.start()
        bench.settle(2)
        let id = try account("a")
        bench.register.pause(id)
        try bench.readRegister()
        bench.settle(2)
        if isRenewed {
            bench.world.put("new", ["c1": "active"])
            bench.register.give(id, key: "new")
            try bench.readRegister()
            bench.settle(2)
        }
        bench.register.pause(id, false)
        try bench.readRegister()
        bench.settle(4)
        #expect(bench.world.asked("key-of-a") == 1)
        #expect((bench.journal.belief("a") != nil) == isRenewed)
    }

    @Test func `an account stays blind while its restoration cannot be written`() throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        bench.world.answer("key-of-a", World.refusal)
        try bench.start()
        bench.settle()
        bench.journal.fill(true)
        bench.world.answer("key-of-a", .truth)
        bench.loop.post(.hasten(try account("a")))
        bench.settle(3)
        #expect(bench.loop.figures.walks["journal", default: 0] > 0)
        #expect(bench.loop.figures.blind == 1)
        #expect(try bench.polled("a").refusalSince != nil)
    }

    @Test func `an account that was never met and is added again was not removed`() throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        bench.world.answer("key-of-a", .silence)
        try bench.start()
        bench.settle(2)
        let id = try account("a")
        bench.register.remove(id)
        bench.register.add(id, key: "key-of-a")
        bench.world.answer("key-of-a", .truth)
        try bench.readRegister()
        bench.settle()
        #expect(bench.journal.events.isEmpty)
        #expect(bench.journal.belief("a") != nil)
    }

    @Test func `one damaged belief does not keep the others from being judged`() throws {
        let bench = Bench()
        for id in ["a", "b", "c"] { try bench.add(id, ["c1": "active"]) }
        let damaged = try account("b")
        bench.journal.content.withLock { _ = $0.unreadable.insert(damaged) }
        try bench.start()
        bench.journal.fill(true)
        bench.settle(1)
        #expect(bench.loop.judging == 0)
        bench.journal.fill(false)
        try eventually("the others are believed") {
            for id in ["a", "c"] { bench.loop.post(.hasten(try account(id))) }
            bench.settle(1)
            return bench.journal.belief("a") != nil && bench.journal.belief("c") != nil
        }
        #expect(bench.loop.figures.failing == 1)
        #expect(bench.inconsistency() == nil)
        bench.journal.content.withLock { $0.unreadable = [] }
        bench.loop.post(.hasten(damaged))
        bench.settle()
        #expect(bench.journal.belief("b") != nil)
        #expect(bench.judge.published.withLock { $0.failure } == nil)
    }

    @Test func `an account whose belief is damaged can be removed, and added again`() throws {
        let bench = Bench()
        try bench.add("a", ["c1": "active"])
        try bench.start()
        bench.settle()
        let id = try account("a")
        bench.journal.content.withLock { _ = $0.unreadable.insert(id) }
        bench.register.remove(id)
        try bench.readRegister()
        try eventually("it is removed") {
            bench.settle(1)
            return bench.journal.types("a") == ["account.removed"]
        }
        #expect(bench.journal.belief("a") == nil)
        bench.journal.content.withLock { $0.unreadable = [] }
        try bench.add("a", ["c1": "active"])
        try bench.readRegister()
        try eventually("it is believed anew") {
            bench.settle(1)
            return bench.journal.belief("a") != nil
        }
        #expect(bench.journal.types("a") == ["account.removed"])
    }

    @Test func `answers from before a restart are asked in the order in which they came`() throws {
        let bench = Bench()
        let past = RelayClock.wall.adding(.seconds(-3600))
        for id in ["a", "b", "c", "d", "e", "f", "g"] {
            try bench.add(id, [:])
            bench.world.answer("key-of-\(id)", id == "a" ? World.refusal : .silence)
            var head = BeliefHead(
                epoch: 1, incarnation: try #require(bench.register[try account(id)]).incarnation,
                rulesDigest: Detection().digest)
            head.isBaselined = true
            head.credentialTag = Array("key-of-\(id)".utf8)
            head.lastSealed = WalkID(start: past, random: (1, 1))
            if id == "a" {
                // Refused once, after all the others were sealed.
                head.refusal = Refusal(
                    count: 1, since: past.adding(.seconds(60)), status: 401, code: "invalid_key",
                    requiredScope: nil)
            }
            let belief = Belief(account: try account(id), head: head, rows: [:])
            bench.journal.content.withLock { $0.beliefs[belief.account] = belief }
        }
        try bench.start()
        bench.settle(4)
        #expect(bench.world.asked("key-of-a") > 1)
        #expect(bench.journal.events.isEmpty)
        for id in ["b", "c", "d", "e", "f", "g"] { bench.world.answer("key-of-\(id)", .truth) }
        bench.settle(4)
        #expect(bench.journal.types("a") == ["account.blind"])
    }
}
