import ConnectionEvents
import JSON
import RelayCore
import Testing

/// The attempt on events, and what walks say of watches.
@Suite struct BeliefLinkTests {
    private let first = AttemptHash(state: "state-1")

    private func attempts(_ events: [ConnectionEvent]) throws -> [AttemptHash?] {
        try events.map { try $0.change.attempt }
    }

    @Test func `a row's events carry its attempt up to the first healthy one`() throws {
        var story = try Story(baseline: [row("c0", "active")])
        story.links = [try watch(1)]
        let met = story.list(row("c0", "active"), row("c1", "pending"))
        #expect(met.short == ["status_changed c1"])
        #expect(try attempts(met) == [first])
        #expect(story.decision.links.map(\.outcome) == [nil])
        #expect(story.belief.rows["c1"]?.attempt == first)
        let worse = story.list(row("c0", "active"), row("c1", "error"))
        #expect(worse.short == ["failing c1"])
        #expect(try attempts(worse) == [first])
        let well = story.list(row("c0", "active"), row("c1", "active"))
        #expect(well.short == ["repaired c1"])
        #expect(try attempts(well) == [first])
        #expect(story.decision.links.map(\.outcome) == [.linked])
        #expect(story.belief.rows["c1"]?.attempt == nil)
        story.links = []
        #expect(try attempts(story.list(row("c0", "active"), row("c1", "expired"))) == [nil])
    }

    @Test func `a repair carries the attempt, and other rows carry none`() throws {
        var story = try Story(baseline: [row("c1", "expired"), row("c2", "active")])
        story.links = [try watch(1, reconnecting: "c1")]
        let events = story.list(row("c1", "active"), row("c2", "expired"))
        #expect(events.short == ["repaired c1", "failing c2"])
        #expect(try attempts(events) == [first, nil])
        #expect(story.decision.links.map(\.outcome) == [.repaired])
        #expect(story.decision.links.map(\.connection) == ["c1"])
    }

    @Test func `a consent renewed for a healthy row shows by the row's state alone`() throws {
        let state: JSONObject = ["state": "state-1"]
        var story = try Story(baseline: [row("c1", "active")])
        story.links = [try watch(1, reconnecting: "c1")]
        #expect(story.list(row("c1", "active")).isEmpty)
        #expect(story.decision.links.isEmpty)
        #expect(story.list(row("c1", "active", extra: state)).isEmpty)
        #expect(story.decision.links.map(\.outcome) == [.repaired])
        #expect(!story.decision.headChanged, "a finding alone writes no belief")
    }

    @Test func `rows of a baseline come from no attempt`() throws {
        var story = try Story()
        story.links = [try watch(1)]
        story.list(row("c1", "active"))
        #expect(story.decision.links.isEmpty)
        #expect(story.belief.rows["c1"]?.attempt == nil)
    }

    @Test func `two attempts without a state leave the event without one`() throws {
        var story = try Story(baseline: [])
        story.links = [try watch(1), try watch(2)]
        let events = story.list(row("c1", "active"))
        #expect(events.short == ["linked c1"])
        #expect(try attempts(events) == [nil])
        #expect(story.decision.links.map(\.outcome) == [.ambiguous, .ambiguous])
    }

    @Test func `an attempt's time is over with a walk that began after it`() throws {
        var story = try Story(baseline: [])
        story.links = [try watch(1, expires: Story.seal(2))]
        story.list()
        #expect(story.decision.links.isEmpty, "walk 2 began before")
        story.list()
        #expect(story.decision.links.map(\.outcome) == [.abandoned])
    }

    @Test func `a row that goes before it was healthy takes its attempt along`() throws {
        var rules = Detection()
        rules.confirmations = 1
        var story = try Story(rules, baseline: [])
        story.links = [try watch(1)]
        story.list(row("c1", "pending"))
        let gone = story.list()
        #expect(gone.short == ["unlinked c1"])
        #expect(try attempts(gone) == [first])
    }

    @Test func `the attempt is stored with the row, and older rows have none`() throws {
        var story = try Story(baseline: [])
        story.links = [try watch(1)]
        story.list(row("c1", "pending"))
        let stored = try #require(story.belief.rows["c1"])
        #expect(BelievedRow(json: stored.json) == stored)
        var object = try #require(stored.json.objectValue)
        object["attempt"] = nil
        #expect(BelievedRow(json: .object(object))?.attempt == nil)
    }

    @Test func `the event says it in its data, and the evidence the rule`() throws {
        var story = try Story(baseline: [])
        story.links = [try watch(1)]
        let event = try #require(story.list(row("c1", "active")).first)
        #expect(event.json["data"]?["attempt"]?.stringValue == first.text)
        #expect(try ConnectionEvent(parsing: event.serialized()) == event)
        let evidence = try JSONValue(
            parsing: try #require(story.decision.entries.first?.evidence))
        #expect(evidence["attempt"]?.stringValue == first.text)
        #expect(evidence["attemptRule"] == "platform")
    }

    @Test func `a hash is 128 bits of SHA-256 in hexadecimal`() {
        #expect(AttemptHash(state: "abc").text == "ba7816bf8f01cfea414140de5dae2223")
        #expect(AttemptHash("ba7816bf8f01cfea414140de5dae2223") == AttemptHash(state: "abc"))
        #expect(AttemptHash("BA7816bf8f01cfea414140de5dae2223") == nil)
        #expect(AttemptHash("ba78") == nil)
    }
}
