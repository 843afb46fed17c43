import ConnectionEvents
import JSON
import RelayCore
import Testing

/// How a belief is kept: whatever it must remember is read as it was written.
@Suite struct BeliefCodingTests {
    private let walk = WalkID(start: Story.noon, random: (3, 4))

    private func head() -> BeliefHead {
        var head = BeliefHead(epoch: 1_796_040_000_123, incarnation: 4, rulesDigest: .max)
        head.sequence = 42
        head.isBaselined = true
        head.credentialTag = [0, 255, 16]
        head.lastSealed = walk
        head.refusal = Refusal(
            count: 3, since: Story.noon, status: 403, code: "insufficient_scope",
            requiredScope: "connections:read")
        head.blindSince = Story.seal(1)
        head.missingRows = 2
        head.departed = [
            Departed(id: "a", platform: "kick", at: Story.noon),
            Departed(id: "b/\u{301}", platform: nil, at: Story.seal(1)),
        ]
        return head
    }

    private func row() -> BelievedRow {
        var row = BelievedRow(
            shown: Connection(
                id: "c", platform: nil, status: "expired", health: .failing,
                grantedScopes: ["a", "b"], extra: ["n": [1, nil]], extraOmitted: true),
            observedAt: Story.seal(2), recordedAt: 7)
        row.standing = .failing
        row.failingSince = Story.seal(1)
        row.since = Story.seal(2)
        row.missing = Missing(
            walk: walk, firstSeal: Story.seal(3), count: 1, lastShown: Story.start(2))
        row.scopesShown = Story.start(1)
        row.possibleReplacementOf = ["x", "y"]
        return row
    }

    private func again(_ value: JSONValue) throws -> JSONValue {
        try JSONValue(parsing: value.serialized())
    }

    @Test func `a head with all that it may hold is read as it was written`() throws {
        #expect(BeliefHead(json: try again(head().json)) == head())
        var lesser = head()
        lesser.refusal?.requiredScope = nil
        #expect(BeliefHead(json: try again(lesser.json)) == lesser)
    }

    @Test func `a row with all that it may hold is read as it was written`() throws {
        #expect(BelievedRow(json: try again(row().json)) == row())
        var lesser = row()
        lesser.missing?.lastShown = nil
        #expect(BelievedRow(json: try again(lesser.json)) == lesser)
    }

    @Test func `what an older relay did not write reads as nothing`() throws {
        let old = try #require(BeliefHead(json: ["epoch": 5, "sequence": 6, "rules": "ff"]))
        #expect(
            old
                == {
                    var head = BeliefHead(epoch: 5, incarnation: 0, rulesDigest: 255)
                    head.sequence = 6
                    // Rows were not counted yet: asked in vain is better than not at all.
                    head.rowCount = 1
                    return head
                }())
        let shown: JSONValue = ["id": "a", "health": "healthy"]
        let row = BelievedRow(json: ["shown": shown, "observedAt": "2026-11-30T12:00:00.000Z"])
        #expect(row?.standing == nil)
        #expect(row?.recordedAt == 0)
    }

    @Test(
        arguments: [
            nil, [], "x", ["epoch": 5], ["epoch": 5, "sequence": 6, "rules": "?"],
            ["shown": ["id": "a"]],
            ["shown": ["id": ""], "observedAt": "2026-11-30T12:00:00.000Z"],
        ] as [JSONValue])
    func `what is no belief is nil, never a trap`(json: JSONValue) {
        #expect(BeliefHead(json: json) == nil)
        #expect(BelievedRow(json: json) == nil)
    }

    @Test func `a row's state record says what the row was published as`() {
        let record = row().stateRecord(of: "acct", epoch: 9)
        #expect(record.connection == row().shown)
        #expect(record.epoch == 9)
        #expect(record.sequence == 7)
        #expect(record.standing == .failing)
        #expect(record.observedAt == Story.seal(2))
        #expect(record.since == Story.seal(2))
    }
}
