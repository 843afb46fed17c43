import ConnectionEvents
import RelayCore
import Testing
import Threading

@testable import RelayRuntime

/// Watched accounts in poll loop and judge.
@Suite struct PollLoopLinkTests {
    private func open(
        _ bench: Bench, _ account: String, _ number: Int64, reconnecting: String? = nil,
        lifetime: Duration = .seconds(600)
    ) throws -> LinkWatch {
        let now = bench.loop.clock.wall
        let watch = LinkWatch(
            number: number, account: try #require(AccountID(account)),
            attempt: AttemptHash(state: "s\(number)"), platform: "youtube",
            reconnecting: reconnecting.flatMap { ConnectionID($0) }, openedAt: now,
            expiresAt: now.adding(lifetime))
        bench.journal.content.withLock { $0.links.append(watch) }
        bench.loop.post(.watches([watch]))
        return watch
    }

    private func bench() throws -> Bench {
        let bench = Bench()
        for name in ["a", "b"] { try bench.add(name, ["c1": "active"]) }
        try bench.start()
        bench.settle()
        return bench
    }

    @Test func `a new row of a watched account names the attempt, and the watch ends`() throws {
        let bench = try bench()
        let watch = try open(bench, "a", 1)
        bench.turn()
        #expect(bench.loop.isWatched(watch.account))
        #expect(bench.loop.paces.values.map(\.open.count) == [1])
        bench.world.set("key-of-a", "c2", "active")
        bench.settle()
        let event = try #require(bench.journal.events("a").last)
        #expect(event.type == .linked)
        guard case .connection(let change) = event.content else { throw Unexpected() }
        #expect(change.attempt == watch.attempt)
        #expect(!bench.loop.isWatched(watch.account))
        #expect(bench.judge.published.withLock { $0.links } == [.linked: 1])
    }

    @Test func `a watched account is judged though its bytes are the same`() throws {
        let bench = try bench()
        _ = try open(bench, "a", 1, lifetime: .milliseconds(-1))
        bench.settle()
        #expect(bench.journal.content.withLock { $0.links.map(\.outcome) } == [.abandoned])
        #expect(!bench.loop.isWatched(try #require(AccountID("a"))))
        #expect(bench.journal.events("a").isEmpty)
    }

    @Test func `watches of the life before are taken up again`() throws {
        let bench = try bench()
        let watch = try open(bench, "a", 1, reconnecting: "c1")
        bench.world.set("key-of-a", "c1", "expired")
        bench.settle()
        try bench.crash()
        bench.loop.post(.watches(try bench.journal.openLinks(of: watch.account)))
        bench.world.set("key-of-a", "c1", "active")
        bench.settle()
        #expect(
            bench.journal.types("a") == ["connection.failing", "connection.repaired"])
        #expect(bench.journal.content.withLock { $0.links.map(\.outcome) } == [.repaired])
    }

    @Test func `what cannot be committed leaves the watch open`() throws {
        let bench = try bench()
        let watch = try open(bench, "a", 1)
        bench.journal.fill(true)
        bench.world.set("key-of-a", "c2", "active")
        bench.settle()
        #expect(bench.loop.isWatched(watch.account))
        bench.journal.fill(false)
        bench.settle()
        #expect(bench.journal.content.withLock { $0.links.map(\.outcome) } == [.linked])
    }

    @Test func `an account that leaves the register ends its watches`() throws {
        let bench = try bench()
        let watch = try open(bench, "a", 1)
        bench.turn()
        bench.register.remove(watch.account)
        try bench.readRegister()
        bench.settle()
        #expect(bench.journal.content.withLock { $0.links.map(\.outcome) } == [.removed])
        #expect(!bench.loop.isWatched(watch.account))
        #expect(bench.inconsistency() == nil)
    }

    @Test func `watches of accounts that nobody walks do no harm`() throws {
        let bench = try bench()
        _ = try open(bench, "nobody", 1)
        bench.register.pause(try #require(AccountID("b")), true)
        try bench.readRegister()
        _ = try open(bench, "b", 2)
        bench.settle()
        #expect(bench.inconsistency() == nil)
        #expect(bench.loop.paces.values.map(\.open.count) == [1])
    }

    private struct Unexpected: Error {}
}
