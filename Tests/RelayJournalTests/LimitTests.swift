import ConnectionEvents
import Foundation
import RelayCore
import SQLite
import Testing

@testable import RelayJournal

/// A journal with small limits and what it needs to be filled and emptied.
private final class Stock {
    let folder: Folder
    let journal: SQLiteJournal
    let id: AccountID
    private var sequence: Int64 = 0

    init(total: Int = 16 << 20) throws {
        folder = try Folder()
        journal = try SQLiteJournal(
            try folder.open(), lock: try JournalLock(journal: folder.journal),
            limits: JournalLimits(total: total))
        id = try account("a")
    }

    /// Commits so many events decided at that time, each with so many bytes of evidence.
    func add(_ count: Int, at decided: Int64 = 3000, bytes: Int = 0) throws {
        var batch = JournalBatch()
        for _ in 0..<count {
            sequence += 1
            var event = event(id, try connection("c\(sequence)"), sequence: sequence)
            event.decidedAt = Timestamp(milliseconds: decided)
            batch.entries.append(
                NewEntry(
                    account: id, event: event, state: nil,
                    evidence: Array(repeating: 32, count: bytes)))
        }
        _ = try journal.commit(batch)
    }

    func rule(before time: Int64, through: Int64 = .max) -> PruningRule {
        PruningRule(
            decidedBefore: Timestamp(milliseconds: time), through: JournalPosition(through))
    }

    /// Prunes until nothing more may go.
    func prune(before time: Int64, through: Int64 = .max) throws -> Int {
        var all = 0
        while true {
            let count = try journal.prune(rule(before: time, through: through))
            if count == 0 { return all }
            all += count
        }
    }

    func fill() throws {
        while true { try add(20, bytes: 20_000) }
    }
}

@Suite("what a journal keeps, and for how long")
struct PruningTests {
    @Test func `Old entries go, and those decided later stay`() throws {
        let stock = try Stock()
        try stock.add(500, at: 1000)
        try stock.add(10, at: 2000)
        #expect(try stock.journal.size(stock.rule(before: 2000)).prunable == 500)
        #expect(try stock.prune(before: 2000) == 500)
        #expect(try stock.journal.tail() == JournalPosition(501))
        let size = try stock.journal.size(stock.rule(before: 2000))
        #expect(size.entries == 10)
        #expect(size.prunable == 0)
        #expect(size.oldest == Timestamp(milliseconds: 2000))
    }

    @Test func `No entry goes that a sink lacks, by the rule or the journal's places`() throws {
        let stock = try Stock()
        try stock.add(100, at: 1000)
        try stock.journal.setPlaces([SinkName("a"): JournalPosition(30)])
        #expect(try stock.prune(before: 9000, through: 20) == 20)
        #expect(try stock.prune(before: 9000) == 10)
        try stock.journal.setPlaces([SinkName("a"): JournalPosition(100)])
        #expect(try stock.journal.size(stock.rule(before: 9000, through: 50)).prunable == 20)
        #expect(try stock.prune(before: 9000, through: 50) == 20)
    }

    @Test func `The newest entry stays however old, with the id that tells the history`() throws {
        let stock = try Stock()
        try stock.add(5, at: 1000)
        #expect(try stock.prune(before: 9000) == 4)
        #expect(try stock.journal.tail() == JournalPosition(5))
        #expect(try stock.journal.eventID(at: JournalPosition(5)) != nil)
        #expect(try stock.journal.eventID(at: JournalPosition(4)) == nil)
    }

    @Test func `A step takes few entries, and fewer where they are long`() throws {
        let stock = try Stock(total: 1 << 30)
        try stock.add(300, at: 1000, bytes: 100_000)
        let step = try stock.journal.prune(stock.rule(before: 9000))
        #expect((1...20).contains(step))
        try stock.add(600, at: 1000)
        _ = try stock.prune(before: 9000, through: 300)
        #expect(try stock.journal.prune(stock.rule(before: 9000)) == 200)
    }

