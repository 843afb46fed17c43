import ConnectionEvents
import Crypto
import RelayCore
import SQLite
import Testing

@testable import RelayJournal

@Suite struct LinkBookTests {
    let folder: Folder
    let file: JournalFile
    let journal: SQLiteJournal
    let book: LinkBook

    init() throws {
        folder = try Folder()
        let lock = try JournalLock(journal: folder.journal)
        file = try folder.open()
        journal = try SQLiteJournal(file, lock: lock)
        book = try LinkBook(file)
    }

    private func opening(
        _ name: String, _ state: String, reconnecting: ConnectionID? = nil,
        lifetime: Duration = .seconds(600)
    ) throws -> LinkOpening {
        LinkOpening(
            account: try account(name), attempt: AttemptHash(state: state), platform: "kick",
            reconnecting: reconnecting, lifetime: lifetime)
    }

    private func finding(
        _ watch: LinkWatch, _ outcome: LinkOutcome?, _ id: ConnectionID? = nil
    ) throws {
        var batch = JournalBatch()
        batch.links.append(
            LinkFinding(
                number: watch.number, connection: id, outcome: outcome,
                at: Timestamp(milliseconds: 1_796_040_000_000)))
        _ = try journal.commit(batch)
    }

    @Test func `a watch is found by account, by number and by id, with all that it has`() throws {
        let id = try connection("c/1")
        let watch = try book.open(try opening("a", "s1", reconnecting: id))
        #expect(watch.reconnecting == id)
        #expect(watch.expiresAt.since(watch.openedAt) == .seconds(600))
        #expect(try journal.openLinks(of: try account("a")) == [watch])
        #expect(try journal.openLinks(of: try account("b")).isEmpty)
        #expect(try book.watch(watch.id) == watch)
        #expect(try book.watch(WatchID("lw_x")) == nil)
        #expect(!watch.id.text.contains("s1"))
    }

    @Test func `another process's watch is seen once, and cheaply not at all`() throws {
        let other = try LinkBook(try folder.open(.existing))
        #expect(try other.openWatches(after: 0).isEmpty)
        let watch = try book.open(try opening("a", "s1"))
        #expect(try other.openWatches(after: 0) == [watch])
        #expect(try other.openWatches(after: 0).isEmpty, "nothing was written since")
        #expect(try book.openWatches(after: watch.number).isEmpty)
    }

    @Test func `what a walk finds goes with its commit, and an end is the end`() throws {
        let watch = try book.open(try opening("a", "s1"))
        try finding(watch, nil, try connection("c1"))
        #expect(try book.watch(watch.id)?.connection?.text == "c1")
        #expect(try book.watch(watch.id)?.outcome == nil)
        try finding(watch, .linked)
        let ended = try #require(try book.watch(watch.id))
        #expect(ended.outcome == .linked)
        #expect(ended.connection?.text == "c1")
        #expect(ended.endedAt?.milliseconds == 1_796_040_000_000)
        try finding(watch, .abandoned)
        try book.claim(watch, connection: try connection("c2"))
        #expect(try book.watch(watch.id) == ended)
        #expect(try journal.openLinks(of: try account("a")).isEmpty)
        let next = try book.open(try opening("a", "s2"))
        #expect(next.number > watch.number)
        #expect(
            try book.watches(of: nil, before: .max, limit: 10).map(\.number)
                == [next.number, watch.number])
        #expect(try book.watches(of: nil, before: next.number, limit: 10).count == 1)
        #expect(try book.watches(of: try account("b"), before: .max, limit: 10).isEmpty)
    }

    @Test func `an account may have sixteen open, and one that expired counts no more`() throws {
        for number in 0..<LinkBook.accountLimit {
            _ = try book.open(
                try opening("a", "s\(number)", lifetime: number == 0 ? .zero : .seconds(600)))
        }
        _ = try book.open(try opening("a", "more"))
        #expect(throws: LinkRefusal.accountFull) { try book.open(try opening("a", "last")) }
        #expect(throws: LinkRefusal.accountFull) { try book.mayOpen(try account("a")) }
        try book.mayOpen(try account("b"))
        _ = try book.open(try opening("b", "s1"))
    }

    @Test func `what nobody looked at ends long after its time, with the next opening`() throws {
        let old = try book.open(try opening("a", "old", lifetime: .seconds(-1000)))
        _ = try book.open(try opening("a", "new"))
        #expect(try book.watch(old.id)?.outcome == .abandoned)
    }

    @Test func `the same state again is the same watch`() throws {
        let one = try book.open(try opening("a", "s1"))
        #expect(try book.open(try opening("a", "s1")).number == one.number)
        #expect(try book.openWatches(of: try account("a")).count == 1)
    }

    @Test func `one account is read without taking note of what changed`() throws {
        let register = try AccountRegister(file)
        for name in ["a", "b"] {
            try register.add(
                AccountEntry(
                    account: try account(name), credential: .init("sk_\(name)"), interval: nil,
                    isPaused: nil, labels: [:], line: 0))
        }
        #expect(try register.account(try account("b"))?.credential.reveal() == "sk_b")
        #expect(try register.account(try account("c")) == nil)
        #expect(try register.changes().count == 2)
        try register.remove(try account("b"))
        #expect(try register.account(try account("b")) == nil)
    }

    @Test func `a claim keeps the rule by which the row was first known`() throws {
        let watch = try book.open(try opening("a", "s1"))
        let id = try connection("c1")
        try book.claim(watch, connection: id, rule: .state)
        var batch = JournalBatch()
        batch.links.append(
            LinkFinding(
                number: watch.number, connection: id, outcome: .linked,
                at: Timestamp(milliseconds: 1_796_040_000_000), rule: .platform))
        _ = try journal.commit(batch)
        #expect(try book.watch(watch.id)?.rule == .state)
    }

    @Test func `a watch is ended by who waits for it no more, once`() throws {
        let watch = try book.open(try opening("a", "s1"))
        try book.end(watch, as: .abandoned)
        #expect(try journal.openLinks(of: try account("a")).isEmpty)
        #expect(try book.watch(watch.id)?.endedAt != nil)
        try book.end(watch, as: .unchanged)
        #expect(try book.watch(watch.id)?.outcome == .abandoned)
        try book.claim(watch, connection: try connection("c1"), rule: .state)
        #expect(try book.watch(watch.id)?.connection == nil)
    }
}
