import ConnectionEvents
import RelayCore
import Testing

/// Between which instants a change lies, and how long a row was failing.
@Suite struct ChangeWindowTests {
    private func window(_ after: Int64?, _ before: Int64) -> ChangeWindow {
        ChangeWindow(after: after.map(Story.start), before: Story.seal(before))
    }

    @Test func `a change lies between the start of the last walk and the seal of this one`() throws
    {
        var story = try Story(baseline: [row("a", "active")])
        story.list(row("a", "active"))
        let events = story.list(row("a", "expired"), row("b", "active"))
        for event in events {
            #expect(try event.change.changedBetween == window(2, 3))
            #expect(event.time == Story.seal(3))
            #expect(event.decidedAt == Story.decided(3))
        }
        #expect(try events[0].change.walk?.hasPrefix("w_") == true)
    }

    @Test func `without the memory of unchanged walks, after is earlier, never later`() throws {
        var story = try Story(baseline: [row("a", "active")])
        story.remembersSeals = false
        story.list(row("a", "active"))
        story.list(row("a", "active"))
        #expect(try story.list(row("a", "expired")).change.changedBetween == window(1, 4))
        story.list(row("a", "expired"))
        #expect(try story.list(row("a", "active")).change.changedBetween == window(4, 6))
    }

    @Test func `a row that was missing in between was last shown before it was missing`() throws {
        var story = try Story(Detection(confirmations: 3), baseline: [row("a", "active")])
        story.list(row("a", "active"))
        #expect(story.list().isEmpty)
        #expect(story.list().isEmpty)
        let change = try story.list(row("a", "expired")).change
        #expect(change.changedBetween == window(2, 5))
        #expect(change.previous?.status == "active")
    }

    @Test func `a row that was missing and is back as it was tells nothing`() throws {
        var story = try Story(baseline: [row("a", "active")])
        #expect(story.list().isEmpty)
        #expect(story.belief.isOpen && story.belief.wantsConfirmation)
        #expect(story.list(row("a", "active")).isEmpty)
        #expect(story.decision.changedRows == ["a"])
        #expect(!story.belief.isOpen && !story.belief.wantsConfirmation)
        #expect(try story.list(row("a", "expired")).change.changedBetween == window(3, 4))
    }

    @Test func `scopes that were unknown in between were last known before`() throws {
        var story = try Story(baseline: [row("a", "active", scopes: ["x"])])
        story.list(row("a", "active", scopes: ["x"]))
        story.list(row("a", "active", scopes: nil))
        story.list(row("a", "active", scopes: nil))
        let change = try story.list(row("a", "active", scopes: ["y"])).change
        #expect(change.changedBetween == window(2, 5))
        #expect(change.scopes == ScopeChange(added: ["y"], removed: ["x"]))
        #expect(
            try story.list(row("a", "active", scopes: ["z"])).change.changedBetween == window(5, 6))
    }

    @Test func `scopes unknown in between do not widen the window of another change`() throws {
        var story = try Story(baseline: [row("a", "active", scopes: ["x"])])
        story.list(row("a", "active", scopes: nil))
        let failing = try story.list(row("a", "expired", scopes: nil)).change
        #expect(failing.changedBetween == window(2, 3))
        #expect(failing.connection.grantedScopes == ["x"])
        #expect(failing.changed == ["status"])
        #expect(
            try story.list(row("a", "expired", scopes: ["y"])).change.changedBetween == window(1, 4)
        )
    }

    @Test func `scopes that come back as they were tell nothing, and are known again`() throws {
        var story = try Story(baseline: [row("a", "active", scopes: ["x"])])
        story.list(row("a", "active", scopes: nil))
        #expect(story.list(row("a", "active", scopes: ["x"])).isEmpty)
        #expect(
            try story.list(row("a", "active", scopes: ["y"])).change.changedBetween == window(3, 4))
    }

    @Test func `a row missing and then without scopes was last known before both`() throws {
        var story = try Story(
            Detection(confirmations: 5), baseline: [row("a", "active", scopes: ["x"])])
        story.list(row("a", "active", scopes: ["x"]))
        story.list()
        story.list(row("a", "active", scopes: nil))
        story.list()
        #expect(
            try story.list(row("a", "active", scopes: ["y"])).change.changedBetween == window(2, 6))
    }

    @Test func `unlinked lies between the last walk that had the row and the first that had not`()
        throws
    {
        var story = try Story(Detection(confirmations: 3), baseline: [row("a", "active")])
        story.list(row("a", "active"))
        story.list()
        story.list()
        let events = story.list()
        #expect(try events.change.changedBetween == window(2, 3))
        #expect(events.first?.time == Story.seal(3))
        #expect(events.first?.decidedAt == Story.decided(5))
    }

    @Test func `a row that returns after unlinked was last seen absent by the walk before`() throws
    {
        var story = try Story(Detection(confirmations: 1), baseline: [row("a", "active")])
        story.list()
        story.list()
        let change = try story.list(row("a", "active")).change
        #expect(change.changedBetween == window(3, 4))
        #expect(change.previous == nil)
    }

    @Test func `failedFor counts from the event that made the row failing`() throws {
        var story = try Story(baseline: [row("a", "active")])
        story.list(row("a", "expired"))
        story.list(row("a", "revoked"))
        story.list(row("a", "pending"))
        let change = try story.list(row("a", "active")).change
        #expect(change.failedFor == .seconds(30))
    }

    @Test func `failedFor counts from the baseline that found the row failing`() throws {
        var story = try Story(baseline: [row("a", "expired")])
        #expect(try story.list(row("a", "active")).change.failedFor == .seconds(10))
    }

    @Test func `failedFor counts from the changed rules that made the row failing`() throws {
        var story = try Story(
            Detection(otherStatus: .unrecognised), baseline: [row("a", "strange")])
        story.rejudge(Detection())
        // Decided 2 s into walk 2; sealed 1 s into walk 3.
        #expect(try story.list(row("a", "active")).change.failedFor == .seconds(9))
    }

    @Test func `a row that fails again counts from its latest failing`() throws {
        var story = try Story(baseline: [row("a", "expired")])
        story.list(row("a", "active"))
        story.list(row("a", "expired"))
        #expect(try story.list(row("a", "active")).change.failedFor == .seconds(10))
    }

    @Test func `only repaired says failedFor`() throws {
        var story = try Story(baseline: [row("a", "expired")])
        #expect(try story.list(row("a", "revoked")).change.failedFor == nil)
        #expect(try story.list(row("a", "pending")).change.failedFor == nil)
        #expect(try story.list(row("a", "expired")).change.failedFor == nil)
    }
}
