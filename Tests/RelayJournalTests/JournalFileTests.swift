import Crypto
import Foundation
import RelayCore
import SQLite
import Testing

@testable import RelayJournal

@Suite struct JournalFileTests {
    let folder: Folder

    init() throws {
        folder = try Folder()
    }

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    private func refusal(_ access: JournalFile.Access = .create) throws -> JournalFailure {
        try #require(throws: JournalFailure.self) { try folder.open(access) }
    }

    @Test func `a new journal has an identity that stays`() throws {
        let first = try folder.open()
        #expect(first.id.text.count == 32)
        #expect(try folder.open(.existing).id == first.id)
        #expect(try folder.open(.existing).createdAt == first.createdAt)
    }

    @Test func `journal and key are readable by their owner alone`() throws {
        let file = try folder.open()
        #expect(file.warnings.isEmpty)
        let open = try file.connect()
        try open.execute("UPDATE journal SET created_at = 0")
        #expect(try mode(folder.journal) == 0o600)
        #expect(try mode(folder.key) == 0o600)
        #expect(try mode(folder.journal + "-wal") == 0o600)
        withExtendedLifetime(open) {}
    }

    @Test func `a key file that others can read is warned of`() throws {
        _ = try folder.open()
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.key)
        let warning = try #require(try folder.open().warnings.first)
        #expect(warning.contains("chmod 600"))
    }

    @Test func `a journal that must be there and is not is missing`() throws {
        #expect(try refusal(.existing).code == "missing")
        #expect(try folder.contents().isEmpty)
    }

    @Test func `two processes that make one journal at once make one`() throws {
        let path = folder.path
        let opened = Opened()
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            do {
                opened.add(
                    try JournalFile(
                        path: path + "/relay.db", keyFile: path + "/relay.key", access: .create))
            } catch {
                Issue.record(error)
            }
        }
        #expect(opened.files.count == 8)
        #expect(Set(opened.files.map(\.id)).count == 1)
        let tags = Set(opened.files.map { $0.seal.tag(of: Secret("credential")) })
        #expect(tags.count == 1)
        let names = try FileManager.default.contentsOfDirectory(atPath: path)
        #expect(names.allSatisfy { !$0.hasSuffix(".new") })
    }

    @Test func `a missing key is not replaced by a new one`() throws {
        _ = try folder.open()
        try FileManager.default.removeItem(atPath: folder.key)
        let before = try folder.read("relay.db")
        let failure = try refusal()
        #expect(failure.kind == .unusable)
        #expect(failure.code == "key_missing")
        #expect(try folder.read("relay.db") == before)
        #expect(!FileManager.default.fileExists(atPath: folder.key))
    }

    @Test func `the wrong key is named and nothing is overwritten`() throws {
        _ = try folder.open()
        let wrong = String(repeating: "ab", count: 32) + "\n"
        try folder.write(wrong, to: "relay.key")
        let before = try folder.contents()
        let failure = try refusal()
        #expect(failure.kind == .unusable)
        #expect(failure.code == "wrong_key")
        #expect(!failure.reason.contains("abab"))
        #expect(try folder.contents() == before)
    }

    @Test(arguments: ["", "short", String(repeating: "zz", count: 32)])
    func `a key file that holds no key is refused`(text: String) throws {
        try folder.write(text, to: "relay.key")
        #expect(try refusal().code == "key_malformed")
        #expect(try folder.read("relay.key") == Data(text.utf8))
    }

    @Test func `a file of something else is not a journal and stays as it is`() throws {
        let text = String(repeating: "not a database at all, ", count: 100)
        try folder.write(text, to: "relay.db")
        let failure = try refusal()
        #expect(failure.kind == .unusable)
        #expect(failure.code == "not_a_journal")
        #expect(try folder.contents() == ["relay.db": Data(text.utf8)])
    }

    @Test func `another program's SQLite file is not a journal`() throws {
        try Database(path: folder.journal).execute("CREATE TABLE theirs(x)")
        #expect(try refusal().code == "not_a_journal")
    }

    @Test func `a journal of a newer relay is refused by name`() throws {
        _ = try folder.open()
        try Database(path: folder.journal).execute("PRAGMA user_version = 99")
        let failure = try refusal()
        #expect(failure.code == "newer_journal")
        #expect(failure.reason.contains("99"))
    }

    @Test func `a damaged journal is refused and not mended by force`() throws {
        _ = try folder.open()
        var bytes = try folder.read("relay.db")
        for index in 100..<bytes.count { bytes[index] = 0xa5 }
        try bytes.write(to: URL(fileURLWithPath: folder.journal))
        let failure = try refusal()
        #expect(failure.kind == .unusable)
        #expect(failure.code == "corrupt")
        #expect(try folder.read("relay.db") == bytes)
    }

    /// Locks of this process on the journal's file, as the kernel counts them.
    private func locks() throws -> Int {
        var status = stat()
        try #require(unsafe stat(folder.journal, &status) == 0)
        let lines = try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(
            separator: "\n")
        return lines.count {
            $0.contains(" \(getpid()) ") && $0.contains(":\(status.st_ino) ")
        }
    }

    @Test func `a journal that is opened again lets go of no lock of the first`() throws {
        // Another process would take itself for the last one, and delete the log under us.
        let lock = try JournalLock(journal: folder.journal)
        func open() throws -> JournalFile {
            try JournalFile(
                path: folder.journal, keyFile: folder.key, access: .create, lock: lock)
        }
        let journal = try SQLiteJournal(open(), lock: lock)
        _ = try journal.head()
        let held = try locks()
        #expect(held > 0)
        let again = try open()
        #expect(try locks() == held)
        #expect(try JournalCheck.run(path: folder.journal, keyFile: folder.key).findings.isEmpty)
        #expect(try locks() == held)
        withExtendedLifetime((journal, again)) {}
    }

    @Test func `a journal in no folder says so`() throws {
        let failure = try #require(throws: JournalFailure.self) {
            try JournalFile(
                path: folder.path + "/none/relay.db", keyFile: folder.key, access: .create)
        }
        #expect(failure.kind == .failed)
        #expect(failure.reason.contains("No such file"))
    }

    private final class Opened: @unchecked Sendable {
        private let lock = NSLock()
        private(set) var files: [JournalFile] = []

        func add(_ file: JournalFile) {
            lock.withLock { files.append(file) }
        }
    }
}

