import ConnectionEvents
import Crypto
import Foundation
import RelayCore
import SQLite
import Testing

@testable import RelayJournal

/// A journal with an account, a belief and events, closed.
private struct Shelf {
    let folder: Folder

    init() throws {
        folder = try Folder()
        let lock = try JournalLock(journal: folder.journal)
        let file = try JournalFile(
            path: folder.journal, keyFile: folder.key, access: .create, lock: lock)
        let journal = try SQLiteJournal(file, lock: lock)
        for name in ["a", "b"] {
            try AccountRegister(file).add(
                AccountEntry(account: try account(name), credential: Secret("secret of \(name)")))
        }
        let a = try account("a")
        var batch = JournalBatch()
        let ids = try (1...20).map { try connection("c\($0)") }
        batch.beliefs = [
            (
                a,
                .update(
                    head(epoch: 5, sequence: 20),
                    rows: Dictionary(uniqueKeysWithValues: ids.map { ($0, row($0)) }))
            )
        ]
        batch.entries = ids.enumerated().map { entry(a, $1, sequence: Int64($0 + 1)) }
        _ = try journal.commit(batch)
        try journal.setPlaces([SinkName("s"): JournalPosition(20)])
        try journal.close()
    }

    func check(isQuick: Bool = false) throws -> JournalCheck {
        try JournalCheck.run(path: folder.journal, keyFile: folder.key, isQuick: isQuick)
    }

    func execute(_ sql: String) throws { try Database(path: folder.journal).execute(sql) }

    /// Changes the file's bytes.
    func damage(_ body: (inout Data) -> Void) throws {
        var bytes = try folder.read("relay.db")
        body(&bytes)
        try bytes.write(to: URL(fileURLWithPath: folder.journal))
    }

    /// Opens it as a run does.
    func run() throws {
        let lock = try JournalLock(journal: folder.journal)
        let file = try JournalFile(
            path: folder.journal, keyFile: folder.key, access: .create, lock: lock)
        _ = try SQLiteJournal(file, lock: lock)
    }
}

@Suite("a journal looked over")
struct JournalCheckTests {
    @Test(arguments: [true, false])
    func `A whole journal has no finding, and is left to the byte`(isQuick: Bool) throws {
        let shelf = try Shelf()
        let before = try shelf.folder.read("relay.db")
        let check = try shelf.check(isQuick: isQuick)
        #expect(check.findings == [])
        #expect(check.facts.contains("entries: 20, positions 1 to 20"))
        #expect(check.facts.contains("beliefs: 1 accounts, 20 rows"))
        #expect(check.facts.contains("checksums: 41"))
        #expect(check.facts.contains("credentials: 2, all looked at with the key"))
        #expect(try shelf.folder.read("relay.db") == before)
    }

