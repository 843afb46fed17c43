import ConnectionEvents
import RelayCore
import Testing

/// Which event follows from which list: the table of the contract's section 6.
@Suite struct EventTypeTests {
    /// Statuses of one row, list by list, and the last list's events.
    struct Case: CustomTestStringConvertible {
        let statuses: [String?]
        let events: [String]
        var testDescription: String { statuses.map { $0 ?? "null" }.joined(separator: " → ") }

        init(_ statuses: String?..., to events: String...) {
            self.statuses = statuses
            self.events = events
        }
    }

    private static let rules = Detection(otherStatus: .unrecognised)

    private func last(_ statuses: [String?], in story: inout Story) -> [String] {
        var events: [ConnectionEvent] = []
        for status in statuses { events = story.list(status == "-" ? [] : [row("a", status)]) }
        return events.short
    }

    @Test(arguments: [
        Case("active", to: "linked a"),
        Case("expired", to: "failing a"),
        Case("pending", to: "status_changed a"),
        Case("strange", to: "status_changed a"),
        Case(nil, to: "status_changed a"),
        Case("pending", "active", to: "linked a"),
        Case("strange", "active", to: "linked a"),
        Case(nil, "pending", "active", to: "linked a"),
        Case("pending", "expired", to: "failing a"),
        Case("active", "expired", to: "failing a"),
        Case("active", "pending", to: "status_changed a"),
        Case("active", "pending", "active", to: "status_changed a"),
        Case("active", "strange", "active", to: "status_changed a"),
        Case("active", nil, "active", to: "status_changed a"),
        Case("active", "pending", "expired", to: "failing a"),
        Case("active", "strange", "expired", to: "failing a"),
        Case("expired", "revoked", to: "status_changed a"),
        Case("expired", "pending", to: "status_changed a"),
        Case("expired", "pending", "revoked", to: "status_changed a"),
        Case("expired", nil, "expired", to: "status_changed a"),
        Case("expired", "active", to: "repaired a"),
        Case("expired", "pending", "active", to: "repaired a"),
        Case("expired", "strange", "pending", "active", to: "repaired a"),
        Case("expired", "active", "expired", to: "failing a"),
        Case("pending", "connecting", to: "status_changed a"),
        Case("strange", "stranger", to: "status_changed a"),
        Case("strange", nil, to: "status_changed a"),
        Case("active", "active"), Case("expired", "expired"), Case(nil, nil),
        Case("strange", "strange"), Case("pending", "pending"),
    ])
    func `a row that is new in its epoch tells the first rule that fits`(_ test: Case) throws {
        var story = try Story(Self.rules, baseline: [])
        #expect(last(test.statuses, in: &story) == test.events)
    }

    @Test(arguments: [
        Case("active"), Case("expired"), Case(nil),
        Case("active", "expired", to: "failing a"),
        Case("active", "pending", to: "status_changed a"),
        Case("active", "pending", "active", to: "status_changed a"),
        Case("expired", "active", to: "repaired a"),
        Case("expired", "revoked", to: "status_changed a"),
        Case("expired", "pending", "active", to: "repaired a"),
        Case("pending", "active", to: "linked a"),
        Case("strange", "active", to: "linked a"),
        Case(nil, "expired", to: "failing a"),
        Case("pending", "connecting", to: "status_changed a"),
    ])
    func `a row of the baseline has the standing that it was found in`(_ test: Case) throws {
        var story = try Story(Self.rules)
        #expect(last(test.statuses, in: &story) == test.events)
    }

    @Test(arguments: [
        Case("active", "-", "-", to: "unlinked a"),
        Case("expired", "-", "-", to: "unlinked a"),
        Case("active", "-", "-", "-"),
        Case("active", "-", "-", "active", to: "linked a"),
        Case("expired", "-", "-", "active", to: "linked a"),
        Case("active", "-", "-", "expired", to: "failing a"),
        Case("expired", "-", "-", "expired", to: "failing a"),
        Case("active", "-", "-", "pending", to: "status_changed a"),
        Case("expired", "-", "-", "pending", "active", to: "linked a"),
    ])
    func `unlinked clears the standing`(_ test: Case) throws {
        var story = try Story(Self.rules)
        #expect(last(test.statuses, in: &story) == test.events)
    }