    @Test func `A state record alone goes with its time`() throws {
        let stock = try Stock()
        var batch = JournalBatch()
        for index in 0..<50 {
            batch.entries.append(
                NewEntry(
                    account: stock.id, event: nil,
                    state: StateWrite(key: "a/c\(index)", value: Array("{}".utf8))))
        }
        _ = try stock.journal.commit(batch)
        #expect(try stock.prune(before: 9000) == 0)
        #expect(try stock.prune(before: WallClock.now().milliseconds + 1000) == 49)
    }

    @Test func `Entries are read and numbered on as if nothing had gone`() throws {
        let stock = try Stock()
        try stock.add(40, at: 1000)
        _ = try stock.prune(before: 9000, through: 30)
        let entries = try stock.journal.entries(after: .start, limit: 100, bytes: 1 << 20)
        #expect(entries.map(\.position.number) == Array(31...40))
        try stock.add(1, at: 1000)
        #expect(try stock.journal.head() == JournalPosition(41))
    }
}

@Suite("a journal at its limits")
struct RoomTests {
    @Test func `At its size a journal takes nothing more, and goes on after pruning`() throws {
        let stock = try Stock()
        let failure = #expect(throws: JournalFailure.self) { try stock.fill() }
        #expect(failure?.kind == .full)
        #expect(failure?.code == "size_limit")
        #expect(throws: JournalFailure.self) { try stock.journal.proveRoom() }
        let head = try stock.journal.head()
        // What must go on at the limit does.
        try stock.journal.setPlaces([SinkName("a"): head])
        #expect(try stock.prune(before: 9000) == Int(head.number - 1))
        try stock.journal.proveRoom()
        try stock.add(1, at: 9000)
        #expect(try stock.journal.head().number == head.number + 1)
    }

    @Test func `File and log stay within the limit, whatever is written and pruned`() throws {
        let stock = try Stock()
        for _ in 0..<6 {
            #expect(throws: JournalFailure.self) { try stock.fill() }
            let size = try stock.journal.size(stock.rule(before: 0))
            #expect(size.file + size.log <= size.limit)
            _ = try stock.prune(before: 9000)
        }
    }

    @Test func `A reader without an end stops commits before the log outgrows its share`() throws {
        let stock = try Stock()
        try stock.add(1)
        let reader = try Database(path: stock.folder.journal, access: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM entries")
        let failure = #expect(throws: JournalFailure.self) {
            while true {
                try stock.add(20, bytes: 20_000)
                _ = try stock.prune(before: 9000)
            }
        }
        #expect(failure?.code == "log_full")
        let limits = JournalLimits(total: 16 << 20)
        let size = try stock.journal.size(stock.rule(before: 0))
        #expect(size.log < limits.log + (2 << 20))
        try reader.execute("COMMIT")
        let deadline = ContinuousClock.now + .seconds(30)
        while SystemFile.size(of: stock.folder.journal + "-wal") > limits.log {
            try #require(ContinuousClock.now < deadline)
            usleep(10_000)
        }
        _ = try stock.prune(before: 9000)
        try stock.add(1)
    }

    @Test func `Room is kept back on a small disk in proportion`() {
        #expect(JournalLimits.reserve(ofDisk: 16 << 20) == 1 << 20)
        #expect(JournalLimits.reserve(ofDisk: 1 << 40) == 64 << 20)
    }

    @Test func `A file that is exchanged under a running relay is noticed`() throws {
        let stock = try Stock()
        try stock.add(1)
        try FileManager.default.moveItem(
            atPath: stock.folder.journal, toPath: stock.folder.journal + ".away")
        let failure = #expect(throws: JournalFailure.self) { try stock.journal.proveRoom() }
        #expect(failure?.kind == .unusable)
        #expect(failure?.code == "journal_moved")
    }
}
