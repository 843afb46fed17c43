import ConnectionEvents
import RelayCore
import Testing

/// Walks are 10 s apart: a failure is over 30 s, a removal 100 s after its first sight.
private let rules = Detection(
    brake: Brake(failuresAfter: .seconds(30), removalsAfter: .seconds(100)))

private func rows(_ count: Int, _ status: String = "active") -> [ListedRow] {
    (0..<count).map { row("r\($0 + 10)", status) }
}

extension ConnectionEvent {
    fileprivate var accountChange: AccountChange? {
        if case .account(let change) = content { change } else { nil }
    }
}

@Suite struct OpeningTests {
    struct Case: CustomTestStringConvertible {
        let believed: Int
        let gone: Int
        let isHeld: Bool
        var testDescription: String { "\(gone) of \(believed)" }
    }

    static let cases = [
        Case(believed: 40, gone: 40, isHeld: true), Case(believed: 40, gone: 20, isHeld: true),
        Case(believed: 40, gone: 19, isHeld: false), Case(believed: 5, gone: 5, isHeld: true),
        Case(believed: 4, gone: 4, isHeld: false), Case(believed: 9, gone: 5, isHeld: true),
        Case(believed: 11, gone: 5, isHeld: false), Case(believed: 9, gone: 4, isHeld: false),
    ]

    @Test(arguments: cases)
    func `so many removals, and so large a share, open a hold`(_ test: Case) throws {
        let all = rows(test.believed)
        var story = try Story(rules, baseline: all)
        let left = Array(all.dropFirst(test.gone))
        #expect(story.list(left).isEmpty, "nothing is confirmed yet")
        let believed = story.belief
        let events = story.list(left)
        guard test.isHeld else {
            #expect(events.count == test.gone && story.belief.head.hold == nil)
            return
        }
        #expect(events.short == ["held"])
        guard
            case .held(let hold, let reason, let removals, let failures, let ids)? =
                events.first?.accountChange
        else { throw Missed(what: "held") }
        #expect(hold == story.belief.head.hold?.id.text && reason == "share")
        #expect(removals == test.gone && failures == 0 && ids == all.prefix(test.gone).map(\.id))
        #expect(try story.states.isEmpty)
        #expect(story.belief.rows.mapValues(\.shown) == believed.rows.mapValues(\.shown))
        #expect(story.belief.isOpen && !story.belief.wantsConfirmation)
        #expect(story.list(left).isEmpty)
        #expect(story.decision.isEmpty, "an unchanged walk under a hold writes nothing")
    }

    @Test(arguments: cases)
    func `so many failures, and so large a share, open a hold`(_ test: Case) throws {
        let all = rows(test.believed)
        var story = try Story(rules, baseline: all)
        let events = story.list(
            rows(test.gone, "expired") + Array(all.dropFirst(test.gone)))
        #expect(test.isHeld ? events.short == ["held"] : events.count == test.gone)
        #expect(events.first?.type == (test.isHeld ? .accountHeld : .failing))
    }

    @Test func `each kind is counted for itself, but held is every removal and failure`() throws {
        var story = try Story(rules, baseline: rows(8))
        // Four failing and four missing: neither is five.
        story.list(rows(4))
        #expect(story.list(rows(4, "expired")).count == 8)
        story = try Story(rules, baseline: rows(9))
        story.list(Array(rows(9).prefix(8)))
        let events = story.list(rows(6, "expired") + Array(rows(8).suffix(2)))
        #expect(events.short == ["held"])
        guard case .held(_, _, let removals, let failures, _)? = events[0].accountChange else {
            throw Missed(what: "held")
        }
        #expect(removals == 1 && failures == 6)
    }

    @Test func `new rows, other changes and returns flow past an open hold`() throws {
        var story = try Story(rules, baseline: rows(6) + [row("x", "active")])
        let events = story.list(
            rows(6, "expired") + [row("n", "expired"), row("x", "pending")])
        #expect(events.short == ["held", "failing n", "status_changed x"])
        // While it is open, each failure of a believed row is held.
        let more = story.list(rows(6, "expired") + [row("n", "active"), row("x", "expired")])
        #expect(more.short == ["repaired n"])
        #expect(story.belief.head.hold?.failures == 7)
    }

