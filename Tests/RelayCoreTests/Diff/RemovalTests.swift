import ConnectionEvents
import RelayCore
import Testing

@Suite struct RemovalTests {
    @Test(arguments: [1, 2, 3])
    func `a row is unlinked by so many sealed walks in a row without it`(confirmations: Int) throws
    {
        var story = try Story(
            Detection(confirmations: confirmations), baseline: [row("a", "active")])
        for _ in 1..<confirmations {
            #expect(story.list().isEmpty)
            #expect(story.belief.wantsConfirmation)
        }
        #expect(story.list().short == ["unlinked a"])
        #expect(story.belief.rows.isEmpty)
        #expect(!story.belief.isOpen)
        #expect(story.list().isEmpty)
    }

    @Test func `a row that shows up in between begins the count anew`() throws {
        var story = try Story(Detection(confirmations: 2), baseline: [row("a", "active")])
        for _ in 0..<3 {
            #expect(story.list().isEmpty)
            #expect(story.list(row("a", "active")).isEmpty)
        }
        #expect(story.list().isEmpty)
        #expect(story.list().short == ["unlinked a"])
    }

    @Test func `a refused walk in between neither counts nor begins the count anew`() throws {
        var story = try Story(Detection(confirmations: 2), baseline: [row("a", "active")])
        #expect(story.list().isEmpty)
        story.refuse()
        #expect(story.list().short == ["unlinked a"])
    }

    @Test func `rows go by ascending bytes of their ids, removals last`() throws {
        let ids = ["b", "é", "Z", "10", "9", "a"]
        var story = try Story(Detection(confirmations: 1), baseline: ids.map { row($0, "active") })
        let events = story.list(
            row("é", "expired"), row("9", "expired"), row("new", "active"), row("Z", "expired"))
        #expect(
            events.short == [
                "failing 9", "failing Z", "linked new", "failing é", "unlinked 10", "unlinked a",
                "unlinked b",
            ])
        #expect(events.map(\.sequence) == Array(1...7))
    }

    @Test func `restored comes first of its walk`() throws {
        var story = try Story(
            Detection(confirmations: 1), baseline: [row("a", "active"), row("b", "active")])
        story.refuse()
        #expect(story.refuse().short == ["blind"])
        #expect(story.list(row("b", "expired")).short == ["restored", "failing b", "unlinked a"])
    }

    @Test func `unlinked leaves a tombstone under the row's key`() throws {
        var story = try Story(Detection(confirmations: 1), baseline: [row("a/b", "active")])
        story.list()
        let states = try story.states
        #expect(states.map(\.key) == ["acct/a/b"])
        #expect(states[0].record == nil)
        #expect(story.decision.entries.count == 1)
    }

    @Test func `no more than a thousand unlinked rows are remembered, the oldest go first`() throws
    {
        let rows = (0..<1200).map { row("r\($0)", "active") }
        var story = try Story(Detection(confirmations: 1), baseline: rows)
        story.list()
        #expect(story.belief.head.departed.count == 1000)
        let kept = Set(rows.map(\.id).sorted().suffix(1000))
        #expect(Set(story.belief.head.departed.map(\.id)) == kept)
    }
}

@Suite struct BaselineTests {
    private let rows = [row("b", "expired"), row("a", "active"), row("c", nil, scopes: nil)]

    @Test func `a quiet baseline is believed without an event, and each row has its state record`()
        throws
    {
        var story = try Story()
        #expect(story.belief.isOpen)
        #expect(story.list(rows).isEmpty)
        let states = try story.states
        #expect(states.map(\.key) == ["acct/a", "acct/b", "acct/c"])
        for state in states {
            let record = try #require(state.record)
            #expect(record.sequence == 0)
            #expect(record.epoch == 1000)
            #expect(record.observedAt == Story.seal(1))
            #expect(record.since == nil)
        }
        #expect(states.map(\.record?.standing) == [.healthy, .failing, nil])
        #expect(states.map(\.record?.connection.health) == [.healthy, .failing, .unrecognised])
        #expect(story.belief.head.sequence == 0)
        #expect(!story.belief.isOpen)
    }