    @Test(arguments: [
        ("DELETE FROM entries WHERE position = 7", "some are missing"),
        ("UPDATE counters SET value = 90 WHERE name = 'head'", "the head 90"),
        ("UPDATE places SET position = 21", "stands at 21"),
        ("INSERT INTO unheard VALUES ('s', 21)", "unheard since 21"),
        ("INSERT INTO unheard VALUES ('s', -5)", "unheard since -5"),
        ("DELETE FROM entries WHERE position < 10; UPDATE places SET position = 3", "was pruned"),
        ("UPDATE heads SET head = x'7b7d'", "the belief of account a"),
        ("UPDATE rows SET row = 'nonsense' WHERE connection = 'c3'", "row c3 of a: no JSON"),
        ("DELETE FROM heads", "20 rows of accounts without a belief"),
        ("UPDATE counters SET value = 1 WHERE name = 'last_epoch'", "never given"),
        ("UPDATE entries SET body = '{}' WHERE position = 4", "entry 4: not a connection event"),
        ("UPDATE entries SET event_id = 'e9' WHERE position = 4", "another id inside"),
        ("UPDATE entries SET sequence = 99 WHERE position = 4", "says otherwise inside"),
        (
            "UPDATE entries SET body = cast(replace(body, 'active', 'actove') AS BLOB)"
                + " WHERE position = 4",
            "entry 4: is not as it was written"
        ),
        (
            "UPDATE entries SET evidence = cast(replace(evidence, '1', '2') AS BLOB)"
                + " WHERE position = 5",
            "entry 5: is not as it was written"
        ),
        (
            "UPDATE rows SET row = cast(replace(row, 'active', 'actove') AS BLOB)"
                + " WHERE connection = 'c3'",
            "row of a/c3: is not as it was written"
        ),
        ("UPDATE entries SET kind = 'odd' WHERE position = 4", "entry 4"),
        ("UPDATE accounts SET credential = zeroblob(60) WHERE id = 'b'", "of b: does not open"),
        ("UPDATE accounts SET key = 9 WHERE id = 'b'", "a key that is gone"),
        ("PRAGMA user_version = 99", "newer trax-relay"),
    ])
    func `What is wrong is found`(sql: String, finding: String) throws {
        let shelf = try Shelf()
        try shelf.execute(
            sql.replacingOccurrences(of: "'nonsense'", with: "x'6e6f'")
                .replacingOccurrences(of: "body = '{}'", with: "body = x'7b7d'"))
        let found = try shelf.check().findings
        #expect(found.contains { $0.contains(finding) }, "\(found)")
    }

    @Test(arguments: [
        "UPDATE entries SET body = cast(replace(body, 'active', 'actove') AS BLOB)"
            + " WHERE position = 4",
        "UPDATE heads SET head = cast(head || ' ' AS BLOB)",
        "UPDATE rows SET row = cast(replace(row, 'active', 'actove') AS BLOB)"
            + " WHERE connection = 'c3'",
    ])
    func `What is not as it was written is told to nobody, and no run begins on it`(
        sql: String
    ) throws {
        let shelf = try Shelf()
        try shelf.execute(sql)
        let lock = try JournalLock(journal: shelf.folder.journal)
        let refusal = try #require(throws: JournalFailure.self) {
            _ = try JournalFile(
                path: shelf.folder.journal, keyFile: shelf.folder.key, access: .existing,
                lock: lock)
        }
        #expect(refusal.kind == .unusable && refusal.code == "corrupt")
        // A journal that is too large to be read whole comes so far.
        let journal = try SQLiteJournal(shelf.folder.open(.existing), lock: lock)
        let failure = try #require(throws: JournalFailure.self) {
            if sql.contains("entries") {
                _ = try journal.entries(after: .start, limit: 10, bytes: 1 << 20)
            } else {
                _ = try journal.belief(of: account("a"))
            }
        }
        #expect(failure.kind == .unusable && failure.code == "corrupt")
    }

    @Test func `A journal that an older relay wrote has no checksums, and no finding`() throws {
        let shelf = try Shelf()
        try shelf.execute(
            "UPDATE entries SET checksum = NULL; UPDATE heads SET checksum = NULL;"
                + " UPDATE rows SET checksum = NULL")
        let check = try shelf.check()
        #expect(check.findings == [])
        #expect(check.facts.contains("checksums: 0"))
    }

    @Test func `A journal of every older version is looked over as it is`() throws {
        for count in 3..<Schema.current.migrations.count {
            let folder = try Folder()
            let older = Schema(migrations: Array(Schema.current.migrations.prefix(count)))
            _ = try JournalFile(
                path: folder.journal, keyFile: folder.key, access: .create, lock: nil,
                schema: older)
            let check = try JournalCheck.run(path: folder.journal, keyFile: folder.key)
            #expect(check.findings == [], "version \(count)")
        }
    }

    @Test func `Copies that SQLite makes are journals`() throws {
        let shelf = try Shelf()
        try shelf.execute("VACUUM INTO '\(shelf.folder.path)/copy.db'")
        let check = try JournalCheck.run(
            path: shelf.folder.path + "/copy.db", keyFile: shelf.folder.key)
        #expect(check.findings == [])
        let lock = try JournalLock(journal: shelf.folder.path + "/copy.db")
        _ = try JournalFile(
            path: shelf.folder.path + "/copy.db", keyFile: shelf.folder.key, access: .existing,
            lock: lock)
    }

    @Test func `The wrong key is a finding, and so is none`() throws {
        let shelf = try Shelf()
        try shelf.folder.write(String(repeating: "ab", count: 32) + "\n", to: "relay.key")
        #expect(try shelf.check().findings.contains { $0.contains("is not the key of") })
        try FileManager.default.removeItem(atPath: shelf.folder.key)
        #expect(try shelf.check().findings.contains { $0.contains("is missing") })
        #expect(!FileManager.default.fileExists(atPath: shelf.folder.key))
    }

    @Test func `A journal that is not there is no finding`() throws {
        let folder = try Folder()
        let failure = #expect(throws: JournalFailure.self) {
            try JournalCheck.run(path: folder.journal, keyFile: folder.key)
        }
        #expect(failure?.code == "missing")
        #expect(try folder.contents().isEmpty)
    }
}