    @Test func `without a brake nothing is held`() throws {
        var story = try Story(baseline: rows(40))
        story.list([])
        #expect(story.list([]).count == 40)
    }

    @Test func `any removal is held where half of the others asked lack rows`() throws {
        var story = try Story(rules, baseline: rows(2))
        story.others = 10
        story.list([])
        story.answer = FleetSight.Answer(asked: 4, lacking: 0)
        #expect(story.list([]).isEmpty, "five must have been sealed since")
        #expect(story.belief.wantsConfirmation)
        story.answer = FleetSight.Answer(asked: 6, lacking: 3)
        let events = story.list([])
        #expect(events.short == ["held"])
        guard case .held(_, let reason, let removals, _, _)? = events[0].accountChange else {
            throw Missed(what: "held")
        }
        #expect(reason == "fleet" && removals == 2)
    }

    @Test func `with five sealed since and few of them lacking, a removal is told`() throws {
        var story = try Story(rules, baseline: rows(2))
        story.others = 5
        story.list([])
        story.answer = FleetSight.Answer(asked: 5, lacking: 2)
        #expect(story.list([]).short == ["unlinked r10", "unlinked r11"])
    }

    @Test func `a register with fewer others is not asked`() throws {
        var story = try Story(rules, baseline: rows(2))
        story.others = 4
        story.answer = FleetSight.Answer(asked: 4, lacking: 4)
        story.list([])
        #expect(story.list([]).count == 2)
    }
}

@Suite struct LeavingTests {
    /// Ten rows, of which six fail (walk 2) or are missing (held by walk 3).
    private func held(_ kind: HeldChange.Kind, _ rules: Detection = rules) throws -> Story {
        var story = try Story(rules, baseline: rows(10))
        switch kind {
        case .failure: story.list(rows(6, "expired") + Array(rows(10).suffix(4)))
        case .removal:
            story.list(Array(rows(10).suffix(4)))
            story.list(Array(rows(10).suffix(4)))
        }
        #expect(story.belief.head.hold != nil)
        return story
    }

    private func released(_ event: ConnectionEvent?) throws -> [Int] {
        guard case .released(_, let recovered, let published, let discarded)? = event?.accountChange
        else { throw Missed(what: "released") }
        return [recovered, published, discarded]
    }

    @Test(arguments: [HeldChange.Kind.failure, .removal])
    func `back in their believed state, they recover in silence`(_ kind: HeldChange.Kind) throws {
        var story = try held(kind)
        let events = story.list(rows(10))
        #expect(events.short == ["released"])
        #expect(try released(events.first) == [6, 0, 0])
        #expect(try story.states.isEmpty)
        #expect(!story.belief.isOpen)
        #expect(story.belief.rows.values.allSatisfy { $0.held == nil && $0.missing == nil })
    }

    @Test func `in a state that is neither, they recover and are told, since when they were seen`()
        throws
    {
        var story = try held(.failure)
        let events = story.list(rows(1, "pending") + Array(rows(10).dropFirst()))
        #expect(events.short == ["released", "status_changed r10"])
        let change = try events[1].change
        #expect(change.previous?.status == "active")
        #expect(change.changedBetween == ChangeWindow(after: Story.start(1), before: Story.seal(3)))
        #expect(try released(events.first) == [6, 0, 0])
    }

