import ConnectionEvents
import JSON
import RelayCore
import Testing

/// Random histories of one account's lists, refusals and rules, held to what the contract promises
/// of any history.
@Suite struct HistoryTests {
    @Test(arguments: 1...40)
    func `whatever a history brings, the events fit together`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let policy: Detection.BaselinePolicy = Bool.random(using: &random) ? .quiet : .publish
        var story = try Story(
            Detection(baseline: policy, confirmations: Int.random(in: 1...3, using: &random)))
        story.remembersSeals = Bool.random(using: &random)
        var world = World()
        var chronicle = Chronicle(of: story)
        var store = Store(story.belief)
        for _ in 0..<80 {
            // A relay that was stopped here and started again decides the same.
            var restarted = story
            restarted.belief = try store.belief(of: story.belief.account)
            #expect(restarted.belief == story.belief)
            let step = Step.random(&world, rules: story.rules, using: &random)
            step.take(&story)
            step.take(&restarted)
            #expect(restarted.belief == story.belief)
            #expect(restarted.decision.entries == story.decision.entries)
            #expect(restarted.decision.changedRows == story.decision.changedRows)
            store.apply(story.decision.write(of: story.belief))
            try chronicle.check(step, story)
        }
        #expect(chronicle.seen > 20, "the history must bring something")
    }
}

/// The rows as they truly are, changing at random.
private struct World {
    private(set) var rows: [ListedRow] = []

    mutating func change(using random: inout SeededRandom) {
        let statuses = ["active", "active", "expired", "revoked", "pending", "odd", nil]
        let scopes = [["a"], ["a", "b"], [], nil]
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let id = "r\(Int.random(in: 0..<6, using: &random))"
            let index = rows.firstIndex { $0.id.text == id }
            guard let index else {
                rows.append(row(id, statuses.randomElement(using: &random) ?? nil))
                continue
            }
            switch Int.random(in: 0..<8, using: &random) {
            case 0: rows.remove(at: index)
            case 1:
                rows[index].connection.grantedScopes = scopes.randomElement(using: &random) ?? nil
            case 2: rows[index].connection.extra = ["n": .number(JSONNumber(Int64(rows.count)))]
            case 3:
                rows[index].connection.platform =
                    ["youtube", "kick", nil].randomElement(using: &random) ?? nil
            default: rows[index].connection.status = statuses.randomElement(using: &random) ?? nil
            }
        }
        rows.shuffle(using: &random)
    }
}

/// One thing that happens to the account.
private enum Step {
    case list([ListedRow])
    case refuse(FleetVerdict)
    case rejudge(Detection)
    case credential(UInt8)
    case pass(Int64)

    static func random(
        _ world: inout World, rules: Detection, using random: inout SeededRandom
    ) -> Step {
        switch Int.random(in: 0..<20, using: &random) {
        case 0, 1:
            return .refuse(
                [.thisAccount, .tooFewHeard, .fleetRefused].randomElement(using: &random)
                    ?? .thisAccount)
        case 2:
            var other = rules
            other.healthy = ["active"]
            other.otherStatus = Bool.random(using: &random) ? .failing : .unrecognised
            if Bool.random(using: &random) { other.healthy.insert("odd") }
            return .rejudge(other)
        case 3: return .credential(UInt8.random(in: 0...1, using: &random))
        case 4: return .pass(Int64.random(in: 1...5000, using: &random))
        default:
            world.change(using: &random)
            return .list(world.rows)
        }
    }

    func take(_ story: inout Story) {
        switch self {
        case .list(let rows): story.list(rows)
        case .refuse(let verdict): story.refuse(fleet: verdict)
        case .rejudge(let rules): story.rejudge(rules)
        case .credential(let tag): story.useCredential([tag])
        case .pass(let walks): story.pass(walks)
        }
    }
}

/// A belief as the journal keeps it: JSON text of the head and of each row.
private struct Store {
    private var head: [UInt8]
    private var rows: [ConnectionID: [UInt8]] = [:]

    init(_ belief: Belief) { head = belief.head.json.serialized() }

    mutating func apply(_ write: BeliefWrite?) {
        guard case .update(let head, let rows)? = write else { return }
        self.head = head.json.serialized()
        for (id, row) in rows { self.rows[id] = row?.json.serialized() }
    }

    func belief(of account: AccountID) throws -> Belief {
        guard let head = BeliefHead(json: try JSONValue(parsing: head)) else {
            throw Missed(what: "a head")
        }
        return Belief(
            account: account, head: head,
            rows: try rows.mapValues { bytes in
                guard let row = BelievedRow(json: try JSONValue(parsing: bytes)) else {
                    throw Missed(what: "a row")
                }
                return row
            })
    }
}