@Suite("a damaged journal")
struct DamageTests {
    /// What happens to a file, by name.
    static let damages: [(String, @Sendable (inout Data) -> Void)] = [
        ("cut to half", { $0 = $0.prefix($0.count / 2) }),
        ("cut to one page", { $0 = $0.prefix(4096) }),
        ("cut within its last page", { $0 = $0.dropLast(100) }),
        ("its write version flipped", { $0[18] ^= 0x04 }),
        ("cut in its header", { $0 = $0.prefix(60) }),
        ("emptied", { $0 = Data() }),
        ("its first bytes flipped", { for index in 0..<16 { $0[index] ^= 0xff } }),
        (
            "a bit of each page flipped",
            { bytes in
                for page in stride(from: 4096, to: bytes.count, by: 4096) { bytes[page] ^= 0x10 }
            }
        ),
        ("zeros in its middle", { $0.replaceSubrange(4096..<12288, with: Data(count: 8192)) }),
        (
            "a belief overwritten",
            { bytes in
                guard let head = bytes.range(of: Data("\"epoch\"".utf8)) else { return }
                bytes.replaceSubrange(head, with: Data(count: head.count))
            }
        ),
    ]

    @Test(arguments: damages.map(\.0))
    func `It is refused with the remedy, found by the check, and left to the byte`(
        name: String
    ) throws {
        let shelf = try Shelf()
        let damage = try #require(Self.damages.first { $0.0 == name })
        try shelf.damage(damage.1)
        let before = try shelf.folder.contents()
        let failure = try #require(
            #expect(throws: JournalFailure.self) { try shelf.run() }, "\(name)")
        #expect(failure.kind == .unusable)
        #expect(failure.reason.contains("Nothing was changed"))
        #expect(failure.reason.contains("restore") || failure.reason.contains("name another"))
        #expect(try !shelf.check().findings.isEmpty)
        let after = try shelf.folder.contents()
        for file in ["relay.db", "relay.key"] { #expect(after[file] == before[file], "\(name)") }
    }

    @Test func `A crash leaves a log, and a refused file keeps it`() throws {
        let shelf = try Shelf()
        // A connection that stays open keeps the log from being moved into the file.
        let open = try Database(path: shelf.folder.journal)
        try open.execute("PRAGMA wal_autocheckpoint = 0; UPDATE places SET position = 19")
        try shelf.folder.write(String(repeating: "ab", count: 32) + "\n", to: "relay.key")
        let before = try shelf.folder.contents()
        #expect(throws: JournalFailure.self) { try shelf.run() }
        let after = try shelf.folder.contents()
        #expect(after["relay.db"] == before["relay.db"])
        #expect(after["relay.db-wal"] == before["relay.db-wal"])
    }

    @Test func `Another program's file keeps its own ways`() throws {
        let folder = try Folder()
        try Database(path: folder.journal).execute("CREATE TABLE theirs(x)")
        let before = try folder.read("relay.db")
        #expect(throws: JournalFailure.self) { try folder.open() }
        #expect(try folder.read("relay.db") == before)
    }
}

@Suite("a key rotated")
struct KeyRotationTests {
    /// Every credential, opened with the key file as it is.
    private func credentials(_ folder: Folder) throws -> [String] {
        try AccountRegister(try folder.open(.existing)).accounts().map { $0.credential.reveal() }
    }