    @Test func `a failure still true in time is published with the window of its first sight`()
        throws
    {
        var story = try held(.failure)
        let list = rows(6, "expired") + Array(rows(10).suffix(4))
        #expect(story.list(list).isEmpty && story.list(list).isEmpty)
        let events = story.list(list)
        #expect(events.short == ["released"] + (10..<16).map { "failing r\($0)" })
        #expect(try released(events.first) == [0, 6, 0])
        for event in events.dropFirst() {
            let change = try event.change
            #expect(event.kind == .change && change.userActionable)
            #expect(event.time == Story.seal(2) && event.decidedAt == Story.decided(5))
            #expect(
                change.changedBetween == ChangeWindow(after: Story.start(1), before: Story.seal(2)))
        }
        let record = try #require(try story.states[0].record)
        #expect(record.since == Story.seal(2) && record.observedAt == Story.seal(5))
        #expect(story.list(rows(10)).first.map { $0.short } == "repaired r10")
    }

    @Test func `a removal still true in time is published; never is never`() throws {
        var story = try held(.removal)
        let left = Array(rows(10).suffix(4))
        for _ in 4...11 { #expect(story.list(left).isEmpty) }
        let events = story.list(left)
        #expect(events.short == ["released"] + (10..<16).map { "unlinked r\($0)" })
        #expect(events[1].time == Story.seal(2))
        #expect(
            try events[1].change.changedBetween
                == ChangeWindow(after: Story.start(1), before: Story.seal(2)))
        let forever = Detection(brake: Brake(removalsAfter: nil))
        story = try held(.removal, forever)
        story.pass(1_000_000)
        #expect(story.list(left).isEmpty)
        #expect(story.belief.head.hold?.removals == 6)
    }

    @Test func `each leaves by itself, and what leaves last ends the hold`() throws {
        var story = try held(.failure)
        let failing = Array(rows(6, "expired").suffix(5))
        #expect(story.list(rows(1) + failing + Array(rows(10).suffix(4))).isEmpty)
        #expect(story.belief.head.hold?.recovered == 1 && story.belief.head.hold?.failures == 5)
        let events = story.list(rows(10))
        #expect(try released(events.first) == [6, 0, 0])
    }

    @Test func `failures become removals and back, each with a first sight of its own`() throws {
        var story = try held(.failure)
        let left = Array(rows(10).suffix(4))
        #expect(story.list(left).isEmpty && story.list(left).isEmpty)
        #expect(story.belief.head.hold?.removals == 6 && story.belief.head.hold?.failures == 0)
        #expect(story.belief.rows["r10"]?.held?.firstSight == Story.seal(3))
        #expect(story.list(rows(6, "revoked") + left).isEmpty)
        let held = try #require(story.belief.rows["r10"]?.held)
        #expect(held.kind == .failure && held.firstSight == Story.seal(5))
        #expect(held.lastShown == Story.start(1), "the last walk that showed it active")
        #expect(story.belief.head.hold?.failures == 6)
    }

    @Test func `a held failure in another failing state is told as it is, its time runs on`() throws
    {
        var story = try held(.failure)
        let list = rows(6, "revoked") + Array(rows(10).suffix(4))
        #expect(story.list(list).isEmpty && story.list(list).isEmpty)
        let events = story.list(list)
        #expect(events.count == 7)
        #expect(try events[1].change.connection.status == "revoked")
        #expect(events[1].time == Story.seal(3))
    }

    @Test func `a brake that is switched off releases at the next sealed walk`() throws {
        var story = try held(.removal)
        story.rules.brake = nil
        let told = story.list(Array(rows(10).suffix(5))).short
        #expect(told == ["released"] + (10..<15).map { "unlinked r\($0)" })
        story = try held(.failure)
        story.rules.brake = nil
        let events = story.list(rows(5, "expired") + Array(rows(10).suffix(4)))
        #expect(events.short == ["released"] + (10..<16).map { "failing r\($0)" })
        #expect(story.belief.rows["r15"]?.missing?.count == 1)
    }

    @Test(arguments: [HoldAction.release, .discard])
    func `an operator publishes all now, or believes all as resync`(_ action: HoldAction) throws {
        for kind in [HeldChange.Kind.failure, .removal] {
            var story = try held(kind)
            let events = try story.end(action)
            let word = kind == .failure ? "failing" : "unlinked"
            #expect(events.short == ["released"] + (10..<16).map { "\(word) r\($0)" })
            #expect(
                try released(events.first) == (action == .release ? [0, 6, 0] : [0, 0, 6]))
            #expect(
                events.dropFirst().allSatisfy {
                    $0.kind == (action == .release ? .change : .resync) && $0.time == Story.seal(2)
                })
            #expect(
                try events[1].change.userActionable == (action == .release && kind == .failure))
            #expect(try events[1].change.walk != nil)
            #expect(Set(events.map(\.id)).count == events.count)
            #expect(!story.belief.isOpen)
            let left = Array(rows(10).suffix(4))
            let failing = kind == .failure ? rows(6, "expired") : []
            #expect(story.list(failing + left).isEmpty)
        }
    }

    @Test func `only the hold that was meant is ended, and a removed account's in silence`() throws
    {
        var story = try held(.removal)
        #expect(throws: HoldRefusal.noSuchHold) {
            try story.belief.endHold(
                HoldID("h_other"), .release, rules: rules, decidedAt: Story.noon, epoch: { 1 })
        }
        #expect(story.remove().short == ["removed"])
    }

    @Test func `a belief with a hold reads back as it was written`() throws {
        for kind in [HeldChange.Kind.failure, .removal] {
            let belief = try held(kind).belief
            #expect(BeliefHead(json: belief.head.json) == belief.head)
            for row in belief.rows.values { #expect(BelievedRow(json: row.json) == row) }
        }
    }
}

