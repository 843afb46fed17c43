import ConnectionEvents
import Foundation
import Hashing
import JSON
import RelayCore
import SQLite
import Testing

@testable import RelayJournal

@Suite struct CommitTests {
    let folder: Folder
    let journal: SQLiteJournal
    let a: AccountID
    let c1: ConnectionID
    let c2: ConnectionID

    init() throws {
        folder = try Folder()
        journal = try SQLiteJournal(
            try folder.open(), lock: try JournalLock(journal: folder.journal))
        a = try account("acct_1")
        c1 = try connection("c1")
        c2 = try connection("c2")
    }

    private func reopened() throws -> JournalFile { try folder.open(.existing) }

    private func belief(_ sequence: Int64) -> JournalBatch {
        var batch = JournalBatch()
        batch.beliefs = [
            (a, .update(head(epoch: 5, sequence: sequence), rows: [c1: row(c1), c2: row(c2)]))
        ]
        return batch
    }

    @Test func `an empty journal stands at its start`() throws {
        #expect(try journal.head() == .start)
        #expect(try journal.tail() == JournalPosition(1))
        #expect(try journal.lastEpoch() == 0)
        #expect(try journal.belief(of: a) == nil)
        #expect(try journal.entries(after: .start, limit: 10, bytes: 1000).isEmpty)
        #expect(try journal.commit(JournalBatch()) == .start)
    }

    @Test func `belief and events come back as they were committed`() throws {
        var batch = belief(1)
        batch.entries = [
            entry(a, c1, sequence: 1),
            NewEntry(account: a, event: nil, state: StateWrite(key: "acct_1/c2", value: nil)),
        ]
        #expect(try journal.commit(batch) == JournalPosition(2))
        let belief = try #require(try journal.belief(of: a))
        #expect(
            belief
                == Belief(
                    account: a, head: head(epoch: 5, sequence: 1), rows: [c1: row(c1), c2: row(c2)])
        )
        #expect(try journal.heads() == [a: head(epoch: 5, sequence: 1)])
        #expect(try journal.lastEpoch() == 5)

