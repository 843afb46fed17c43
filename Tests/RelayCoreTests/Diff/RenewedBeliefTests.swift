import ConnectionEvents
import RelayCore
import Testing

@Suite struct RenewedBeliefTests {
    private let rules = Detection()

    private func record(
        _ id: ConnectionID, _ status: String, standing: Standing? = .healthy, observed: Int64,
        since: Int64? = nil, health: Health? = nil
    ) -> StateRecord {
        StateRecord(
            account: "acct", epoch: 7, sequence: 9,
            connection: Connection(
                id: id, platform: "youtube", status: status,
                health: health ?? rules.health(of: status), grantedScopes: ["a"]),
            standing: standing, observedAt: Timestamp(milliseconds: observed),
            since: since.map { Timestamp(milliseconds: $0) })
    }

    private func renew(
        _ records: [StateRecord], rules: Detection = Detection()
    ) -> (belief: Belief, decision: Decision) {
        Belief.renewed(
            "acct", from: records, epoch: 50_000_000, incarnation: 3, reason: .loss, rules: rules,
            walkTimeout: .seconds(60), decidedAt: Timestamp(milliseconds: 50_000_000))
    }

    private func id(_ text: String) throws -> ConnectionID {
        try #require(ConnectionID(text))
    }

    @Test func `account.resynced is the first event of the new epoch`() throws {
        let (belief, decision) = renew([record(try id("c1"), "active", observed: 1_000_000)])
        #expect(decision.entries.count == 1)
        let event = try #require(decision.entries.first?.event)
        #expect(event.type == .accountResynced)
        #expect(event.kind == .resync)
        #expect((event.epoch, event.sequence) == (50_000_000, 1))
        #expect(event.content == .account(.resynced(reason: "loss")))
        #expect(belief.head.sequence == 1)
        #expect(belief.head.incarnation == 3)
    }

    @Test func `rows are believed as the topic holds them`() throws {
        let records = [
            record(try id("c1"), "active", observed: 1_000_000),
            record(
                try id("c2"), "expired", standing: .failing, observed: 2_000_000, since: 1_500_000),
            record(try id("c3"), "pending", standing: .failing, observed: 3_000_000),
        ]
        let (belief, decision) = renew(records)
        #expect(belief.head.isBaselined && !belief.isOpen)
        #expect(belief.head.rowCount == 3)
        #expect(decision.changedRows == Set(try ["c1", "c2", "c3"].map { try id($0) }))
        let failing = try #require(belief.rows[try id("c2")])
        #expect(failing.standing == .failing)
        #expect(failing.failingSince == Timestamp(milliseconds: 1_500_000))
        #expect(failing.since == Timestamp(milliseconds: 1_500_000))
        #expect(failing.recordedAt == 1)
        let pending = try #require(belief.rows[try id("c3")])
        #expect(pending.failingSince == Timestamp(milliseconds: 3_000_000))
        // A window begins before any of them was seen, by the longest that a walk may take.
        #expect(belief.head.lastSealed?.start == Timestamp(milliseconds: 1_000_000 - 60_000))
    }

    @Test func `the ordinary diff finds what changed and vanished meanwhile`() throws {
        var (belief, _) = renew([
            record(try id("c1"), "active", observed: 1_000_000),
            record(try id("c2"), "expired", standing: .failing, observed: 2_000_000),
        ])
        let walk = SealedWalk(
            id: WalkID(start: Timestamp(milliseconds: 50_001_000), random: (1, 1)),
            sealedAt: Timestamp(milliseconds: 50_001_100),
            rows: [
                ListedRow(record(try id("c1"), "active", observed: 0).connection),
                ListedRow(record(try id("c2"), "active", observed: 0).connection),
                ListedRow(record(try id("c3"), "active", observed: 0).connection),
            ], pages: [])
        let decision = belief.observe(
            walk, lastSealed: nil, rules: rules, decidedAt: Timestamp(milliseconds: 50_001_200))
        let events = decision.entries.compactMap(\.event)
        #expect(events.map(\.type) == [.repaired, .linked])
        #expect(events.map(\.sequence) == [2, 3])
        guard case .connection(let change)? = events.first?.content else { return }
        #expect(change.changedBetween?.after == Timestamp(milliseconds: 940_000))
    }

    @Test func `an account without a record waits for its baseline`() {
        let (belief, decision) = renew([])
        #expect(!belief.head.isBaselined && belief.isOpen)
        #expect(belief.rows.isEmpty)
        #expect(decision.entries.map(\.event?.type) == [.accountResynced])
    }

    @Test func `what other rules said of a row is judged anew, and told as no news`() throws {
        let (belief, decision) = renew([
            record(try id("c1"), "active", standing: .failing, observed: 1, health: .failing)
        ])
        let events = decision.entries.compactMap(\.event)
        #expect(events.map(\.type) == [.accountResynced, .statusChanged])
        #expect(events.allSatisfy { $0.kind == .resync })
        #expect(belief.rows[try id("c1")]?.standing == .healthy)
        #expect(belief.head.rulesDigest == rules.digest)
    }
}
