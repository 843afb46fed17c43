import ConnectionEvents
import Crypto
import RelayCore
import Testing
import Threading

@testable import RelayRuntime

/// Accounts of people: walked with what the desk gives, and blind only by its last word.
@Suite struct PollLoopPeopleTests {
    private let bearers = FakeBearers()
    private let bench: Bench

    init() throws {
        bench = Bench(bearers: bearers)
        bench.world.put("t1", ["c1": "active"])
        bench.world.put("t2", ["c1": "active"])
    }

    private func start(token: String = "", life: Duration = .zero) throws {
        bench.register.add(try account("a"), person: "p", token: token, life: life)
        try bench.start()
    }

    /// Turns and answers, and answers each question for a token by a failure.
    private func settle(failing kind: BearerFailure.Kind, _ code: String, _ rounds: Int = 12) {
        for _ in 0..<rounds {
            bench.settle(1)
            bearers.fail(kind, code)
        }
        bench.turn()
    }

    @Test func `a walk waits for its token, asks once, and begins when it is there`() throws {
        try start()
        bench.settle(5)
        #expect(bearers.asked == 1)
        #expect(bench.transport.asking.isEmpty)
        #expect(bench.world.asked("t1") == 0)
        #expect(bench.inconsistency() == nil)
        bearers.give("t1")
        bench.settle()
        #expect(bench.world.asked("t1") > 1)
        #expect(bearers.asked == 1)
        #expect(bench.loop.figures.walks["sealed"] == 1)
        #expect(bench.inconsistency() == nil)
    }

    @Test func `a token that serves is used without a question`() throws {
        try start(token: "t1", life: .seconds(3600))
        bench.settle()
        #expect(bearers.asked == 0)
        #expect(bench.world.asked("t1") > 1)
    }

    @Test func `near its end a token is renewed beside the walks`() throws {
        try start(token: "t1", life: .zero)
        let id = try account("a")
        bench.register.change(id) { account in
            account.person?.bearer.usableUntil = RelayClock.wall.adding(.seconds(3600))
        }
        try bench.readRegister()
        bench.loop.people[0]?.times.usableUntil = RelayClock.wall.adding(.seconds(3600))
        bench.settle()
        #expect(bearers.asked == 1)
        #expect(bench.world.asked("t1") > 1, "the old one serves meanwhile")
        bearers.give("t2")
        bench.settle()
        #expect(bench.world.asked("t2") > 1)
        #expect(bearers.asked == 1)
    }

    @Test(arguments: [BearerFailure.Kind.unavailable, .signInAgain])
    func `what fails while the token serves changes nothing`(_ kind: BearerFailure.Kind) throws {
        try start(token: "t1", life: .zero)
        bench.loop.people[0]?.times.usableUntil = RelayClock.wall.adding(.seconds(3600))
        settle(failing: kind, "invalid_grant")
        #expect(bearers.asked == 1, "not asked again and again")
        #expect(bench.world.asked("t1") > 5)
        #expect(bench.loop.figures.failing == 0)
        #expect(bench.journal.types("a") == [])
    }

    @Test func `a provider that is away is an ordinary failure, never blindness`() throws {
        try start()
        settle(failing: .unavailable, "sign_in_unavailable", 30)
        #expect(bench.loop.figures.dueSince != nil, "readiness tells that nothing is read")
        #expect(bearers.asked > 2)
        #expect(bench.loop.figures.walks["sign_in_unavailable"] ?? 0 > 2)
        #expect(bench.loop.figures.walks["refused"] == nil)
        #expect(bench.loop.figures.blind == 0)
        #expect(bench.journal.types("a") == [])
        bearers.give("t1")
        bench.settle()
        bearers.give("t1")
        bench.settle()
        #expect(bench.loop.figures.failing == 0)
        #expect(bench.inconsistency() == nil)
    }

    @Test func `sign in again is a refusal, and the second in a row is blindness`() throws {
        try start()
        bench.turn()
        bearers.give("t1")
        bench.settle()
        bench.loop.people[0]?.times = .over
        settle(failing: .signInAgain, "invalid_grant", 30)
        #expect(bench.journal.types("a") == ["account.blind"])
        #expect(bench.loop.figures.blind == 1)
        #expect(bench.inconsistency() == nil)
        bearers.give("t2")
        bench.settle()
        bearers.give("t2")
        bench.settle()
        #expect(bench.journal.types("a") == ["account.blind", "account.restored"])
    }