@Suite struct SchemaTests {
    let folder: Folder

    init() throws {
        folder = try Folder()
    }

    private var next: Schema {
        Schema(migrations: Schema.current.migrations + ["CREATE TABLE later(x INTEGER) STRICT"])
    }

    private func openNext(lock: JournalLock? = nil) throws -> JournalFile {
        try JournalFile(
            path: folder.journal, keyFile: folder.key, access: .create, lock: lock, schema: next)
    }

    @Test func `a journal of version 1 is brought to the next with all that it holds`() throws {
        let old = try folder.open()
        try AccountRegister(old).add(
            AccountEntry(account: try account("a"), credential: Secret("key of a")))
        let new = try openNext()
        #expect(new.id == old.id)
        let database = try new.connect()
        #expect(try database.integer("PRAGMA user_version") == next.version)
        #expect(try database.integer("SELECT count(*) FROM later") == 0)
        let loaded = try AccountRegister(new).accounts()
        #expect(loaded.map { $0.credential.reveal() } == ["key of a"])
    }

    @Test func `every older version is brought to the current one`() throws {
        let first = Schema(migrations: [Schema.current.migrations[0]])
        _ = try JournalFile(
            path: folder.journal, keyFile: folder.key, access: .create, lock: nil, schema: first)
        let book = try HoldBook(folder.open())
        #expect(try book.holds(after: nil, limit: 10).isEmpty)
        #expect(try book.orders(after: 0).isEmpty)
    }

    @Test func `a journal is not migrated beside a running relay`() throws {
        _ = try folder.open()
        let lock = try JournalLock(journal: folder.journal)
        let failure = try #require(throws: JournalFailure.self) { try openNext() }
        #expect(failure.kind == .locked)
        _ = try openNext(lock: lock)
    }

    @Test func `a migration that fails leaves the old version`() throws {
        _ = try folder.open()
        let broken = Schema(
            migrations: Schema.current.migrations + ["CREATE TABLE half(x); NO SUCH THING"])
        #expect(throws: JournalFailure.self) {
            try JournalFile(
                path: folder.journal, keyFile: folder.key, access: .create, lock: nil,
                schema: broken)
        }
        _ = try folder.open()
        let names = try Database(path: folder.journal).texts("SELECT name FROM sqlite_schema")
        #expect(!names.contains("half"))
    }
}

@Suite struct JournalLockTests {
    @Test func `a second relay is told who runs`() throws {
        let folder = try Folder()
        let lock = try JournalLock(journal: folder.journal)
        let failure = try #require(throws: JournalFailure.self) {
            try JournalLock(journal: folder.journal)
        }
        #expect(failure.kind == .locked)
        #expect(failure.reason.contains("process \(getpid())"))
        #expect(JournalLock.holder(of: folder.journal) == getpid())
        withExtendedLifetime(lock) {}
    }

    @Test func `the lock goes with its holder and its file stays`() throws {
        let folder = try Folder()
        do { _ = try JournalLock(journal: folder.journal) }
        #expect(JournalLock.holder(of: folder.journal) == nil)
        #expect(FileManager.default.fileExists(atPath: folder.journal + ".lock"))
        _ = try JournalLock(journal: folder.journal)
    }
}
