import ConnectionEvents
import JSON
import RelayCore
import Testing

/// A watch of a test: `number` is its state, too.
func watch(
    _ number: Int64, _ platform: String = "youtube", reconnecting: ConnectionID? = nil,
    expires: Timestamp = Story.start(1000)
) throws -> LinkWatch {
    LinkWatch(
        number: number, account: "acct",
        attempt: AttemptHash(state: "state-\(number)"), platform: platform,
        reconnecting: reconnecting, openedAt: Story.noon, expiresAt: expires)
}

@Suite struct LinkMatchingTests {
    private let rules = Detection()
    private let begun = Story.start(5)

    private func sight(
        _ id: String, _ status: String = "active", platform: String? = "youtube",
        state: Int64? = nil, isNew: Bool = true, isChanged: Bool = true, known: Int64? = nil
    ) -> LinkSight {
        var connection = row(
            id, status, platform: platform,
            extra: state.map { ["state": .string("state-\($0)")] } ?? [:]
        ).connection
        connection.health = rules.health(of: status)
        return LinkSight(
            connection, isNew: isNew, isChanged: isChanged,
            known: known.map { AttemptHash(state: "state-\($0)") })
    }

    private func found(
        _ sights: [LinkSight], _ watches: [LinkWatch]
    ) -> [String: String] {
        let matches = LinkMatching(sights, watches: watches, begun: begun).matches
        return Dictionary(
            uniqueKeysWithValues: matches.map {
                ($0.text, "\($1.watch.number) \($1.rule.rawValue)")
            })
    }

    @Test func `a new row comes from the one open attempt of its platform`() throws {
        let one = try watch(1)
        #expect(found([sight("c1")], [one]) == ["c1": "1 platform"])
        #expect(found([sight("c1", platform: "kick")], [one]).isEmpty)
        #expect(found([sight("c1", platform: nil)], [one]).isEmpty)
        #expect(found([sight("c1", isNew: false)], [one]).isEmpty)
        #expect(found([sight("c1")], []).isEmpty)
        #expect(found([sight("c1")], [one, try watch(2, "kick")]) == ["c1": "1 platform"])
    }

    @Test func `an attempt that was over long before is not meant by the platform`() throws {
        let old = try watch(1, expires: begun.adding(.seconds(-901)))
        let late = try watch(2, expires: begun.adding(.seconds(-900)))
        #expect(found([sight("c1")], [old]).isEmpty)
        #expect(found([sight("c1")], [old, late]) == ["c1": "2 platform"])
        #expect(found([sight("c1", state: 1)], [old]) == ["c1": "1 state"])
    }

    @Test func `where several could be meant nobody is named`() throws {
        let two = [try watch(1), try watch(2)]
        let matching = LinkMatching([sight("c1")], watches: two, begun: begun)
        #expect(matching.matches.isEmpty)
        #expect(matching.ambiguous == [1, 2])
        let rows = LinkMatching([sight("c1"), sight("c2")], watches: [two[0]], begun: begun)
        #expect(rows.matches.isEmpty)
        #expect(rows.ambiguous == [1])
    }

    @Test func `the row's state tells attempts apart, and disowns strangers`() throws {
        let two = [try watch(1), try watch(2)]
        #expect(found([sight("c1", state: 2)], two) == ["c1": "2 state"])
        #expect(
            found([sight("c1", state: 2), sight("c2")], two)
                == ["c1": "2 state", "c2": "1 platform"])
        let stranger = LinkMatching([sight("c1", state: 9)], watches: [two[0]], begun: begun)
        #expect(stranger.matches.isEmpty)
        #expect(stranger.ambiguous.isEmpty, "another made it; ours is still open")
    }

    @Test func `a repair is known by the row that it is for`() throws {
        let repair = try watch(1, reconnecting: "c1")
        let changed = sight("c1", isNew: false)
        #expect(found([changed], [repair]) == ["c1": "1 reconnect"])
        #expect(found([sight("c2")], [repair]).isEmpty, "a new row is no repair")
        #expect(
            found([sight("c1", state: 7, isNew: false)], [repair]) == ["c1": "1 reconnect"],
            "a row may keep the state of the attempt that made it")
        #expect(
            found([sight("c1", isNew: false, isChanged: false)], [repair]).isEmpty,
            "healthy before and still: that says nothing")
        #expect(
            found([sight("c1", state: 1, isNew: false, isChanged: false)], [repair])
                == ["c1": "1 state"])
    }

    @Test func `two repairs of one row are told apart by its state alone`() throws {
        let two = [try watch(1, reconnecting: "c1"), try watch(2, reconnecting: "c1")]
        #expect(found([sight("c1", state: 2, isNew: false)], two) == ["c1": "2 state"])
        let plain = LinkMatching([sight("c1", isNew: false)], watches: two, begun: begun)
        #expect(plain.matches.isEmpty)
        #expect(plain.ambiguous == [1, 2])
    }

    @Test func `what gets worse was not repaired`() throws {
        let repair = try watch(1, reconnecting: "c1")
        #expect(found([sight("c1", "revoked", isNew: false)], [repair]).isEmpty)
        #expect(found([sight("c1", "pending", isNew: false)], [repair]) == ["c1": "1 reconnect"])
    }

    @Test func `what was matched before stays matched`() throws {
        var two = [try watch(1), try watch(2)]
        #expect(
            found([sight("c1", isNew: false, known: 2)], two) == ["c1": "2 known"])
        two[0].connection = "c5"
        #expect(found([sight("c5")], two) == ["c5": "1 known"])
        #expect(found([sight("c6")], two) == ["c6": "2 platform"], "the first has its row")
    }

    @Test func `findings say how each attempt stands`() throws {
        let watches = [
            try watch(1), try watch(2, "kick"), try watch(3, "twitch", expires: begun),
            try watch(4, reconnecting: "r", expires: begun),
            try watch(5, "linkedin", expires: begun.adding(.milliseconds(1))),
            try watch(6, reconnecting: "s"),
        ]
        let sights = [
            sight("c1"), sight("c2", "pending", platform: "kick"),
            sight("r", isNew: false, isChanged: false), sight("s", isNew: false),
        ]
        let findings = LinkMatching(sights, watches: watches, begun: begun).findings(
            sights, watches: watches, begun: begun, at: Story.seal(5))
        let words = findings.map {
            "\($0.number) \($0.connection?.text ?? "-") \($0.outcome?.rawValue ?? "open")"
        }
        #expect(
            words == [
                "1 c1 linked", "2 c2 open", "3 - abandoned", "4 - unchanged", "6 s repaired",
            ])
        var seen = watches[1]
        seen.connection = "c2"
        let again = [sight("c2", "pending", platform: "kick", isNew: false, isChanged: false)]
        #expect(
            LinkMatching(again, watches: [seen], begun: begun).findings(
                again, watches: [seen], begun: begun, at: Story.seal(6)
            ).isEmpty, "nothing new")
    }

    @Test func `a row that was matched before keeps the rule that was noted then`() throws {
        var claimed = try watch(1)
        claimed.connection = "c1"
        #expect(found([sight("c1")], [claimed]) == ["c1": "1 known"])
        claimed.rule = .state
        #expect(found([sight("c1")], [claimed]) == ["c1": "1 state"])
        let sights = [sight("c1", "pending")]
        let matching = LinkMatching(sights, watches: [try watch(1)], begun: begun)
        let findings = matching.findings(
            sights, watches: [try watch(1)], begun: begun, at: Story.noon)
        #expect(findings.map(\.rule) == [.platform])
    }
}
