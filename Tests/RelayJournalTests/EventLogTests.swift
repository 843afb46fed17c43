import ConnectionEvents
import RelayCore
import Testing

@testable import RelayJournal

@Suite struct EventLogTests {
    let folder: Folder
    let journal: SQLiteJournal
    let log: EventLog
    let a: AccountID
    let b: AccountID

    init() throws {
        folder = try Folder()
        journal = try SQLiteJournal(
            try folder.open(), lock: try JournalLock(journal: folder.journal))
        log = EventLog(try folder.open(.existing))
        a = try account("a")
        b = try account("b")
        let c = try connection("c")
        var batch = JournalBatch()
        for number in 1...20 {
            let owner = number % 2 == 0 ? b : a
            var made = event(owner, c, sequence: Int64(number))
            made.type = number % 5 == 0 ? .repaired : .failing
            made.decidedAt = Timestamp(milliseconds: Int64(number) * 100_000)
            batch.entries.append(NewEntry(account: owner, event: made, state: nil))
            batch.entries.append(
                NewEntry(account: owner, event: nil, state: StateWrite(key: "k", value: nil)))
        }
        _ = try journal.commit(batch)
    }

    private func sequences(_ change: (inout EventLog.Query) -> Void) throws -> [Int64] {
        var query = EventLog.Query()
        change(&query)
        return try log.events(query).map(\.facts.sequence)
    }

    @Test func `all events come in order and state records are none`() throws {
        #expect(try sequences { _ in } == Array(1...20))
        #expect(try sequences { $0.limit = 3 } == [1, 2, 3])
        #expect(try sequences { $0.after = JournalPosition(37) } == [20])
        #expect(try log.head() == JournalPosition(40))
    }

    @Test func `events are chosen by account and type`() throws {
        #expect(try sequences { $0.account = b } == Array(stride(from: 2, through: 20, by: 2)))
        #expect(try sequences { $0.types = [.repaired] } == [5, 10, 15, 20])
        #expect(try sequences { $0.types = [.repaired, .failing] }.count == 20)
        #expect(
            try sequences {
                $0.account = a
                $0.types = [.repaired]
            } == [5, 15])
    }

    @Test(arguments: [0, 100_000, 150_000, 1_000_000, 2_000_000, 3_000_000])
    func `since and until go by the time of decision`(time: Int64) throws {
        let all = (1...20).map { Int64($0) }
        let at = Timestamp(milliseconds: time)
        #expect(try sequences { $0.since = at } == all.filter { $0 * 100_000 >= time })
        #expect(try sequences { $0.until = at } == all.filter { $0 * 100_000 < time })
    }

    @Test func `an event is found by its id`() throws {
        let id = event(a, try connection("c"), sequence: 7).id
        #expect(try log.event(id)?.facts.sequence == 7)
        #expect(try log.event(EventID("0123")) == nil)
    }
}