/// What was published, and a model of the rules so plain that it can be believed.
private struct Chronicle {
    struct Known {
        var published: Connection
        var standing: Standing?
        var failingSince: Timestamp?
        var replaces: [ConnectionID] = []
        var shown: Timestamp
        var scopesShown: Timestamp?
        var missed = 0
        var missedAt: Timestamp?
    }

    private let account: AccountID
    private var rows: [ConnectionID: Known] = [:]
    private var departed: [ConnectionID: (platform: String?, at: Timestamp)] = [:]
    private var sequence: Int64 = 0
    private var ids: Set<EventID> = []
    private var topic: [String: StateRecord] = [:]
    private var isBaselined = false
    private var isBlind = false
    private var sealed: Timestamp?
    private(set) var seen = 0

    init(of story: Story) { account = story.belief.account }

    mutating func check(_ step: Step, _ story: Story) throws {
        for event in story.events {
            sequence += 1
            #expect(event.sequence == sequence, "no gap, no repeat")
            #expect(ids.insert(event.id).inserted)
            #expect(event.decidedAt == Story.decided(story.walks))
            seen += 1
        }
        for state in try story.states { topic[state.key] = state.record }
        switch step {
        case .list(let list): try checkList(list, story)
        case .rejudge: try checkRules(story)
        case .refuse: isBlind = isBlind || !story.events.isEmpty
        case .credential, .pass: #expect(story.decision.entries.isEmpty)
        }
        try checkTopic(story)
    }

    private mutating func checkList(_ list: [ListedRow], _ story: Story) throws {
        var events = story.events[...]
        if isBlind {
            let first = events.popFirst()
            #expect(first?.short == "restored")
            isBlind = false
        }
        defer {
            isBaselined = true
            sealed = Story.start(story.walks)
        }
        guard isBaselined else {
            let told = story.rules.baseline == .publish ? list.map(\.id).sorted() : []
            #expect(events.map(\.subject) == told)
            for row in list { begin(row, story, baseline: true) }
            return
        }
        let sorted = list.sorted { $0.id < $1.id }
        let replaceable = replaceable(list, story)
        for row in sorted {
            let event = events.first?.subject == row.id ? events.popFirst() : nil
            try checkRow(row, event, story, replaceable: replaceable)
        }
        for id in rows.keys.sorted() where !list.contains(where: { $0.id == id }) {
            try checkMissing(id, story, &events)
        }
        #expect(events.isEmpty, "\(events.map(\.short))")
    }

    private mutating func begin(_ row: ListedRow, _ story: Story, baseline: Bool) {
        let start = Story.start(story.walks)
        var known = Known(published: row.connection, shown: start)
        known.published.health = story.rules.health(of: row.connection.status)
        if row.connection.grantedScopes != nil { known.scopesShown = start }
        known.settle(at: Story.seal(story.walks))
        rows[row.id] = known
    }

    private mutating func checkRow(
        _ row: ListedRow, _ event: ConnectionEvent?, _ story: Story,
        replaceable: [ConnectionID: String?]
    ) throws {
        let (start, seal) = (Story.start(story.walks), Story.seal(story.walks))
        guard let before = rows[row.id] else {
            let change = try #require(event).change
            #expect(change.previous == nil && change.changed.isEmpty && change.scopes == nil)
            try checkWindow(change, after: sealed, story)
            begin(row, story, baseline: false)
            let isFirst = departed.removeValue(forKey: row.id) == nil
            let others = replaceable.filter { id, platform in
                id != row.id && platform != nil && platform == row.connection.platform
            }
            rows[row.id]?.replaces = isFirst ? Array(others.keys.sorted().prefix(16)) : []
            try checkEvent(event, row, story, standing: nil, failingSince: nil)
            return
        }
        var now = before
        now.missed = 0
        now.shown = start
        var shown = row.connection
        shown.health = story.rules.health(of: shown.status)
        if shown.grantedScopes == nil {
            shown.grantedScopes = before.published.grantedScopes
        } else {
            now.scopesShown = start
            if before.published.grantedScopes == nil {
                now.published.grantedScopes = shown.grantedScopes
            }
        }
        let scopesDiffer = now.published.grantedScopes != shown.grantedScopes
        let differs =
            now.published.platform != shown.platform || now.published.status != shown.status
            || scopesDiffer
        #expect((event != nil) == differs, "\(row.id)")
        guard differs, let event else {
            rows[row.id] = now
            return
        }
        let change = try event.change
        let previous = try #require(change.previous)
        #expect(previous == now.published, "previous is what was published, with scopes as known")
        #expect((change.scopes != nil) == scopesDiffer)
        try checkWindow(change, after: scopesDiffer ? before.scopesShown : before.shown, story)
        now.published = shown
        now.settle(at: seal)
        rows[row.id] = now
        try checkEvent(
            event, row, story, standing: before.standing, failingSince: before.failingSince)
    }