@Suite struct WrongAccountTests {
    private let strangers = [row("s1", "active"), row("s2", "expired")]

    private func wrong() throws -> Story {
        var story = try Story(baseline: rows(3))
        story.useCredential([1])
        story.useCredential([2])
        #expect(story.belief.isOpen)
        #expect(story.list([]).isEmpty, "an empty list says nothing of whose it is")
        let events = story.list(strangers)
        guard case .held(_, let reason, 0, 0, [])? = events.first?.accountChange else {
            throw Missed(what: "held")
        }
        #expect(events.count == 1 && reason == "wrongAccount")
        return story
    }

    @Test func `a new credential without a row of ours holds everything`() throws {
        var story = try wrong()
        let believed = story.belief.rows
        for _ in 0..<5 { #expect(story.list(strangers).isEmpty && story.decision.isEmpty) }
        #expect(story.belief.rows == believed)
        #expect(!story.belief.wantsConfirmation)
        #expect(BeliefHead(json: story.belief.head.json) == story.belief.head)
        #expect(throws: HoldRefusal.wrongAccountStays) { try story.end(.discard) }
    }

    @Test func `a list that shares a row ends it, and counts from then`() throws {
        var story = try wrong()
        story.list(strangers)
        let events = story.list(row("r10", "expired"), row("r11", "active"))
        #expect(events.short == ["released", "failing r10"])
        #expect(
            try events[1].change.changedBetween
                == ChangeWindow(after: Story.start(1), before: Story.seal(5)))
        #expect(story.belief.head.hold == nil)
        #expect(story.belief.rows["r12"]?.missing?.count == 1)
        #expect(story.list(row("r10", "expired"), row("r11", "active")).short == ["unlinked r12"])
    }

    @Test func `released, the new list is a quiet baseline of a new epoch`() throws {
        var story = try wrong()
        let events = try story.end(.release)
        #expect(events.short == ["released", "resynced"])
        #expect(events.map(\.epoch) == [1000, 1001] && events.map(\.sequence) == [2, 1])
        #expect(events[1].kind == .resync)
        let states = try story.states
        #expect(states.map(\.key) == (10..<13).map { "acct/r\($0)" } + ["acct/s1", "acct/s2"])
        #expect(states[3].record?.sequence == 1 && states[3].record?.epoch == 1001)
        #expect(states[3].record?.observedAt == Story.seal(3), "as of its seal")
        #expect(states[4].record?.standing == .failing)
        #expect(story.list(strangers).isEmpty && !story.belief.isOpen)
    }

    @Test func `a first credential, a shared row or an empty belief is no wrong account`() throws {
        var story = try Story(baseline: rows(2))
        story.useCredential([1])
        #expect(story.list(strangers).short == ["linked s1", "failing s2"])
        story.useCredential([2])
        #expect(story.list(row("s1", "active"), row("z", "active")).short.contains("linked z"))
        #expect(!story.belief.head.isCredentialNew)
    }

    @Test func `another hold is over first, its rest recovered`() throws {
        var story = try Story(rules, baseline: rows(6))
        story.useCredential([1])
        story.list(rows(6, "expired"))
        story.useCredential([2])
        let events = story.list(strangers)
        #expect(events.short == ["released", "held"])
        guard case .released(_, 6, 0, 0)? = events[0].accountChange else {
            throw Missed(what: "six")
        }
        #expect(story.belief.rows.values.allSatisfy { $0.held == nil })
        // The right account again: what is failing is so anew.
        story.useCredential([3])
        #expect(story.list(rows(6, "expired")).short == ["released", "held"])
    }
}
