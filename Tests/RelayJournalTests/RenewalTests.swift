import ConnectionEvents
import Hashing
import JSON
import RelayCore
import SQLite
import Testing

@testable import RelayJournal

@Suite struct RenewalTests {
    let folder: Folder
    let journal: SQLiteJournal
    let lock: JournalLock
    let a: AccountID
    let b: AccountID
    let c1: ConnectionID
    let c2: ConnectionID

    private static let events = SinkName("events")
    private static let states = SinkName("states")

    init() throws {
        folder = try Folder()
        lock = try JournalLock(journal: folder.journal)
        journal = try SQLiteJournal(try folder.open(), lock: lock)
        a = try account("acct_a")
        b = try account("acct_b")
        c1 = try connection("c1")
        c2 = try connection("c2")
    }

    private func record(_ account: AccountID, _ id: ConnectionID, sequence: Int64) -> StateRecord {
        StateRecord(
            account: account, epoch: 5, sequence: sequence, connection: row(id).shown,
            standing: .healthy, observedAt: Timestamp(milliseconds: 1000), since: nil)
    }

    private func state(
        _ account: AccountID, _ id: ConnectionID, sequence: Int64? = 1, partition: Int32 = 0,
        at time: Int64 = 1
    ) -> ReadState {
        ReadState(
            account: account, connection: id,
            value: sequence.map { record(account, id, sequence: $0).json.serialized() },
            partition: partition, writtenAt: time)
    }

    /// A journal with a belief and three entries, one of them delivered.
    private func fill() throws {
        journal.awaitWord(of: [Self.states])
        var batch = JournalBatch()
        batch.beliefs = [(a, .update(head(epoch: 5, sequence: 3), rows: [c1: row(c1)]))]
        batch.entries = (1...3).map { entry(a, c1, sequence: $0, numberedBy: [Self.events]) }
        _ = try journal.commit(batch)
        try journal.setPlaces(
            [Self.events: JournalPosition(1), Self.states: JournalPosition(1)],
            told: [Self.events: JournalPosition(1)])
        try journal.saveMarks([
            a: SealMark(walk: WalkID(high: 1, low: 1), fingerprint: .init(high: 1, low: 1))
        ])
    }

    private var told: [SinkName: Progress] {
        [
            Self.events: Progress(
                journal: JournalID("before"), position: JournalPosition(9),
                eventID: EventID("e"), epoch: 8, instance: "i")
        ]
    }

    private func renewal(_ accounts: [AccountID], kept: Int64 = 1) -> JournalRenewal {
        JournalRenewal(
            accounts: accounts.map { ($0, 1) }, eventSinks: [Self.events],
            kept: JournalPosition(kept), answered: told, epoch: 100)
    }

    private func begin(
        _ account: AccountID, _ incarnation: Int64, _ records: [StateRecord]
    ) -> (Belief, [NewEntry]) {
        let (belief, decision) = Belief.renewed(
            account, from: records, epoch: 100, incarnation: incarnation, reason: .restore,
            rules: Detection(), walkTimeout: .seconds(1),
            decidedAt: Timestamp(milliseconds: 100))
        var entries = decision.entries
        for index in entries.indices { entries[index].numberedBy = [Self.events] }
        return (belief, entries)
    }

    private func reopened() throws -> SQLiteJournal {
        try SQLiteJournal(try folder.open(.existing), lock: lock)
    }

    @Test func `it begins anew with what was read, and nothing of before is to be sent`() throws {
        try fill()
        try journal.keep([
            state(a, c1), state(a, c2, sequence: 4), state(b, c1),
        ])
        let id = try journal.renew(renewal([a, b]), begin: begin)
        let renewed = try reopened()
        #expect(renewed.id == id && id != journal.id)
        let belief = try #require(try renewed.belief(of: a))
        #expect(Set(belief.rows.keys) == [c1, c2])
        #expect((belief.head.epoch, belief.head.sequence) == (100, 1))
        #expect(try renewed.heads().count == 2)
        #expect(try renewed.lastEpoch() == 100)
        #expect(try renewed.marks().isEmpty)
        #expect(try renewed.places() == [Self.events: JournalPosition(3)])
        #expect(try renewed.answered() == told)
        #expect(try journal.told().isEmpty)
        #expect(try renewed.unheard().isEmpty)
        // What was delivered stays to be looked at; what was not is gone; positions go on.
        let entries = try renewed.entries(after: .start, limit: 10, bytes: 1 << 20)
        #expect(entries.map(\.position.number) == [1, 4, 5])
        #expect(entries.dropFirst().map(\.event?.type) == [.accountResynced, .accountResynced])
        #expect(entries.dropFirst().map(\.account) == [a, b])
        #expect(entries[1].previousNumbers == [Self.events: 0])
        #expect(try renewed.head() == JournalPosition(5))
    }

    @Test func `of a key's records the last counts, in a partition and by time across them`() throws
    {
        try journal.keep([
            state(a, c1, sequence: 1, at: 10), state(a, c1, sequence: 2, at: 5),
            state(a, c2, sequence: 1, partition: 0, at: 10),
        ])
        try journal.keep([
            state(a, c2, sequence: nil, partition: 1, at: 9),
            state(b, c1, sequence: 1, partition: 0, at: 1),
            state(b, c1, sequence: nil, partition: 1, at: 2),
        ])
        var seen: [AccountID: [StateRecord]] = [:]
        _ = try journal.renew(renewal([a, b], kept: 0)) { account, incarnation, records in
            seen[account] = records
            return begin(account, incarnation, records)
        }
        #expect(seen[a] == [record(a, c1, sequence: 2), record(a, c2, sequence: 1)])
        #expect(seen[b] == [])
    }

    @Test func `a renewal that fails, or never comes, leaves the journal as it was`() throws {
        try fill()
        try journal.keep([state(b, c1)])
        let same = try reopened()
        #expect(same.id == journal.id)
        #expect(try same.remembered(of: b).isEmpty)
        #expect(try same.belief(of: a)?.head.epoch == 5)
        try journal.forgetStates()
        _ = try journal.renew(renewal([a])) { account, incarnation, records in
            #expect(records.isEmpty)
            return begin(account, incarnation, records)
        }
    }

    @Test func `after it nothing of before is taken any more`() throws {
        try fill()
        _ = try journal.renew(renewal([a]), begin: begin)
        var batch = JournalBatch()
        batch.beliefs = [(a, .update(head(epoch: 5, sequence: 4), rows: [:]))]
        let failure = try #require(throws: JournalFailure.self) { try journal.commit(batch) }
        #expect(failure.code == "renewed")
        #expect(throws: JournalFailure.self) {
            try journal.setPlaces([Self.events: JournalPosition(2)])
        }
        #expect(try reopened().belief(of: a)?.head.epoch == 100)
    }

    @Test func `an account that the register does not have is remembered until it is met`() throws {
        try journal.keep([state(a, c1), state(b, c1), state(b, c2)])
        _ = try journal.renew(renewal([a], kept: 0), begin: begin)
        let renewed = try reopened()
        #expect(try renewed.remembered(of: a).isEmpty)
        #expect(try renewed.remembered(of: b).count == 2)
        #expect(try renewed.belief(of: b) == nil)
        var batch = JournalBatch()
        batch.beliefs = [(b, .update(head(epoch: 101), rows: [:]))]
        _ = try renewed.commit(batch)
        #expect(try renewed.remembered(of: b).isEmpty)
    }
}