    /// Type, failedFor, replacements: what follows from the standing before.
    private mutating func checkEvent(
        _ event: ConnectionEvent?, _ row: ListedRow, _ story: Story, standing: Standing?,
        failingSince: Timestamp?
    ) throws {
        let event = try #require(event)
        let change = try event.change
        let health = story.rules.health(of: row.connection.status)
        #expect(change.connection.health == health)
        #expect(change.connection.extra == row.connection.extra)
        let expected: EventType =
            switch (health, standing) {
            case (.healthy, nil): .linked
            case (.healthy, .failing?): .repaired
            case (.failing, nil), (.failing, .healthy?): .failing
            default:
                change.previous == nil || change.changed != ["grantedScopes"]
                    ? .statusChanged : .scopesChanged
            }
        #expect(event.type == expected, "\(health) after \(String(describing: standing))")
        #expect(
            change.failedFor
                == (expected == .repaired ? failingSince.map { event.time.since($0) } : nil))
        #expect(change.possibleReplacementOf == rows[row.id]?.replaces)
        if health == .healthy { rows[row.id]?.replaces = [] }
    }

    private mutating func checkMissing(
        _ id: ConnectionID, _ story: Story, _ events: inout ArraySlice<ConnectionEvent>
    ) throws {
        guard var known = rows[id] else { return }
        if known.missed == 0 { known.missedAt = Story.seal(story.walks) }
        known.missed += 1
        rows[id] = known
        guard known.missed >= story.rules.confirmations else { return }
        let first = events.popFirst()
        let event = try #require(first)
        #expect(event.short == "unlinked \(id)")
        let change = try event.change
        #expect(change.connection == known.published && change.previous == known.published)
        #expect(event.time == known.missedAt)
        let after = try #require(change.changedBetween?.after)
        #expect(after <= known.shown)
        if story.remembersSeals { #expect(after == known.shown) }
        #expect(change.possibleReplacementOf == known.replaces)
        departed[id] = (known.published.platform, event.decidedAt)
        rows[id] = nil
    }

    private mutating func checkRules(_ story: Story) throws {
        for event in story.events {
            let change = try event.change
            let known = try #require(rows[change.connection.id])
            #expect(event.kind == .resync && change.previous == known.published)
            #expect(change.possibleReplacementOf == known.replaces)
        }
        for id in rows.keys {
            guard var known = rows[id] else { continue }
            let health = story.rules.health(of: known.published.status)
            #expect(
                story.events.contains { $0.subject == id } == (health != known.published.health))
            known.published.health = health
            known.settle(at: Story.decided(story.walks))
            if health == .healthy { known.replaces = [] }
            rows[id] = known
        }
    }

    /// The state topic, replayed, holds the believed rows: as published, but for scopes that were
    /// first learned in silence.
    private func checkTopic(_ story: Story) throws {
        #expect(Set(topic.keys) == Set(rows.keys.map { StateRecord.key(account, $0) }))
        for (id, known) in rows {
            var record = try #require(topic[StateRecord.key(account, id)])
            if record.connection.grantedScopes == nil {
                record.connection.grantedScopes = known.published.grantedScopes
            }
            #expect(record.connection == known.published)
            #expect(record.standing == known.standing)
            #expect(record.sequence <= sequence)
        }
    }

    /// A change lies after the last walk that showed the old state; where the relay has forgotten
    /// that walk, after an earlier one.
    private func checkWindow(
        _ change: ConnectionChange, after: Timestamp?, _ story: Story
    ) throws {
        let window = try #require(change.changedBetween)
        #expect(window.before == Story.seal(story.walks))
        #expect((window.after == nil) == (after == nil))
        guard let told = window.after, let after else { return }
        #expect(told <= after)
        if story.remembersSeals { #expect(told == after) }
    }

    /// Rows that a new row may replace, with their platforms.
    private func replaceable(_ list: [ListedRow], _ story: Story) -> [ConnectionID: String?] {
        let seal = Story.seal(story.walks)
        var found: [ConnectionID: String?] = [:]
        for row in list where story.rules.health(of: row.connection.status) == .failing {
            found[row.id] = row.connection.platform
        }
        for (id, known) in rows where !list.contains(where: { $0.id == id }) {
            found[id] = known.published.platform
        }
        for (id, gone) in departed where !list.contains(where: { $0.id == id }) {
            if seal.since(gone.at) <= .seconds(86_400) { found[id] = gone.platform }
        }
        return found
    }
}

extension Chronicle.Known {
    fileprivate mutating func settle(at time: Timestamp) {
        if published.health == .healthy { (standing, failingSince) = (.healthy, nil) }
        if published.health == .failing, standing != .failing {
            (standing, failingSince) = (.failing, time)
        }
    }
}
