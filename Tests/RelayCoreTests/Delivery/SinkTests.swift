public import ConnectionEvents
import RelayCore
import Testing

@Suite struct EventFilterTests {
    /// A filter, and whether it takes: failing on youtube, failing without platform, a baseline's
    /// failing, unlinked on kick, account.blind; all of account acct.
    struct Case: CustomTestStringConvertible {
        let filter: EventFilter
        let takes: [Bool]
        var testDescription: String { "\(filter)" }
    }

    @Test(arguments: [
        Case(filter: EventFilter(), takes: [true, true, true, true, true]),
        Case(filter: EventFilter(types: [.failing]), takes: [true, true, true, false, false]),
        Case(
            filter: EventFilter(types: [.failing, .accountBlind]),
            takes: [true, true, true, false, true]),
        Case(filter: EventFilter(types: []), takes: [false, false, false, false, false]),
        Case(
            filter: EventFilter(platforms: ["youtube"]), takes: [true, false, true, false, false]),
        Case(
            filter: EventFilter(types: [.accountBlind], platforms: ["youtube"]),
            takes: [false, false, false, false, false]),
        Case(filter: EventFilter(kinds: [.change]), takes: [true, true, false, true, true]),
        Case(filter: EventFilter(kinds: [.baseline]), takes: [false, false, true, false, false]),
        Case(filter: EventFilter(accounts: ["other"]), takes: [false, false, false, false, false]),
        Case(filter: EventFilter(accounts: ["acct"]), takes: [true, true, true, true, true]),
        Case(
            filter: EventFilter(
                types: [.failing], platforms: ["youtube", "kick"], accounts: ["acct"],
                kinds: [.change]),
            takes: [true, false, false, false, false]),
    ])
    func `a filter takes what passes each of its sets`(_ test: Case) throws {
        let entries = [
            entry(1, .failing), entry(2, .failing, platform: nil),
            entry(3, .failing, kind: .baseline), entry(4, .unlinked, platform: "kick"),
            entry(5, .accountBlind, platform: nil),
        ]
        for (entry, taken) in zip(entries, test.takes) {
            let event = try #require(entry.event)
            #expect(test.filter.takes(event, of: entry.account) == taken)
            let plan = SinkPlan(name: "alerts", role: .events(test.filter))
            #expect(plan.numbers(event, of: entry.account) == taken)
            #expect((plan.message(of: entry) != nil) == taken)
        }
    }

    @Test func `facts of an event are those of its connection`() throws {
        var story = try Story(Detection(baseline: .publish))
        let event = try #require(story.list(row("a", "active", platform: "kick")).first)
        let facts = EventFacts(event)
        #expect(facts.platform == "kick")
        #expect(facts.id == event.id)
        #expect(facts.type == .baseline)
        #expect(facts.kind == .baseline)
        story.refuse()
        let blind = try #require(story.refuse().first)
        #expect(EventFacts(blind).platform == nil)
    }
}

@Suite struct SinkPlanTests {
    private typealias Header = OutboundMessage.Header

    @Test func `an event sink without when gets the bytes under the account, and its trace`() throws
    {
        let plan = SinkPlan(name: "events", role: .events(nil))
        let entry = entry(7, .failing, previous: ["alerts": 3])
        let message = try #require(plan.message(of: entry))
        #expect(message.key == "acct")
        #expect(message.value == entry.body)
        #expect(message.position == entry.position)
        #expect(
            message.headers == [
                Header("content-type", "application/cloudevents+json"),
                Header("traceparent", try #require(entry.event?.id.traceparent)),
            ])
        #expect(!plan.numbers(try #require(entry.event), of: entry.account), "it sees every number")
        #expect(plan.message(of: self.quiet) == nil)
    }

    @Test func `a filtered sink tells the number before, 0 at first`() throws {
        let plan = SinkPlan(name: "alerts", role: .events(EventFilter(types: [.failing])))
        let first = try #require(plan.message(of: entry(7, .failing)))
        let next = try #require(
            plan.message(of: entry(9, .failing, previous: ["alerts": 7, "x": 8])))
        #expect(first.headers[1] == Header("trax-previous", "0"))
        #expect(next.headers[1] == Header("trax-previous", "7"))
        #expect(plan.message(of: entry(8, .linked)) == nil)
    }

    @Test func `in binary mode data is the value and every other attribute a header`() throws {
        var story = try Story(Detection(baseline: .publish))
        let event = try #require(story.list(row("é/1", "active")).first)
        let entry = JournalEntry(
            position: JournalPosition(1), account: event.account, event: EventFacts(event),
            body: event.serialized(), state: nil, previousNumbers: ["alerts": 4])
        let plan = SinkPlan(
            name: "alerts", role: .events(EventFilter(kinds: [.baseline])), format: .binary)
        let message = try #require(plan.message(of: entry))
        let text = String(decoding: event.serialized(), as: UTF8.self)
        let value = String(decoding: try #require(message.value), as: UTF8.self)
        #expect(text.hasSuffix("\"data\":\(value)}"), "the same bytes of data")
        #expect(
            message.headers == [
                Header("content-type", "application/json"), Header("ce_specversion", "1.0"),
                Header("ce_id", event.id.text), Header("ce_source", "/accounts/\(event.account)"),
                Header("ce_type", event.type.cloudEventsType), Header("ce_subject", "é/1"),
                Header("ce_time", event.time.description),
                Header("ce_dataschema", ConnectionEvent.dataSchema),
                Header("ce_partitionkey", event.account.text),
                Header("ce_sequence", event.sequenceAttribute), Header("trax-previous", "4"),
                Header("traceparent", try #require(event.id.traceparent)),
            ])
    }

    @Test func `bytes that are no event go out whole in binary mode, and say so`() throws {
        let plan = SinkPlan(name: "events", role: .events(nil), format: .binary)
        let entry = entry(7, .failing)
        let message = try #require(plan.message(of: entry))
        #expect(message.value == entry.body)
        #expect(message.headers.first == Header("content-type", "application/cloudevents+json"))
    }

    @Test func `a state sink gets state records alone, and tombstones`() throws {
        let plan = SinkPlan(name: "state", role: .state)
        let record = try #require(plan.message(of: entry(7, .failing)))
        #expect(record.key == "acct/7")
        #expect(record.value == [1])
        #expect(record.headers.isEmpty)
        let tombstone = try #require(plan.message(of: entry(9, .unlinked)))
        #expect(tombstone.key == "acct/9")
        #expect(tombstone.value == nil)
        #expect(plan.message(of: entry(10, .accountBlind)) == nil)
        #expect(plan.message(of: quiet) != nil)
        #expect(!plan.numbers(try #require(entry(7, .failing).event), of: "acct"))
    }

    private let quiet = entry(8, nil)
}

extension AccountID: ExpressibleByStringLiteral {
    /// The account of that id.
    public init(stringLiteral text: String) {
        guard let id = AccountID(text) else { preconditionFailure("no id: \(text)") }
        self = id
    }
}
