import ConnectionEvents
import JSON
import RelayCore
import Testing

@Suite struct BlindTests {
    private func blind(_ event: ConnectionEvent?) throws -> AccountChange {
        guard case .account(let change)? = event?.content else { throw Missed(what: "blind") }
        return change
    }

    @Test func `the second refusal in a row is account.blind, once, with the latest and the first`()
        throws
    {
        var story = try Story(baseline: [row("a", "active")])
        #expect(story.refuse(401).isEmpty)
        #expect(story.belief.wantsConfirmation && story.belief.isOpen)
        let events = story.refuse(403, code: "insufficient_scope", scope: "connections:read")
        #expect(events.short == ["blind"])
        #expect(events[0].kind == .change)
        #expect(events[0].time == Story.decided(3))
        #expect(events[0].decidedAt == Story.decided(3))
        #expect(
            try blind(events.first)
                == .blind(
                    status: 403, code: "insufficient_scope", requiredScope: "connections:read",
                    since: Story.seal(2)))
        #expect(try story.states.isEmpty, "nothing is said of rows")
        let evidence = try JSONValue(parsing: #require(story.decision.entries[0].evidence))
        #expect(
            evidence["requests"]?.arrayValue?.map(\.stringValue) == ["req_2", "req_3"],
            "what was refused can be quoted to the vendor")
        #expect(story.refuse().isEmpty)
        #expect(story.decision.isEmpty)
        #expect(!story.belief.wantsConfirmation)
        #expect(story.belief.isOpen)
    }

    @Test func `of many refusals that count for nothing yet the latest ten are kept`() throws {
        var story = try Story(baseline: [row("a", "active")])
        for _ in 0..<15 { story.refuse(fleet: .fleetRefused) }
        let refusal = try #require(story.belief.head.refusal)
        #expect(refusal.count == 15)
        #expect(refusal.requests == (7...16).map { "req_\($0)" })
        #expect(BeliefHead(json: story.belief.head.json) == story.belief.head)
    }

    @Test func `a sealed walk resets the count`() throws {
        var story = try Story(baseline: [row("a", "active")])
        story.refuse()
        #expect(story.list(row("a", "active")).isEmpty)
        #expect(story.decision.headChanged)
        #expect(story.refuse().isEmpty)
        #expect(story.refuse().short == ["blind"])
    }

    @Test func `a new credential resets the count, the same one does not`() throws {
        var story = try Story(baseline: [])
        #expect(story.belief.useCredential(tag: [1]).headChanged)
        story.refuse()
        #expect(story.belief.useCredential(tag: [1]).isEmpty)
        #expect(story.belief.head.refusal?.count == 1)
        #expect(story.belief.useCredential(tag: [2]).headChanged)
        #expect(story.refuse().isEmpty)
        #expect(story.refuse().short == ["blind"])
    }

    @Test func `only a sealed walk ends blindness, not a new credential`() throws {
        var story = try Story(baseline: [])
        story.refuse()
        story.refuse()
        _ = story.belief.useCredential(tag: [2])
        #expect(story.belief.head.blindSince == Story.seal(2))
        let events = story.list()
        #expect(events.short == ["restored"])
        #expect(events[0].time == Story.decided(4))
        // From the first refusal, sealed 1 s into walk 2, to the decision, 2 s into walk 4.
        #expect(try blind(events.first) == .restored(blindFor: .seconds(21)))
        #expect(story.list().isEmpty)
        #expect(!story.belief.isOpen)
    }

    @Test(arguments: [FleetVerdict.tooFewHeard, .fleetRefused])
    func `as long as the others do not speak for it, an account is not blind`(
        verdict: FleetVerdict
    ) throws {
        var story = try Story(baseline: [])
        for _ in 0..<4 { #expect(story.refuse(fleet: verdict).isEmpty) }
        #expect(story.belief.head.refusal?.count == 4)
        #expect(story.belief.wantsConfirmation)
        #expect(
            try blind(story.refuse(fleet: .thisAccount).first)
                == .blind(
                    status: 401, code: "invalid_key", requiredScope: nil, since: Story.seal(2)))
    }

    @Test func `the first refusal is never blindness, whatever the others say`() throws {
        var story = try Story(baseline: [])
        #expect(story.refuse(fleet: .thisAccount).isEmpty)
    }

    @Test func `blindness says nothing of connections: what changed meanwhile is told after`()
        throws
    {
        var story = try Story(baseline: [row("a", "active")])
        story.refuse()
        story.refuse()
        let events = story.list(row("a", "expired"))
        #expect(events.short == ["restored", "failing a"])
        #expect(
            try events[1].change.changedBetween
                == ChangeWindow(after: Story.start(1), before: Story.seal(4)))
    }
}

@Suite struct ChangedRulesTests {
    private let rows = [
        row("a", "active"), row("b", "odd"), row("c", "pending"), row("d", "expired"),
        row("e", nil),
    ]

