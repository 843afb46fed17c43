import ConnectionEvents
import RelayCore
import Testing
import Threading

@testable import RelayRuntime

/// What the poll loop knows for the brake: the fleet that is asked, and the open holds.
@Suite struct PollLoopBrakeTests {
    /// Eight accounts with one row each, walked until nothing is new.
    private func fleet(_ brake: Brake? = Brake(), of count: Int = 8) throws -> Bench {
        let bench = Bench(brake: brake)
        for number in 0..<count { try bench.add("a\(number)", ["c1": "active"]) }
        try bench.start()
        bench.settle()
        return bench
    }

    private func empty(_ bench: Bench, _ numbers: Range<Int>) {
        for number in numbers { bench.world.put("key-of-a\(number)", [:]) }
    }

    @Test func `one list that turns empty among others is believed, after its confirmations`()
        throws
    {
        let bench = try fleet()
        empty(bench, 3..<4)
        bench.settle()
        #expect(bench.journal.types("a3") == ["connection.unlinked"])
        #expect(bench.journal.events.count == 1)
        #expect(bench.loop.figures.holds.values.allSatisfy { $0 == 0 })
    }

    @Test func `lists that turn empty together are held, and nothing is removed`() throws {
        let bench = try fleet()
        empty(bench, 0..<8)
        bench.settle(40)
        #expect(Set(bench.journal.events.map(\.type)) == [.accountHeld])
        #expect(bench.loop.figures.holds[.fleet] == 8)
        for number in 0..<8 {
            bench.world.put("key-of-a\(number)", ["c1": "active"])
        }
        bench.settle(40)
        #expect(bench.journal.types("a0") == ["account.held", "account.released"])
        #expect(bench.loop.figures.holds[.fleet] == 0)
    }

    @Test func `a fleet of fewer than six is not asked, and without a brake nobody is`() throws {
        let few = try fleet(of: 5)
        empty(few, 0..<5)
        few.settle()
        #expect(Set(few.journal.events.map(\.type)) == [.unlinked])
        let free = try fleet(nil)
        empty(free, 0..<8)
        free.settle()
        #expect(Set(free.journal.events.map(\.type)) == [.unlinked])
        #expect(free.journal.events.count == 8)
    }

    @Test func `a removal waits for five others to be sealed since its first sight`() throws {
        let bench = try fleet()
        for number in 1..<8 { bench.world.answer("key-of-a\(number)", .silence) }
        bench.turn()
        // Stamps are of milliseconds: what was sealed in the same one counts as since.
        let now = RelayClock.wall
        while RelayClock.wall <= now {}
        empty(bench, 0..<1)
        bench.settle(40)
        #expect(bench.journal.types("a0").isEmpty)
        for number in 1..<6 { bench.world.answer("key-of-a\(number)", .truth) }
        bench.settle(40)
        #expect(bench.journal.types("a0") == ["connection.unlinked"])
    }

    @Test func `an account that is paused or gone is not asked`() throws {
        for isPaused in [true, false] {
            let bench = try fleet(of: 6)
            bench.world.answer("key-of-a5", .silence)
            let id = try account("a5")
            if isPaused { bench.register.pause(id) } else { bench.register.remove(id) }
            try bench.readRegister()
            empty(bench, 0..<1)
            bench.settle(40)
            #expect(bench.journal.types("a0") == ["connection.unlinked"], "\(isPaused)")
        }
    }

    @Test func `after a restart the others' lacking rows and the open holds are remembered`()
        throws
    {
        let bench = try fleet()
        empty(bench, 0..<8)
        // One walk each: missed, not yet confirmed.
        while bench.journal.content.withLock({ content in
            content.beliefs.values.contains { $0.head.missingRows == 0 }
        }) { bench.settle(1) }
        try bench.crash()
        bench.settle(40)
        #expect(Set(bench.journal.events.map(\.type)) == [.accountHeld])
        try bench.crash()
        #expect(bench.loop.figures.holds[.fleet] == 8)
    }

    @Test func `an order ends the hold that it names, in the figures too`() throws {
        let bench = try fleet()
        empty(bench, 0..<8)
        bench.settle(40)
        let id = try account("a2")
        let hold = try #require(bench.journal.belief("a2")?.head.hold?.id)
        let order = HoldOrder(number: 1, account: id, hold: hold, action: .release)
        bench.loop.post(.orders([order, order]))
        bench.settle()
        #expect(
            bench.journal.types("a2") == [
                "account.held", "account.released", "connection.unlinked",
            ])
        #expect(bench.loop.figures.holds[.fleet] == 7)
        #expect(bench.inconsistency() == nil)
    }

    @Test func `an account that is removed takes its hold out of the figures, in silence`() throws {
        let bench = try fleet()
        empty(bench, 0..<8)
        bench.settle(40)
        bench.register.remove(try account("a2"))
        try bench.readRegister()
        bench.settle()
        #expect(bench.journal.types("a2") == ["account.held", "account.removed"])
        #expect(bench.loop.figures.holds[.fleet] == 7)
    }
}
