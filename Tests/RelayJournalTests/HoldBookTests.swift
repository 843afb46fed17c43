import ConnectionEvents
import RelayCore
import Testing

@testable import RelayJournal

@Suite struct HoldBookTests {
    let folder: Folder
    let file: JournalFile
    let journal: SQLiteJournal
    let book: HoldBook

    init() throws {
        folder = try Folder()
        let lock = try JournalLock(journal: folder.journal)
        file = try folder.open()
        journal = try SQLiteJournal(file, lock: lock)
        book = try HoldBook(file)
    }

    /// Commits a belief with an open hold, or without one.
    private func believe(_ name: String, hold: Hold?, done: [Int64] = []) throws {
        let id = try #require(AccountID(name))
        var head = BeliefHead(epoch: 1, incarnation: 1, rulesDigest: 0)
        head.hold = hold
        var batch = JournalBatch()
        batch.beliefs.append((id, .update(head, rows: [:])))
        batch.ordersDone = done
        _ = try journal.commit(batch)
    }

    private func hold(_ id: String, _ reason: HoldReason = .share) -> Hold {
        Hold(id: HoldID(id), reason: reason, since: Timestamp(milliseconds: 1_796_040_000_000))
    }

    @Test func `open holds are listed by account, in pages, and found by id`() throws {
        for name in ["c", "a", "b"] { try believe(name, hold: hold("h_\(name)")) }
        try believe("b", hold: nil)
        #expect(try book.holds(after: nil, limit: 10).map(\.account.text) == ["a", "c"])
        #expect(try book.holds(after: AccountID("a"), limit: 1).map(\.hold.id.text) == ["h_c"])
        #expect(try book.hold(HoldID("h_c"))?.account.text == "c")
        #expect(try book.hold(HoldID("h_b")) == nil)
        var batch = JournalBatch()
        batch.beliefs.append((try #require(AccountID("a")), .drop))
        _ = try journal.commit(batch)
        #expect(try book.holds(after: nil, limit: 10).map(\.account.text) == ["c"])
    }

    @Test func `an order waits until the commit that carries it out`() throws {
        try believe("a", hold: hold("h_a"))
        let other = try HoldBook(file)
        #expect(try other.orders(after: 0).isEmpty)
        let order = try book.order(.release, of: HoldID("h_a"))
        #expect(try book.order(.release, of: HoldID("h_a")) == order, "the same again is one")
        #expect(try other.orders(after: 0) == [order])
        #expect(try other.orders(after: 0).isEmpty, "nothing was written since")
        #expect(try book.orders(after: 0) == [order])
        #expect(try book.isWaiting(order))
        try believe("a", hold: nil, done: [order.number])
        #expect(try !book.isWaiting(order))
        try believe("a", hold: hold("h_2"))
        let next = try book.order(.discard, of: HoldID("h_2"))
        #expect(next.number > order.number, "a number is never given again")
    }

    @Test func `the first order stands, and is shown until it is carried out`() throws {
        try believe("a", hold: hold("h_a"))
        #expect(try book.hold(HoldID("h_a"))?.ordered == nil)
        let order = try book.order(.release, of: HoldID("h_a"))
        #expect(throws: HoldOrderFailure.ordered(.release)) {
            try book.order(.discard, of: HoldID("h_a"))
        }
        #expect(try book.hold(HoldID("h_a"))?.ordered == .release)
        #expect(try book.holds(after: nil, limit: 10).map(\.ordered) == [.release])
        #expect(try book.orders(after: 0) == [order])
    }

    @Test func `what cannot be done is refused at once`() throws {
        try believe("a", hold: hold("h_a", .wrongAccount))
        #expect(throws: HoldOrderFailure.refused(.noSuchHold)) {
            try book.order(.release, of: HoldID("h_b"))
        }
        #expect(throws: HoldOrderFailure.refused(.wrongAccountStays)) {
            try book.order(.discard, of: HoldID("h_a"))
        }
    }
}