    private let all = ["secret of a", "secret of b"]

    @Test func `Every credential opens with the new key, and the old one is kept beside`() throws {
        let shelf = try Shelf()
        let old = try shelf.folder.read("relay.key")
        let outcome = try KeyRotation.rotate(
            journal: shelf.folder.journal, keyFile: shelf.folder.key)
        #expect(outcome.accounts == 2)
        #expect(try credentials(shelf.folder) == all)
        #expect(try shelf.folder.read("relay.key") != old)
        #expect(try shelf.folder.read("relay.key.old") == old)
        #expect(try shelf.check().findings == [])
        try shelf.folder.write(String(decoding: old, as: UTF8.self), to: "relay.key")
        #expect(throws: JournalFailure.self) { try credentials(shelf.folder) }
    }

    @Test(arguments: KeyRotation.Step.allCases)
    func `Cut short at any step, a key fits and the next rotation works`(
        step: KeyRotation.Step
    ) throws {
        let shelf = try Shelf()
        let cut = JournalFailure(kind: .failed, code: "cut", reason: "cut")
        #expect(throws: cut) {
            try KeyRotation.rotate(
                journal: shelf.folder.journal, keyFile: shelf.folder.key, to: nil
            ) { (reached) throws(JournalFailure) in if reached == step { throw cut } }
        }
        #expect(try credentials(shelf.folder) == all)
        #expect(try shelf.check().findings == [])
        _ = try KeyRotation.rotate(journal: shelf.folder.journal, keyFile: shelf.folder.key)
        #expect(try credentials(shelf.folder) == all)
    }

    @Test func `Another place for the new key leaves the old one where it was`() throws {
        let shelf = try Shelf()
        let old = try shelf.folder.read("relay.key")
        let place = shelf.folder.path + "/next.key"
        _ = try KeyRotation.rotate(
            journal: shelf.folder.journal, keyFile: shelf.folder.key, to: place)
        #expect(try shelf.folder.read("relay.key") == old)
        let file = try JournalFile(
            path: shelf.folder.journal, keyFile: place, access: .existing)
        #expect(try AccountRegister(file).accounts().count == 2)
        let failure = #expect(throws: JournalFailure.self) { try credentials(shelf.folder) }
        #expect(failure?.code == "wrong_key")
    }

    @Test func `Beside a running relay it is refused`() throws {
        let shelf = try Shelf()
        let lock = try JournalLock(journal: shelf.folder.journal)
        let failure = #expect(throws: JournalFailure.self) {
            try KeyRotation.rotate(journal: shelf.folder.journal, keyFile: shelf.folder.key)
        }
        #expect(failure?.kind == .locked)
        withExtendedLifetime(lock) {}
    }

    @Test func `A credential that does not open stops it, and nothing is changed`() throws {
        let shelf = try Shelf()
        try shelf.execute("UPDATE accounts SET credential = zeroblob(60) WHERE id = 'b'")
        let old = try shelf.folder.read("relay.key")
        let failure = #expect(throws: JournalFailure.self) {
            try KeyRotation.rotate(journal: shelf.folder.journal, keyFile: shelf.folder.key)
        }
        #expect(failure?.kind == .unusable)
        #expect(try shelf.folder.read("relay.key") == old)
    }

    @Test func `A command that began before it does not seal with the old key`() throws {
        let shelf = try Shelf()
        let register = try AccountRegister(try shelf.folder.open(.existing))
        _ = try KeyRotation.rotate(journal: shelf.folder.journal, keyFile: shelf.folder.key)
        let failure = #expect(throws: JournalFailure.self) {
            try register.add(AccountEntry(account: try account("c"), credential: Secret("x")))
        }
        #expect(failure?.code == "key_rotated")
        #expect(try credentials(shelf.folder) == all)
    }
}