    @Test func `a published baseline tells each row, in order, and its record has the number`()
        throws
    {
        var story = try Story(Detection(baseline: .publish))
        let events = story.list(rows)
        #expect(events.short == ["baseline a", "baseline b", "baseline c"])
        #expect(events.map(\.sequence) == [1, 2, 3])
        for event in events {
            #expect(event.kind == .baseline)
            #expect(event.time == Story.seal(1))
            let change = try event.change
            #expect(change.previous == nil)
            #expect(change.changed == [])
            #expect(change.changedBetween == ChangeWindow(after: nil, before: Story.seal(1)))
            #expect(!change.userActionable)
        }
        #expect(try events.map { try $0.change.statusRecognised } == [true, true, false])
        #expect(story.decision.entries.count == 3)
        #expect(try story.states.map(\.record?.sequence) == [1, 2, 3])
        #expect(try story.states.map(\.record?.since) == [nil, nil, nil])
    }

    @Test func `an empty first list is a baseline too: what comes later is linked`() throws {
        var story = try Story()
        #expect(story.list().isEmpty)
        #expect(story.decision.headChanged)
        #expect(story.list(row("a", "active")).short == ["linked a"])
    }

    @Test func `an account that was blind before its first list is restored, then baselined`()
        throws
    {
        var story = try Story()
        story.refuse()
        #expect(story.refuse().short == ["blind"])
        #expect(story.list(rows).short == ["restored"])
        #expect(try story.states.map(\.record?.sequence) == [2, 2, 2])
        #expect(story.decision.entries.map { $0.event != nil } == [true, false, false, false])
        #expect(story.decision.entries[0].state == nil)
    }
}

@Suite struct StateRecordTests {
    @Test func `each event of a row has its record: number, seal, standing, last change of health`()
        throws
    {
        var story = try Story(baseline: [row("a", "active")])
        story.list(row("a", "active"))
        story.list(row("a", "expired"), row("b", "pending"))
        var states = try story.states
        #expect(states.map(\.key) == ["acct/a", "acct/b"])
        #expect(states.map(\.record?.sequence) == [1, 2])
        #expect(states.map(\.record?.observedAt) == [Story.seal(3), Story.seal(3)])
        #expect(states.map(\.record?.since) == [Story.seal(3), Story.seal(3)])
        #expect(states.map(\.record?.standing) == [.failing, nil])

        story.list(row("a", "revoked"), row("b", "pending", scopes: ["z"]))
        states = try story.states
        #expect(states.map(\.record?.sequence) == [3, 4])
        #expect(states.map(\.record?.observedAt) == [Story.seal(4), Story.seal(4)])
        #expect(states.map(\.record?.since) == [Story.seal(3), Story.seal(3)], "health stayed")
        #expect(states.map(\.record?.connection.status) == ["revoked", "pending"])
        #expect(states[1].record?.connection.grantedScopes == ["z"])
    }

    @Test func `walks that find nothing new write nothing`() throws {
        var story = try Story(baseline: [row("a", "active")])
        story.list(row("a", "active"))
        #expect(story.decision.isEmpty)
        #expect(story.decision.write(of: story.belief) == nil)
    }

    @Test func `what is written is the head and the rows that changed or went`() throws {
        var story = try Story(
            Detection(confirmations: 1),
            baseline: [row("a", "active"), row("b", "active"), row("c", "active")])
        story.list(row("a", "expired"), row("b", "active"))
        guard case .update(let head, let rows)? = story.decision.write(of: story.belief) else {
            Issue.record("nothing is written")
            return
        }
        #expect(head == story.belief.head)
        #expect(Set(rows.keys) == ["a", "c"])
        #expect(rows["a"] == .some(story.belief.rows["a"]))
        #expect(rows["c"] == .some(nil))
    }
}
