import ConnectionEvents
import Crypto
import Foundation
import RelayCore
import RelayJournal
import Testing
import Threading

@testable import RelayCommands

/// A folder for one test with a pipeline in it, and the command line to use on it.
final class Door {
    /// How a command ended, and what it said.
    struct Ending {
        var code: ExitCode
        var out: String
        var err: String

        /// The lines of standard output.
        var lines: [String] { out.split(separator: "\n").map(String.init) }
    }

    let path: String

    init(baseURL: String = "http://127.0.0.1:9") throws {
        path = NSTemporaryDirectory() + "door-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try write(Self.pipeline(baseURL), to: "relay.yaml")
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    static func pipeline(_ baseURL: String) -> String {
        """
        version: 1
        name: test
        source:
          baseURL: \(baseURL)
          requestTimeout: 20s
          perAccount: 100/s
        journal: { sqlite: relay.db, keyFile: relay.key }
        sinks:
          - log: {}

        """
    }

    var file: String { "\(path)/relay.yaml" }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }

    /// Puts another folder's file in the place of this one's.
    func take(_ name: String, of other: Door) throws {
        try FileManager.default.removeItem(atPath: "\(path)/\(name)")
        try FileManager.default.copyItem(
            atPath: "\(other.path)/\(name)", toPath: "\(path)/\(name)")
    }

    /// Names of the files that are there.
    func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }

    /// Runs a command line; `@` stands for `-c` and this folder's pipeline.
    func run(_ words: String..., secret: String? = nil) -> Ending {
        let all = words.flatMap { $0 == "@" ? ["-c", file] : [$0] }
        return Self.run(all, secret: secret)
    }

    /// Runs a command line with nothing on disk.
    static func run(_ words: [String], secret: String? = nil) -> Ending {
        let (out, err) = (Lock(""), Lock(""))
        let terminal = Terminal(
            out: { text in out.withLock { $0 += text } },
            err: { text in err.withLock { $0 += text } }, showsProgress: false,
            askSecret: { _ in secret.map { Secret($0) } })
        let code = RelayCommandLine.run(words, terminal: terminal)
        return Ending(code: code, out: out.withLock { $0 }, err: err.withLock { $0 })
    }

    /// Opens the journal as a relay does, for the length of the call.
    func withJournal<Result>(_ body: (SQLiteJournal, AccountRegister) throws -> Result) throws
        -> Result
    {
        let lock = try JournalLock(journal: "\(path)/relay.db")
        let file = try JournalFile(
            path: "\(path)/relay.db", keyFile: "\(path)/relay.key", access: .create, lock: lock)
        let journal = try SQLiteJournal(file, lock: lock)
        let result = try body(journal, try AccountRegister(file))
        try journal.close()
        return result
    }

    /// Has the journal believe rows of a registered account: one sealed walk after another.
    func believe(_ account: String, _ lists: [[String: String]]) throws {
        try withJournal { journal, register in
            let id = try #require(AccountID(account))
            let incarnation = try #require(
                try register.accounts().first { $0.id == id }
            ).incarnation
            var belief = Belief(
                meeting: id, epoch: 1_796_040_000_000, incarnation: incarnation,
                rules: Detection())
            for (index, rows) in lists.enumerated() {
                let start = Timestamp(milliseconds: 1_796_040_000_000 + Int64(index) * 10_000)
                let walk = SealedWalk(
                    id: WalkID(start: start, random: (1, UInt64(index))),
                    sealedAt: start.adding(.seconds(1)),
                    rows: try rows.map { id, status in
                        ListedRow(
                            Connection(
                                id: try #require(ConnectionID(id)), platform: "youtube",
                                status: status, health: .unrecognised, grantedScopes: ["a"]))
                    }, pages: [PageTrace(status: 200, requestID: "req_\(index)", bytes: 9)])
                let decision = belief.observe(
                    walk, lastSealed: nil, rules: Detection(),
                    decidedAt: start.adding(.seconds(2)))
                var batch = JournalBatch()
                batch.entries = decision.entries
                if let write = decision.write(of: belief) { batch.beliefs.append((id, write)) }
                _ = try journal.commit(batch)
            }
        }
    }
}