    @Test func `a token that the API refuses is renewed before the next walk`() throws {
        bench.world.put("good", ["c1": "active"])
        try start(token: "unknown", life: .seconds(3600))
        bench.settle()
        let question = try #require(bearers.open.first)
        #expect(question.rejected == Secret("unknown"))
        #expect(bench.loop.figures.walks["refused"] == 1)
        bearers.give("good")
        bench.settle()
        #expect(bench.world.asked("good") > 0)
        #expect(bench.loop.figures.blind == 0)
        #expect(bench.journal.types("a") == [])
    }

    @Test func `a provider that gives the refused token once more is asked once a walk`() throws {
        try start(token: "unknown", life: .seconds(3600))
        for _ in 0..<30 {
            bench.settle(1)
            bearers.give("unknown")
        }
        bench.turn()
        let refused = try #require(bench.loop.figures.walks["refused"])
        #expect(refused > 1)
        #expect(bearers.asked <= refused)
        #expect(bench.journal.types("a") == ["account.blind"], "it is the API that refuses it")
        #expect(bench.inconsistency() == nil)
    }

    @Test func `the same person again walks at once with the new token`() throws {
        try start()
        settle(failing: .signInAgain, "invalid_grant", 30)
        let asked = bearers.asked
        bench.register.change(try account("a")) { account in
            account.credential = Secret("t2")
            account.person = PersonTimes(bearer: FakeBearers.times(.seconds(3600)), number: 2)
        }
        try bench.readRegister()
        bench.settle()
        #expect(bench.world.asked("t2") > 0)
        #expect(bearers.asked <= asked + 1)
        #expect(bench.journal.types("a").last == "account.restored")
        #expect(bench.inconsistency() == nil)
    }

    @Test func `an answer to a question of before another person's sign-in is void`() throws {
        try start()
        bench.turn()
        #expect(bearers.open.count == 1)
        bench.register.change(try account("a")) { account in
            account.credential = Secret("")
            account.credentialTag = Array("q".utf8)
            account.person = PersonTimes(bearer: .over, number: 1)
        }
        try bench.readRegister()
        bearers.give("t1")
        bench.settle()
        #expect(bench.world.asked("t1") == 0)
        bearers.give("t2")
        bench.settle()
        #expect(bench.world.asked("t2") > 0)
        #expect(bench.world.asked("t1") == 0)
        #expect(bench.inconsistency() == nil)
    }

    @Test(arguments: ["pause", "key", "remove"])
    func `a walk that waits for its token is dropped when its account changes`(
        _ change: String
    ) throws {
        try start()
        bench.settle(2)
        let id = try account("a")
        switch change {
        case "pause": bench.register.pause(id)
        case "key":
            bench.register.change(id) { account in
                account.credential = Secret("t2")
                account.credentialTag = [7]
                account.person = nil
            }
        default: bench.register.remove(id)
        }
        try bench.readRegister()
        bench.settle(3)
        bearers.give("t1")
        bench.settle()
        #expect(bench.world.asked("t1") == 0)
        #expect((bench.world.asked("t2") > 0) == (change == "key"))
        #expect(bench.inconsistency() == nil)
    }

    @Test func `many tokens at once wait for free places`() throws {
        let bench = Bench(places: 4, bearers: bearers)
        bench.world.put("t1", ["c1": "active"])
        for number in 0..<50 {
            bench.register.add(try account("a\(number)"), person: "p\(number)")
        }
        try bench.start()
        bench.settle(60)
        #expect(bearers.asked == 50)
        bearers.give("t1")
        bench.turn()
        #expect(bench.transport.asking.count == 4)
        bench.settle(100)
        #expect(bench.loop.figures.walks["sealed"] == 50)
        #expect(bench.inconsistency() == nil)
    }

    @Test func `a round of once waits for tokens, and ends`() throws {
        let bench = Bench(once: 2, bearers: bearers)
        bench.world.put("t1", ["c1": "active"])
        bench.register.add(try account("a"), person: "p")
        bench.register.add(try account("b"), person: "q")
        try bench.start()
        bench.settle(3)
        #expect(bearers.asked == 2)
        #expect(!bench.transport.isStopped)
        bearers.give("t1")
        bench.settle()
        #expect(bench.loop.once?.sealed == 2)
        #expect(bench.transport.isStopped)
    }
}
