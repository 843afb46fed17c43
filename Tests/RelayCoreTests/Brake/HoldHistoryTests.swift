import ConnectionEvents
import RelayCore
import Testing

/// Random histories under the brake: held rows stand still, and nothing is lost.
@Suite struct HoldHistoryTests {
    /// What a consumer of the raw lane makes of the events.
    private struct Reader {
        var sequence: Int64 = 0
        var shown: [ConnectionID: Connection] = [:]
        var hold: String?
        var released = 0

        mutating func read(_ events: [ConnectionEvent]) throws {
            for event in events {
                sequence += 1
                #expect(event.sequence == sequence, "no gap, no repeat")
                switch event.content {
                case .connection(let change): read(change, event.type)
                case .account(.held(let id, _, let removals, let failures, let ids)):
                    #expect(hold == nil, "one hold at a time")
                    #expect(min(removals + failures, 100) == ids.count)
                    hold = id
                case .account(.released(let id, let recovered, let published, let discarded)):
                    #expect(hold == id)
                    hold = nil
                    released += recovered + published + discarded
                case .account: break
                }
            }
        }

        private mutating func read(_ change: ConnectionChange, _ type: EventType) {
            let id = change.connection.id
            if let before = shown[id] {
                #expect(change.previous?.status == before.status)
                #expect(change.previous?.health == before.health)
            }
            #expect(change.changedBetween.map { ($0.after ?? $0.before) <= $0.before } ?? false)
            shown[id] = type == .unlinked ? nil : change.connection
        }
    }

    private static let rules = Detection(
        brake: Brake(
            share: 0.4, atLeast: 3, failuresAfter: .seconds(50), removalsAfter: .seconds(90)))
    private static let words = ["active", "active", "expired", "expired", "pending", "revoked"]

    private func list(_ dice: inout Dice, mood: Int) -> [ListedRow] {
        (0..<8).compactMap { index in
            if dice.next(10) < (mood == 1 ? 8 : 1) { return nil }
            let word = mood == 2 ? "expired" : Self.words[dice.next(Self.words.count)]
            return row("r\(index)", dice.next(3) == 0 ? word : "active")
        }
    }

    @Test(arguments: 0..<200)
    func `held rows stand still, numbers have no gap, and in the end all that is true is told`(
        seed: Int
    ) throws {
        var dice = Dice(seed: UInt64(seed) &* 7919 &+ 3)
        var story = try Story(Self.rules, baseline: (0..<8).map { row("r\($0)", "active") })
        var reader = Reader()
        reader.shown = story.belief.rows.mapValues(\.shown)
        var truth: [ListedRow] = []
        for _ in 0..<40 {
            let before = story.belief
            let roll = dice.next(20)
            if roll == 0, before.head.hold != nil {
                let action: HoldAction = dice.next(2) == 0 ? .release : .discard
                try reader.read(try story.end(action))
                #expect(story.belief.head.hold == nil)
                continue
            }
            if dice.next(3) > 0 || truth.isEmpty { truth = list(&dice, mood: dice.next(4)) }
            try reader.read(story.list(truth))
            standStill(before, story.belief)
            #expect(story.belief.rows.mapValues(\.shown.status) == reader.shown.mapValues(\.status))
            // As after a restart.
            story.belief = try reread(story.belief)
        }
        for _ in 0..<15 { try reader.read(story.list(truth)) }
        #expect(story.belief.head.hold == nil && reader.hold == nil, "time ends every hold")
        #expect(
            reader.shown.mapValues(\.status)
                == Dictionary(
                    uniqueKeysWithValues: truth.map { ($0.id, $0.connection.status) }))
        #expect(story.belief.head.missingRows == 0 && story.belief.head.rowCount == truth.count)
    }

    /// What is held before and after a walk is believed, and recorded, as before.
    private func standStill(_ before: Belief, _ after: Belief) {
        for (id, row) in after.rows where row.held != nil {
            guard var old = before.rows[id] else {
                Issue.record("a row that was not believed is held")
                continue
            }
            old.held = row.held
            old.missing = row.missing
            old.scopesShown = row.scopesShown
            #expect(old == row)
        }
        let held = after.rows.values.compactMap(\.held)
        #expect(after.head.hold?.removals ?? 0 == held.count { $0.kind == .removal })
        #expect(after.head.hold?.failures ?? 0 == held.count { $0.kind == .failure })
    }

    private func reread(_ belief: Belief) throws -> Belief {
        let head = try #require(BeliefHead(json: belief.head.json))
        let rows = belief.rows.compactMapValues { BelievedRow(json: $0.json) }
        let read = Belief(account: belief.account, head: head, rows: rows)
        #expect(read == belief)
        return read
    }
}