    @Test func `rows whose health moves tell status_changed of kind resync, without a walk`() throws
    {
        var story = try Story(baseline: rows)
        let events = story.rejudge(
            Detection(healthy: ["odd"], pending: ["active"], otherStatus: .unrecognised))
        #expect(events.short == ["status_changed a", "status_changed b", "status_changed c"])
        for event in events {
            #expect(event.kind == .resync)
            #expect(event.time == Story.decided(2))
            #expect(event.decidedAt == Story.decided(2))
            let change = try event.change
            #expect(change.changed == ["health"])
            #expect(change.changedBetween == nil)
            #expect(change.walk == nil)
            #expect(!change.userActionable)
            #expect(change.previous?.status == change.connection.status)
        }
        let changes = try events.map { try $0.change }
        #expect(changes.map(\.connection.health) == [.pending, .healthy, .unrecognised])
        #expect(changes.map(\.previous?.health) == [.healthy, .failing, .pending])
    }

    @Test func `the state record follows: number, standing, since; the walk behind it stays`()
        throws
    {
        var story = try Story(baseline: [row("b", "odd"), row("a", "active")])
        story.rejudge(Detection(otherStatus: .unrecognised))
        let states = try story.states
        #expect(states.map(\.key) == ["acct/b"])
        let record = try #require(states[0].record)
        #expect(record.sequence == 1)
        #expect(record.observedAt == Story.seal(1))
        #expect(record.since == Story.decided(2))
        #expect(record.standing == .failing, "unrecognised leaves the standing")
        #expect(record.connection.health == .unrecognised)
    }

    @Test func `changed rules set the standing silently`() throws {
        var story = try Story(baseline: [row("b", "odd")])
        story.rejudge(Detection(healthy: ["active", "odd"]))
        #expect(story.list(row("b", "active")).short == ["status_changed b"])
        #expect(story.list(row("b", "expired")).short == ["failing b"])
    }

    @Test func `rules that move no health tell nothing, and are remembered`() throws {
        var story = try Story(baseline: rows)
        let rules = Detection(failing: ["expired", "odd"])
        #expect(story.rejudge(rules).isEmpty)
        #expect(story.decision.headChanged)
        #expect(story.decision.changedRows.isEmpty)
        #expect(story.rejudge(rules).isEmpty)
        #expect(story.decision.isEmpty)
    }

    @Test func `confirmations and baseline are no other rules; every list and otherStatus is`() {
        let rules = Detection()
        #expect(Detection(baseline: .publish, confirmations: 7).digest == rules.digest)
        let others = [
            Detection(healthy: ["ok"]), Detection(pending: ["ok"]), Detection(failing: ["ok"]),
            Detection(otherStatus: .unrecognised), Detection(healthy: []),
            Detection(healthy: ["active", "pending"], pending: ["connecting", "linking"]),
        ]
        #expect(Set(others.map(\.digest) + [rules.digest]).count == 7)
    }

    @Test func `an account without a baseline takes the rules and tells nothing`() throws {
        var story = try Story()
        #expect(story.rejudge(Detection(healthy: ["ok"])).isEmpty)
        #expect(story.list(row("a", "ok")).isEmpty)
        #expect(story.belief.rows["a"]?.standing == .healthy)
    }
}

@Suite struct AccountRemovalTests {
    @Test func `a removed account is told, then each of its rows has a tombstone`() throws {
        var story = try Story(baseline: [row("b", "active"), row("a", "expired")])
        let events = story.remove()
        #expect(events.short == ["removed"])
        #expect(events[0].kind == .change)
        #expect(events[0].time == events[0].decidedAt)
        #expect(events[0].sequence == 1)
        #expect(story.decision.entries.map { $0.event != nil } == [true, false, false])
        #expect(try story.states.map(\.key) == ["acct/a", "acct/b"])
        #expect(try story.states.map(\.record) == [nil, nil])
        #expect(story.belief.rows.isEmpty)
    }
}

@Suite struct EventIdentityTests {
    @Test func `numbers have no gap, ids are distinct, and the same history gives the same ids`()
        throws
    {
        func tell() throws -> [ConnectionEvent] {
            var story = try Story(Detection(baseline: .publish, confirmations: 1))
            var events = story.list(row("a", "active"), row("b", "odd"))
            events += story.list(row("a", "expired"))
            events += story.refuse()
            events += story.refuse()
            events += story.list(row("a", "active"), row("b", "odd"))
            events += story.rejudge(Detection(otherStatus: .unrecognised))
            events += story.remove()
            return events
        }
        let events = try tell()
        #expect(events.map(\.sequence) == Array(1...Int64(events.count)))
        #expect(Set(events.map(\.id)).count == events.count)
        #expect(
            events.allSatisfy { $0.id.traceparent != nil && $0.epoch == 1000 && $0.lane == .raw })
        #expect(try tell() == events)
    }

    @Test func `account, epoch, number and walk each make another id`() throws {
        func first(account: String, epoch: Int64, walk: Int64) throws -> EventID {
            var story = try Story(Detection(baseline: .publish), epoch: epoch)
            story.belief = Belief(
                meeting: try #require(AccountID(account)), epoch: epoch, incarnation: 1,
                rules: story.rules)
            story.walks = walk
            return try #require(story.list(row("a", "active")).first).id
        }
        let ids = try [
            first(account: "x", epoch: 1, walk: 1), first(account: "y", epoch: 1, walk: 1),
            first(account: "x", epoch: 2, walk: 1), first(account: "x", epoch: 1, walk: 2),
        ]
        #expect(Set(ids).count == 4)
    }
}