        let entries = try journal.entries(after: .start, limit: 10, bytes: 1 << 20)
        #expect(entries.map(\.position.number) == [1, 2])
        let made = event(a, c1, sequence: 1)
        #expect(entries[0].event == EventFacts(made))
        #expect(entries[0].body == made.serialized())
        #expect(entries[0].state == StateWrite(key: "acct_1/c1", value: Array("{}".utf8)))
        #expect(entries[1].event == nil)
        #expect(entries[1].body == nil)
        #expect(entries[1].state == StateWrite(key: "acct_1/c2", value: nil))
        #expect(try journal.eventID(at: JournalPosition(1)) == made.id)
        #expect(try journal.eventID(at: JournalPosition(2)) == nil)
        #expect(try journal.eventID(at: JournalPosition(3)) == nil)
        #expect(try journal.tail() == JournalPosition(1))
    }

    @Test func `a row that is gone leaves and the others stay`() throws {
        _ = try journal.commit(belief(0))
        var batch = JournalBatch()
        batch.beliefs = [(a, .update(head(epoch: 5, sequence: 1), rows: [c1: nil]))]
        _ = try journal.commit(batch)
        #expect(try journal.belief(of: a)?.rows == [c2: row(c2)])
    }

    @Test func `of a damaged belief head and keys are left, as far as they can be read`() throws {
        _ = try journal.commit(belief(7))
        #expect(try journal.remains(of: a).head == head(epoch: 5, sequence: 7))
        let database = try Database(path: folder.journal)
        try database.execute("UPDATE rows SET row = x'00' WHERE connection = 'c1'")
        #expect(throws: JournalFailure.self) { try journal.belief(of: a) }
        var left = try journal.remains(of: a)
        #expect(left.head == head(epoch: 5, sequence: 7))
        #expect(left.connections.sorted() == [c1, c2])
        try database.execute("UPDATE heads SET head = x'00'")
        left = try journal.remains(of: a)
        #expect(left.head == nil)
        #expect(left.connections.sorted() == [c1, c2])
        #expect(try journal.remains(of: account("none")).connections.isEmpty)
    }

    @Test func `a dropped belief leaves nothing but its events`() throws {
        var batch = belief(1)
        batch.entries = [entry(a, c1, sequence: 1, numberedBy: [SinkName("s")])]
        _ = try journal.commit(batch)
        try journal.saveMarks([a: SealMark(walk: WalkID(high: 1, low: 2), fingerprint: .of([1]))])
        var drop = JournalBatch()
        drop.beliefs = [(a, .drop)]
        drop.entries = [entry(a, c1, sequence: 2, numberedBy: [SinkName("s")])]
        _ = try journal.commit(drop)
        #expect(try journal.belief(of: a) == nil)
        #expect(try journal.marks().isEmpty)
        let entries = try journal.entries(after: .start, limit: 10, bytes: 1 << 20)
        #expect(entries.map(\.previousNumbers) == [[SinkName("s"): 0], [SinkName("s"): 1]])
        #expect(try journal.lastEpoch() == 5)
    }

    @Test func `a commit that fails in its midst leaves belief and events as before`() throws {
        var first = belief(1)
        first.entries = [entry(a, c1, sequence: 1)]
        _ = try journal.commit(first)
        let other = try Database(path: folder.journal)
        try other.execute(
            """
            CREATE TRIGGER fault BEFORE INSERT ON entries WHEN NEW.sequence = 3
            BEGIN SELECT RAISE(ABORT, 'fault'); END
            """)
        var second = JournalBatch()
        second.beliefs = [
            (a, .update(head(epoch: 6, sequence: 3), rows: [c1: row(c1, status: "expired")]))
        ]
        second.entries = [entry(a, c1, sequence: 2), entry(a, c2, sequence: 3)]
        #expect(throws: JournalFailure.self) { try journal.commit(second) }
        #expect(try journal.head() == JournalPosition(1))
        #expect(try journal.belief(of: a)?.head == head(epoch: 5, sequence: 1))
        #expect(try journal.belief(of: a)?.rows[c1] == row(c1))
        #expect(try journal.entries(after: .start, limit: 10, bytes: 1 << 20).count == 1)

        try other.execute("DROP TRIGGER fault")
        #expect(try journal.commit(second) == JournalPosition(3))
        #expect(try journal.belief(of: a)?.head.sequence == 3)
    }

    @Test func `a connection dropped in the midst of a commit leaves everything as before`() throws
    {
        _ = try journal.commit(belief(1))
        do {
            let torn = try Database(path: folder.journal)
            try torn.execute(
                """
                BEGIN IMMEDIATE; DELETE FROM rows; UPDATE heads SET head = x'00';
                INSERT INTO entries(position, account, account_key) VALUES (1, 'acct_1', 0)
                """)
        }
        #expect(try journal.belief(of: a)?.rows.count == 2)
        #expect(try journal.commit(belief(2)) == .start)
        #expect(try journal.entries(after: .start, limit: 10, bytes: 1000).isEmpty)
    }

    @Test func `a journal opened again goes on where it was`() throws {
        let folder = try Folder()
        do {
            let first = try SQLiteJournal(
                try folder.open(), lock: try JournalLock(journal: folder.journal))
            var batch = belief(2)
            batch.entries = [entry(a, c1, sequence: 1), entry(a, c1, sequence: 2)]
            _ = try first.commit(batch)
            try first.close()
        }
        let second = try SQLiteJournal(
            try folder.open(.existing), lock: try JournalLock(journal: folder.journal))
        #expect(try second.head() == JournalPosition(2))
        var next = JournalBatch()
        next.entries = [entry(a, c1, sequence: 3)]
        #expect(try second.commit(next) == JournalPosition(3))
    }

    @Test func `positions are not used again when old entries are gone`() throws {
        var batch = JournalBatch()
        batch.entries = [entry(a, c1, sequence: 1)]
        _ = try journal.commit(batch)
        try Database(path: folder.journal).execute("DELETE FROM entries")
        #expect(try journal.tail() == JournalPosition(2))
        batch.entries = [entry(a, c1, sequence: 2)]
        #expect(try journal.commit(batch) == JournalPosition(2))
    }

    @Test func `entries come in pieces of the size asked for, and at least one`() throws {
        var batch = JournalBatch()
        batch.entries = (1...10).map { entry(a, c1, sequence: $0) }
        _ = try journal.commit(batch)
        func positions(_ after: Int64, _ limit: Int, _ bytes: Int) throws -> [Int64] {
            try journal.entries(after: JournalPosition(after), limit: limit, bytes: bytes)
                .map(\.position.number)
        }
        #expect(try positions(0, 3, 1 << 20) == [1, 2, 3])
        #expect(try positions(8, 100, 1 << 20) == [9, 10])
        #expect(try positions(4, 100, 1) == [5])
        #expect(try positions(10, 100, 1 << 20).isEmpty)
        let some = try positions(0, 100, 5000)
        #expect(some.count > 1 && some.count < 10)
    }

    @Test func `filtered sinks are told the account's number before, per epoch`() throws {
        let (s, t) = (SinkName("s"), SinkName("t"))
        var batch = JournalBatch()
        batch.entries = [
            entry(a, c1, sequence: 1, numberedBy: [s]),
            entry(a, c1, sequence: 2),
            entry(a, c1, sequence: 3, numberedBy: [s, t]),
        ]
        _ = try journal.commit(batch)
        batch.entries = [
            entry(a, c1, sequence: 4, numberedBy: [s]),
            entry(a, c1, epoch: 6, sequence: 1, numberedBy: [s]),
        ]
        _ = try journal.commit(batch)
        let numbers = try journal.entries(after: .start, limit: 10, bytes: 1 << 20)
            .map(\.previousNumbers)
        #expect(numbers == [[s: 0], [:], [s: 1, t: 0], [s: 3], [s: 0]])
    }

    @Test(arguments: [false, true])
    func `the last event of an account that is gone is numbered too`(isMetAgain: Bool) throws {
        let s = SinkName("s")
        var batch = JournalBatch()
        batch.entries = [entry(a, c1, sequence: 1, numberedBy: [s])]
        _ = try journal.commit(batch)
        batch.beliefs = [(a, .drop)]
        batch.entries = [entry(a, c1, sequence: 2, numberedBy: [s])]
        if isMetAgain {
            let head = BeliefHead(epoch: 6, incarnation: 2, rulesDigest: 1)
            batch.beliefs.append((a, .update(head, rows: [:])))
            batch.entries.append(entry(a, c1, epoch: 6, sequence: 1, numberedBy: [s]))
        }
        _ = try journal.commit(batch)
        batch.beliefs = []
        batch.entries = [entry(a, c1, epoch: 6, sequence: 2, numberedBy: [s])]
        _ = try journal.commit(batch)
        let numbers = try journal.entries(after: .start, limit: 10, bytes: 1 << 20)
            .map(\.previousNumbers)
        #expect(numbers == [[s: 0], [s: 1]] + (isMetAgain ? [[s: 0], [s: 1]] : [[s: 0]]))
    }

    @Test func `places move and are forgotten`() throws {
        let (s, t) = (SinkName("s"), SinkName("t"))
        #expect(try journal.place(of: s) == nil)
        try journal.setPlaces([s: JournalPosition(4), t: .start])
        try journal.setPlaces([s: JournalPosition(5)])
        #expect(try journal.places() == [s: JournalPosition(5), t: .start])
        try journal.setPlaces([t: nil])
        #expect(try journal.place(of: t) == nil)
        #expect(try journal.place(of: s) == JournalPosition(5))
    }

    @Test func `where the head was when a broker was last heard is noted with the first entry`()
        throws
    {
        let folder = try Folder()
        let (events, states) = (SinkName("events"), SinkName("state"))
        func open() throws -> SQLiteJournal {
            try SQLiteJournal(
                try folder.open(), lock: try JournalLock(journal: folder.journal))
        }
        func append(_ sequence: Int64, _ journal: SQLiteJournal) throws {
            var batch = JournalBatch()
            batch.entries = [entry(a, c1, sequence: sequence)]
            _ = try journal.commit(batch)
        }
        do {
            let journal = try open()
            try append(1, journal)
            journal.awaitWord(of: [events, states])
            _ = try journal.commit(belief(1))
            #expect(try journal.unheard().isEmpty, "a belief alone is no entry")
            try append(2, journal)
            try append(3, journal)
            let start = JournalPosition(1)
            #expect(try journal.unheard() == [events: start, states: start])
            try journal.close()
        }
        // The next life has not heard either, and does not move it.
        let journal = try open()
        journal.awaitWord(of: [events, states])
        try append(4, journal)
        #expect(try journal.unheard()[events] == JournalPosition(1))
        try journal.heard([events])
        try append(5, journal)
        #expect(try journal.unheard() == [states: JournalPosition(1)])
        try journal.setPlaces([states: nil])
        #expect(try journal.unheard().isEmpty, "a sink that is gone leaves nothing")
    }

    @Test func `marks are kept beside those saved before`() throws {
        func mark(_ number: UInt64) -> SealMark {
            SealMark(walk: WalkID(high: number, low: ~number), fingerprint: .of([UInt8(number)]))
        }
        var expected: [AccountID: SealMark] = [:]
        for number in 1...200 { expected[try account("acct_\(number)")] = mark(UInt64(number)) }
        try journal.saveMarks(expected)
        expected[a] = mark(201)
        try journal.saveMarks([a: mark(201)])
        #expect(try journal.marks() == expected)
    }

    @Test func `evidence is kept for who asks why`() throws {
        var batch = JournalBatch()
        batch.entries = [entry(a, c1, sequence: 1)]
        _ = try journal.commit(batch)
        let stored = try EventLog(try reopened()).event(event(a, c1, sequence: 1).id)
        #expect(stored?.evidence == Array("{\"why\":1}".utf8))
    }
}
