import ConnectionEvents
import JSON
import RelayCore
import Testing

/// What is compared of a row, and what is carried along.
@Suite struct ScopeTests {
    @Test func `scopes are a set: order and doubles do not count, published sorted by bytes`()
        throws
    {
        var story = try Story(baseline: [row("a", "active", scopes: ["a", "b"])])
        let listed = try decoded(
            #"{"id":"a","platform":"youtube","status":"active","grantedScopes":["b","a","b"]}"#)
        #expect(story.list(listed).isEmpty)
        let other = try decoded(
            #"{"id":"a","platform":"youtube","status":"active","grantedScopes":["é","Z","b","b"]}"#)
        let change = try story.list(other).change
        #expect(change.connection.grantedScopes == ["Z", "b", "é"])
        #expect(change.scopes == ScopeChange(added: ["Z", "é"], removed: ["a"]))
        let spelled = try decoded("{\"id\":\"a\",\"grantedScopes\":[\"z\",\"e\u{301}\"]}")
        #expect(spelled.connection.grantedScopes == ["e\u{301}", "z"], "e stands before z")
    }

    @Test func `two spellings of one text are two scopes`() throws {
        var story = try Story(baseline: [row("a", "active", scopes: ["\u{E9}"])])
        let listed = try decoded(
            "{\"id\":\"a\",\"platform\":\"youtube\",\"status\":\"active\","
                + "\"grantedScopes\":[\"\u{E9}\",\"e\u{301}\"]}")
        let change = try story.list(listed).change
        #expect(change.connection.grantedScopes?.count == 2)
        #expect(change.scopes?.added.first?.utf8.count == 3)
        #expect(change.scopes?.removed == [])
        let exchanged = try story.list(row("a", "active", scopes: ["e\u{301}"])).change
        #expect(exchanged.scopes?.removed.first?.utf8.count == 2)
    }

    @Test(arguments: [
        "", #","grantedScopes":null"#, #","grantedScopes":"a""#, #","grantedScopes":["b",1]"#,
        #","grantedScopes":{"a":true}"#, #","grantedScopes":7"#,
    ])
    func `scopes that are no array of strings are unknown: the known ones stay and are shown`(
        member: String
    ) throws {
        var story = try Story(baseline: [row("a", "active", scopes: ["x"])])
        let text = #"{"id":"a","platform":"youtube","status":""#
        #expect(story.list(try decoded(text + #"active""# + member + "}")).isEmpty)
        let change = try story.list(try decoded(text + #"expired""# + member + "}")).change
        #expect(change.connection.grantedScopes == ["x"])
        #expect(change.previous?.grantedScopes == ["x"])
        #expect(change.changed == ["status"])
        #expect(change.scopes == nil)
        let later = try story.list(row("a", "expired", scopes: ["x", "y"])).change
        #expect(later.scopes == ScopeChange(added: ["y"], removed: []))
    }

    @Test func `an empty set is a known set`() throws {
        var story = try Story(baseline: [row("a", "active", scopes: ["x"])])
        let change = try story.list(row("a", "active", scopes: [])).change
        #expect(change.scopes == ScopeChange(added: [], removed: ["x"]))
        #expect(story.list(row("a", "active", scopes: nil)).isEmpty)
        let back = try story.list(row("a", "active", scopes: ["x"])).change
        #expect(back.previous?.grantedScopes == [])
    }

    @Test func `a first known set is taken silently, and stands in later previous`() throws {
        var story = try Story(baseline: [row("a", "active", scopes: nil)])
        #expect(story.list(row("a", "active", scopes: ["x"])).isEmpty)
        #expect(try story.states.isEmpty)
        #expect(story.decision.changedRows == ["a"])
        let change = try story.list(row("a", "expired", scopes: ["x"])).change
        #expect(change.previous?.grantedScopes == ["x"])
        #expect(change.changed == ["status"])
        #expect(change.scopes == nil)
    }

    @Test func `a first known set that comes with another change is no change of scopes`() throws {
        var story = try Story(baseline: [row("a", "active", scopes: nil)])
        let change = try story.list(row("a", "expired", scopes: ["x"])).change
        #expect(change.changed == ["status"])
        #expect(change.scopes == nil)
        #expect(change.connection.grantedScopes == ["x"])
        #expect(story.list(row("a", "expired", scopes: ["y"])).short == ["scopes_changed a"])
    }

    @Test func `a returning row knows nothing of its scopes before`() throws {
        var story = try Story(
            Detection(confirmations: 1), baseline: [row("a", "active", scopes: ["x"])])
        story.list()
        #expect(
            try story.list(row("a", "active", scopes: nil)).change.connection.grantedScopes == nil)
    }
}

@Suite struct ExtraTests {
    @Test func `unknown fields are carried and never compared`() throws {
        var story = try Story(baseline: [row("a", "active", extra: ["name": "Ann"])])
        #expect(story.list(row("a", "active", extra: ["name": "Bob", "n": 1])).isEmpty)
        #expect(story.decision.isEmpty)
    }

    @Test func `unknown fields are as the walk shows them that decides the event`() throws {
        var story = try Story(baseline: [row("a", "active", extra: ["name": "Ann"])])
        story.list(row("a", "active", extra: ["name": "Bob"]))
        let change = try story.list(row("a", "expired", extra: ["name": "Cid"])).change
        #expect(change.connection.extra == ["name": "Cid"])
        #expect(change.previous?.extra == ["name": "Ann"])
    }

    @Test func `unlinked shows the row as last published, twice`() throws {
        var story = try Story(
            Detection(confirmations: 1), baseline: [row("a", "active", extra: ["name": "Ann"])])
        story.list(row("a", "active", extra: ["name": "Bob"]))
        let change = try story.list().change
        #expect(change.connection.extra == ["name": "Ann"])
        #expect(change.connection == change.previous)
    }

    @Test func `changed rules show the unknown fields as last published`() throws {
        var story = try Story(baseline: [row("a", "odd", extra: ["name": "Ann"])])
        story.list(row("a", "odd", extra: ["name": "Bob"]))
        let change = try story.rejudge(Detection(otherStatus: .unrecognised)).change
        #expect(change.connection.extra == ["name": "Ann"])
    }

    @Test func `unknown fields of more than 8 KiB are dropped, and it is said`() throws {
        // {"x":"…"} has 8 bytes around the text.
        let fits = String(repeating: "x", count: 8192 - 8)
        let start = #"{"id":"a","status":"active","x":""#
        let whole = try decoded(start + fits + "\"}").connection
        #expect(whole.extra == ["x": .string(fits)])
        #expect(!whole.extraOmitted)
        let dropped = try decoded(start + fits + "x\"}").connection
        #expect(dropped.extra.isEmpty)
        #expect(dropped.extraOmitted)
    }

    @Test func `whether unknown fields fit is no change`() throws {
        let long = String(repeating: "x", count: 9000)
        var story = try Story(baseline: [row("a", "active", platform: nil, scopes: nil)])
        #expect(story.list(try decoded(#"{"id":"a","status":"active","x":"\#(long)"}"#)).isEmpty)
    }
}

@Suite struct ReplacementTests {
    private static let rules = Detection(confirmations: 2)

    private func ids(_ change: ConnectionChange?) -> [String]? {
        change?.possibleReplacementOf.map(\.text)
    }

    @Test func `a new row names the failing and missing rows of its platform, ascending`() throws {
        var story = try Story(
            Self.rules,
            baseline: [
                row("z", "expired"), row("b", "active"), row("m", "active"), row("p", "pending"),
                row("k", "expired", platform: "kick"), row("n", "expired", platform: nil),
            ])
        let events = story.list(
            row("z", "expired"), row("b", "expired"), row("p", "pending"), row("new", "active"),
            row("k", "expired", platform: "kick"), row("n", "expired", platform: nil))
        #expect(events.short == ["failing b", "linked new"])
        #expect(try ids(events[1].change) == ["b", "m", "z"])
        #expect(try ids(events[0].change) == [])
    }

    @Test func `a row without a platform replaces nothing, and is not replaced`() throws {
        var story = try Story(Self.rules, baseline: [row("a", "expired", platform: nil)])
        let events = story.list(
            row("a", "expired", platform: nil), row("n", "active", platform: nil),
            row("o", "active", platform: ""))
        #expect(events.short == ["linked n", "linked o"])
        #expect(try events.map { try ids($0.change) } == [[], []])
    }

    @Test func `a row of the baseline replaces nothing`() throws {
        let story = try Story(
            Detection(baseline: .publish), baseline: [row("a", "expired"), row("b", "active")])
        #expect(try ids(story.events[1].change) == [])
    }

    @Test func `a row unlinked in the last 24 hours counts, one unlinked before does not`() throws {
        // Unlinked by walk 3, decided 2 s after its start; walk n is sealed 1 s after its start.
        for (walk, expected) in [(8642, ["a"]), (8643, ["a"]), (8644, [])] as [(Int64, [String])] {
            var story = try Story(Self.rules, baseline: [row("a", "active")])
            story.list()
            #expect(story.list().short == ["unlinked a"])
            story.walks = walk - 1
            #expect(try ids(story.list(row("new", "pending")).change) == expected, "\(walk)")
        }
    }

    @Test func `of many rows the first 16 by bytes are named, without the row itself`() throws {
        let old = (10..<40).map { row("r\($0)", "expired") }
        var story = try Story(Self.rules, baseline: old)
        let events = story.list(old + [row("r00", "expired"), row("r50", "active")])
        let first = (10..<26).map { "r\($0)" }
        #expect(events.short == ["failing r00", "linked r50"])
        #expect(try ids(events[0].change) == first)
        #expect(try ids(events[1].change) == ["r00"] + first.dropLast())
    }

    @Test func `the ids are carried up to the first healthy event, that one too, and no further`()
        throws
    {
        var story = try Story(Self.rules, baseline: [row("a", "expired")])
        let old = row("a", "expired")
        #expect(try ids(story.list(old, row("n", "pending")).change) == ["a"])
        #expect(try ids(story.list(old, row("n", "expired")).change) == ["a"])
        #expect(try ids(story.list(old, row("n", "expired", scopes: ["z"])).change) == ["a"])
        #expect(try ids(story.list(old, row("n", "active")).change) == ["a"])
        #expect(try ids(story.list(old, row("n", "pending")).change) == [])
        #expect(try ids(story.list(old, row("n", "active")).change) == [])
    }

    @Test func `the ids are carried up to unlinked, and are those of the first sight`() throws {
        var story = try Story(Self.rules, baseline: [row("a", "expired")])
        story.list(row("a", "expired"), row("n", "pending"))
        story.list(row("a", "active"), row("b", "expired"), row("n", "pending"))
        story.list(row("a", "active"), row("b", "expired"))
        let events = story.list(row("a", "active"), row("b", "expired"))
        #expect(events.short == ["unlinked n"])
        #expect(try ids(events.change) == ["a"])
    }

    @Test func `changed rules carry the ids, up to the first healthy one`() throws {
        var story = try Story(Self.rules, baseline: [row("a", "expired")])
        story.list(row("a", "expired"), row("n", "odd"))
        let healthy = story.rejudge(Detection(healthy: ["active", "odd"]))
        #expect(try ids(healthy.change) == ["a"])
        #expect(try ids(story.list(row("a", "expired"), row("n", "expired")).change) == [])
    }

    @Test func `a row that returns after unlinked replaces nothing, and is not replaced`() throws {
        var story = try Story(
            Detection(confirmations: 1), baseline: [row("a", "active"), row("b", "expired")])
        #expect(story.list(row("b", "expired")).short == ["unlinked a"])
        let events = story.list(row("a", "active"), row("b", "expired"), row("c", "active"))
        #expect(events.short == ["linked a", "linked c"])
        #expect(try ids(events[0].change) == [])
        #expect(try ids(events[1].change) == ["b"])
        #expect(
            try ids(
                story.list(
                    row("a", "active"), row("b", "expired"), row("c", "active"),
                    row("d", "active")
                ).change) == ["b"])
    }

    @Test func `what a new row may replace is found once for a walk, not anew for each row`() throws
    {
        // Sorted anew for each row, these would take minutes.
        let rows = (0..<2_000).map { row("row-\($0)", "expired") }
        var story = try Story(baseline: [])
        #expect(story.list(rows).count == 2_000)
        let named = story.events.compactMap { event in
            event.subject == "row-0" ? nil : try? event.change.possibleReplacementOf.first
        }
        #expect(named == Array(repeating: "row-0", count: 1_999))
    }
}

/// A row as a page of the API has it.
func decoded(_ json: String) throws -> ListedRow {
    let body = #"{"data":[\#(json)]}"#
    var walk = Walk(
        id: WalkID(start: Story.noon, random: (1, 2)), limits: WalkLimits(), expected: nil)
    guard case .read(let reading) = walk.answered(body) else { throw Missed(what: "a page") }
    guard let row = try reading.seal(at: Story.noon).get().rows.first else {
        throw Missed(what: "a row")
    }
    return row
}

extension Walk {
    /// Takes an answer with that status and body.
    mutating func answered(
        _ body: String, status: Int = 200, retryAfter: String? = nil, date: String? = nil,
        requestID: String? = nil, now: Timestamp = Story.noon
    ) -> Step {
        unsafe Array(body.utf8).withUnsafeBytes { bytes in
            unsafe answered(
                PageAnswer(
                    status: status, retryAfter: retryAfter, date: date, requestID: requestID,
                    body: bytes), now: now)
        }
    }
}