    @Test func `only scopes that differ are scopes_changed; with anything else they are not`()
        throws
    {
        var story = try Story(baseline: [row("a", "active", scopes: ["x"])])
        #expect(story.list(row("a", "active", scopes: ["y"])).short == ["scopes_changed a"])
        #expect(story.list(row("a", "expired", scopes: ["x"])).short == ["failing a"])
        #expect(story.list(row("a", "expired", scopes: ["y"])).short == ["scopes_changed a"])
        #expect(story.list(row("a", "revoked", scopes: ["x"])).short == ["status_changed a"])
        #expect(story.list(row("a", "active", scopes: ["y"])).short == ["repaired a"])
        #expect(story.list(row("a", nil, scopes: ["x"])).short == ["status_changed a"])
        #expect(story.list(row("a", nil, scopes: ["y"])).short == ["scopes_changed a"])
    }

    @Test func `another platform alone is status_changed`() throws {
        var story = try Story(baseline: [row("a", "active"), row("b", "expired", platform: nil)])
        let events = story.list(
            row("a", "active", platform: "kick"), row("b", "expired", platform: "kick"))
        #expect(events.short == ["status_changed a", "status_changed b"])
        #expect(try events[0].change.changed == ["platform"])
        #expect(try events[1].change.previous?.platform == nil)
    }

    @Test func `all that differs is named, in the order platform, status, grantedScopes`() throws {
        var story = try Story(baseline: [row("a", "active", platform: "kick", scopes: ["x", "y"])])
        let change = try story.list(row("a", "expired", platform: "twitch", scopes: ["y", "z"]))
            .change
        #expect(change.changed == ["platform", "status", "grantedScopes"])
        #expect(change.scopes == ScopeChange(added: ["z"], removed: ["x"]))
    }

    @Test func `changed is empty for a new, a returning and an unlinked row`() throws {
        var story = try Story(Detection(confirmations: 1), baseline: [])
        for events in [
            story.list(row("a", "active")), story.list(), story.list(row("a", "active")),
        ] {
            #expect(try events.change.changed == [])
            #expect(try events.change.scopes == nil)
        }
    }

    @Test func `a status is what its bytes say, not what Unicode takes for equal`() throws {
        let rules = Detection(healthy: ["li\u{E9}"], otherStatus: .failing)
        var story = try Story(rules, baseline: [row("a", "li\u{E9}")])
        let events = story.list(row("a", "lie\u{301}"))
        #expect(events.short == ["failing a"])
        #expect(try events.change.changed == ["status"])
        #expect(try events.change.statusRecognised == false)
    }

    @Test func `a status in a list is recognised; only failing of a listed status is actionable`()
        throws
    {
        var story = try Story(baseline: [row("a", "active"), row("b", "active")])
        let failing = story.list(row("a", "expired"), row("b", "melted"))
        #expect(failing.short == ["failing a", "failing b"])
        #expect(try failing.map { try $0.change.statusRecognised } == [true, false])
        #expect(try failing.map { try $0.change.userActionable } == [true, false])
        let others = story.list(row("a", "revoked"), row("b", "active"), row("c", "pending"))
        #expect(others.short == ["status_changed a", "repaired b", "status_changed c"])
        #expect(try others.map { try $0.change.statusRecognised } == [true, true, true])
        #expect(try others.map { try $0.change.userActionable } == [false, false, false])
    }

    @Test(arguments: [
        ("active" as String?, Health.healthy), ("pending", .pending), ("connecting", .pending),
        ("linking", .pending), ("expired", .failing), ("revoked", .failing),
        ("disconnected", .failing), ("error", .failing), ("reauth_required", .failing),
        ("Active", .failing), ("", .failing), (nil as String?, .unrecognised),
    ])
    func `by default a status that no list names is failing, and none is unrecognised`(
        status: String?, health: Health
    ) {
        #expect(Detection().health(of: status) == health)
        let lenient = Detection(otherStatus: .unrecognised).health(of: status)
        #expect(lenient == (Detection().recognises(status) ? health : .unrecognised))
    }
}
