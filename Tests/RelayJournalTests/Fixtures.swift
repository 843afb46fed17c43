import ConnectionEvents
import Crypto
import Foundation
import Hashing
import RelayCore
import SQLite
import Testing

@testable import RelayJournal

/// A folder for one test, gone with it, with the paths of a journal in it.
final class Folder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "journal-tests-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    var journal: String { path + "/relay.db" }
    var key: String { path + "/relay.key" }

    func open(_ access: JournalFile.Access = .create) throws -> JournalFile {
        try JournalFile(path: journal, keyFile: key, access: access)
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/" + name))
    }

    func read(_ name: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: path + "/" + name))
    }

    /// The bytes of all files, by name.
    func contents() throws -> [String: Data] {
        var result: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            result[name] = try read(name)
        }
        return result
    }
}

func account(_ text: String) throws -> AccountID { try #require(AccountID(text)) }

func connection(_ text: String) throws -> ConnectionID { try #require(ConnectionID(text)) }

func row(_ id: ConnectionID, status: String = "active") -> BelievedRow {
    let shown = Connection(
        id: id, platform: "youtube", status: status, health: .healthy, grantedScopes: ["a", "b"])
    return BelievedRow(shown: shown, observedAt: Timestamp(milliseconds: 1000), recordedAt: 1)
}

func head(epoch: Int64, sequence: Int64 = 0, incarnation: Int64 = 1) -> BeliefHead {
    var head = BeliefHead(epoch: epoch, incarnation: incarnation, rulesDigest: 0xfeed)
    head.sequence = sequence
    head.credentialTag = [1, 2, 255]
    head.lastSealed = WalkID(high: 7, low: 8)
    return head
}

func event(
    _ account: AccountID, _ id: ConnectionID, epoch: Int64 = 5, sequence: Int64
) -> ConnectionEvent {
    let change = ConnectionChange(
        connection: row(id, status: "expired").shown, previous: row(id).shown, changed: ["status"],
        statusRecognised: true, userActionable: true)
    let name = SHA256.hash("\(account) \(epoch) \(sequence)")
    return ConnectionEvent(
        id: EventID(Hex.encode(name.prefix(16))), account: account, type: .failing, kind: .change,
        lane: .raw, epoch: epoch, sequence: sequence, time: Timestamp(milliseconds: 2000),
        decidedAt: Timestamp(milliseconds: 3000), content: .connection(change))
}

func entry(
    _ account: AccountID, _ id: ConnectionID, epoch: Int64 = 5, sequence: Int64,
    numberedBy: [SinkName] = []
) -> NewEntry {
    NewEntry(
        account: account, event: event(account, id, epoch: epoch, sequence: sequence),
        state: StateWrite(key: StateRecord.key(account, id), value: Array("{}".utf8)),
        evidence: Array("{\"why\":1}".utf8), numberedBy: numberedBy)
}
