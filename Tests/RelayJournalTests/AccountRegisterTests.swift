import ConnectionEvents
import Crypto
import Foundation
import RelayCore
import SQLite
import Testing

@testable import RelayJournal

@Suite struct AccountRegisterTests {
    let folder: Folder
    let register: AccountRegister
    /// The register as the running relay has it open.
    let relay: AccountRegister

    init() throws {
        folder = try Folder()
        register = try AccountRegister(try folder.open())
        relay = try AccountRegister(try folder.open(.existing))
        _ = try relay.accounts()
    }

    private func add(_ id: String, _ credential: String) throws {
        try register.add(AccountEntry(account: try account(id), credential: Secret(credential)))
    }

    private func refusal(_ body: () throws -> Void) throws -> RegisterRefusal {
        try #require(throws: RegisterRefusal.self, performing: body)
    }

    @Test func `an added account is seen by the relay with its credential`() throws {
        #expect(try relay.changes().isEmpty)
        try register.add(
            AccountEntry(
                account: try account("a"), credential: Secret("key of a"), interval: .seconds(90),
                labels: ["team": "x"]))
        let seen = try relay.changes()
        #expect(seen.count == 1)
        #expect(seen.first?.credential == Secret("key of a"))
        #expect(seen.first?.interval == .seconds(90))
        #expect(seen.first?.isPaused == false)
        #expect(try relay.changes().isEmpty)
        #expect(try relay.accounts().count == 1)
        #expect(try register.summaries().first?.labels == ["team": "x"])
        #expect(try register.summaries().first?.origin == .command)
    }

    @Test func `only what changed is loaded again`() throws {
        for number in 1...20 { try add("acct_\(number)", "key \(number)") }
        #expect(try relay.changes().count == 20)
        try register.pause(try account("acct_7"))
        #expect(try relay.changes().map(\.id.text) == ["acct_7"])
    }

    @Test func `commits of the relay itself are no change of the register`() throws {
        try add("a", "key")
        _ = try relay.changes()
        let journal = try SQLiteJournal(
            try folder.open(), lock: try JournalLock(journal: folder.journal))
        var batch = JournalBatch()
        batch.beliefs = [(try account("a"), .update(head(epoch: 1), rows: [:]))]
        _ = try journal.commit(batch)
        #expect(try relay.changes().isEmpty)
    }

    @Test func `an id is added once and one credential stands for one account`() throws {
        try add("a", "key of a")
        let twice = try refusal { try add("a", "another") }
        #expect(twice.kind == .exists)
        let shared = try refusal { try add("b", "key of a") }
        #expect(shared.kind == .sharedCredential)
        #expect(shared.description.contains("account a"))
        #expect(!shared.description.contains("key of a"))
        let none = try refusal {
            try register.add(AccountEntry(account: try account("c"), credential: nil))
        }
        #expect(none.kind == .badLines)
        #expect(try register.summaries().map(\.id.text) == ["a"])
    }

    @Test func `replacing a credential changes its tag and keeps the registration`() throws {
        try add("a", "old")
        let before = try relay.accounts()[0]
        try register.add(
            AccountEntry(account: try account("a"), credential: Secret("new")), replacing: true)
        let after = try #require(try relay.changes().first)
        #expect(after.credential == Secret("new"))
        #expect(after.credentialTag != before.credentialTag)
        #expect(after.incarnation == before.incarnation)
    }

    @Test func `pause and resume are seen, and said twice change nothing`() throws {
        try add("a", "key")
        let a = try account("a")
        _ = try relay.changes()
        try register.pause(a)
        #expect(try relay.changes().map(\.isPaused) == [true])
        try register.pause(a)
        #expect(try relay.changes().isEmpty)
        #expect(try register.summaries(of: a).first?.pausedBy == .command)
        try register.resume(a)
        #expect(try relay.changes().map(\.isPaused) == [false])
        #expect(try register.summaries(of: a).first?.pausedBy == nil)
        let unknown = try refusal { try register.pause(try account("nobody")) }
        #expect(unknown.kind == .unknownAccount)
    }

    @Test func `a removed account stays until the relay has published that`() throws {
        try add("a", "key")
        let a = try account("a")
        try register.remove(a)
        let removing = try #require(try relay.changes().first)
        #expect(removing.isRemoving)
        #expect(try refusal { try register.remove(a) }.kind == .unknownAccount)
        let journal = try SQLiteJournal(
            try folder.open(), lock: try JournalLock(journal: folder.journal))
        var batch = JournalBatch()
        batch.removals = [(a, removing.incarnation)]
        _ = try journal.commit(batch)
        #expect(try register.summaries().isEmpty)
    }

    @Test func `an account added again is a new registration and is not taken away`() throws {
        try add("a", "key")
        let a = try account("a")
        try register.remove(a)
        let removing = try #require(try relay.changes().first)
        try add("a", "key")
        let again = try #require(try relay.changes().first)
        #expect(!again.isRemoving)
        #expect(again.incarnation > removing.incarnation)
        let journal = try SQLiteJournal(
            try folder.open(), lock: try JournalLock(journal: folder.journal))
        var batch = JournalBatch()
        batch.removals = [(a, removing.incarnation)]
        _ = try journal.commit(batch)
        #expect(try register.summaries().map(\.id) == [a])
    }

    @Test func `a credential of an account being removed may be given to another`() throws {
        try add("a", "key")
        try register.remove(try account("a"))
        try add("b", "key")
    }

    @Test func `no credential stands in clear in any file`() throws {
        let canary = "canary-5b1e77aa-credential"
        try add("a", canary)
        try register.importFile([
            AccountEntry(
                account: try account("b"), credential: Secret(canary + "-b"), line: 2)
        ])
        for (name, bytes) in try folder.contents() {
            #expect(bytes.range(of: Data(canary.utf8)) == nil, "\(name)")
        }
        #expect(try folder.contents().keys.contains("relay.db-wal"))
    }

    @Test func `a credential moved to another account does not open`() throws {
        try add("a", "key of a")
        try add("b", "key of b")
        try Database(path: folder.journal).execute(
            """
            UPDATE accounts SET credential = (SELECT credential FROM accounts WHERE id = 'a')
            WHERE id = 'b'
            """)
        let failure = try #require(throws: JournalFailure.self) { try relay.accounts() }
        #expect(failure.kind == .unusable)
        #expect(failure.reason.contains("account b"))
    }
}
