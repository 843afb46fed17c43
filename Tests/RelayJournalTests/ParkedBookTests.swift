import ConnectionEvents
import RelayCore
import Testing

@testable import RelayJournal

@Suite struct ParkedBookTests {
    let folder: Folder
    let file: JournalFile
    let journal: SQLiteJournal
    let book: ParkedBook

    init() throws {
        folder = try Folder()
        let lock = try JournalLock(journal: folder.journal)
        file = try folder.open()
        journal = try SQLiteJournal(file, lock: lock)
        book = try ParkedBook(file)
    }

    private func record(
        _ position: Int64, sink: String = "events", key: String = "a", state: Bool = false
    ) throws -> ParkedRecord {
        let event = event(try account("a"), try connection("c"), sequence: position)
        return ParkedRecord(
            sink: SinkName(sink),
            message: OutboundMessage(
                position: JournalPosition(position), key: key, value: event.serialized(),
                headers: [.init("content-type", "x"), .init("trax-previous", "ü\"1")]),
            account: try account("a"), event: state ? nil : EventFacts(event),
            code: "MSG_SIZE_TOO_LARGE", reason: "too large",
            parkedAt: Timestamp(milliseconds: 5000))
    }

    @Test func `a record is parked together with its sink's place, and read back whole`() throws {
        let parked = try record(7)
        try book.park(parked, place: JournalPosition(7))
        #expect(try journal.places() == [SinkName("events"): JournalPosition(7)])
        let found = try #require(try book.records().first)
        var expected = parked
        expected.number = found.number
        #expect(found == expected)
        let state = try record(8, sink: "state", key: "a/c", state: true)
        try book.park(state, place: nil)
        #expect(try journal.places().count == 1, "the place is left alone")
        #expect(try book.records(after: found.number).map(\.sink.text) == ["state"])
    }

    @Test func `a state record takes the place of the older one of its key`() throws {
        for position: Int64 in [3, 9] {
            try book.park(try record(position, sink: "state", key: "a/c", state: true), place: nil)
        }
        try book.park(try record(9, sink: "state", key: "a/d", state: true), place: nil)
        #expect(try book.records().map(\.message.key) == ["a/c", "a/d"])
        #expect(try book.records().map(\.message.position.number) == [9, 9])
    }

    @Test func `an order is seen once, and ends by being sent or refused`() throws {
        for position: Int64 in 1...3 { try book.park(try record(position), place: nil) }
        let first = try book.records()
        let numbers = first.map(\.number)
        let commands = try ParkedBook(file)
        var sight = try #require(try book.look())
        #expect(sight.counts == [SinkName("events"): 3] && sight.ordered.isEmpty)
        #expect(try book.look() == nil, "nothing was written since")
        #expect(try commands.order(numbers[0]) && commands.order(numbers[1]))
        #expect(try !commands.order(99))
        sight = try #require(try book.look())
        #expect(sight.ordered.map(\.number) == Array(numbers[..<2]))
        try book.sent(numbers[0])
        try book.refused(
            numbers[1], PublishFailure(kind: .again, code: "X", reason: "still too large"))
        #expect(try commands.standing(of: numbers[0]) == .gone)
        #expect(try commands.standing(of: numbers[1]) == .parked(reason: "still too large"))
        // Since when it is parked stays: that is what an operator's alarm counts from.
        #expect(try book.records().first { $0.number == numbers[1] }?.parkedAt == first[1].parkedAt)
        #expect(try commands.drop(numbers[2]))
        #expect(try !commands.drop(numbers[2]))
        sight = try #require(try book.look())
        #expect(sight.counts == [SinkName("events"): 1] && sight.ordered.isEmpty)
    }

    @Test func `a sink has a bound, and the record beyond it moves no place`() throws {
        for position in 1...Int64(ParkedBook.limit) {
            try book.park(
                try record(position, key: "k", state: false), place: JournalPosition(position))
        }
        let place = JournalPosition(Int64(ParkedBook.limit) + 1)
        #expect(throws: JournalFailure.self) {
            try book.park(try record(place.number), place: place)
        }
        #expect(try journal.places()[SinkName("events")] == JournalPosition(place.number - 1))
        try book.park(try record(1, sink: "other"), place: nil)
    }

    @Test func `the events of parked records are found in the journal`() throws {
        let id = try account("a")
        var batch = JournalBatch()
        for sequence: Int64 in 1...3 {
            batch.entries.append(
                NewEntry(
                    account: id,
                    event: event(id, try connection("c"), sequence: sequence), state: nil))
        }
        _ = try journal.commit(batch)
        try book.park(try record(2), place: nil)
        try book.park(try record(3, sink: "state", key: "a/c", state: true), place: nil)
        var query = EventLog.Query()
        query.parked = true
        let log = EventLog(file)
        #expect(try log.events(query).map(\.position.number) == [2])
        // One that is dropped is known as such for as long as its entry is there.
        let number = try #require(try book.records().first).number
        #expect(try book.drop(number))
        #expect(try !book.drop(number))
        #expect(try log.parkedSinks(at: JournalPosition(2)).isEmpty)
        #expect(try log.droppedSinks(at: JournalPosition(2)) == [SinkName("events")])
        try journal.setPlaces([SinkName("events"): JournalPosition(3)])
        let rule = PruningRule(
            decidedBefore: Timestamp(milliseconds: .max), through: JournalPosition(3))
        #expect(try journal.prune(rule) == 2)
        #expect(try log.droppedSinks(at: JournalPosition(2)).isEmpty)
    }
}
