internal import ConnectionEvents
internal import Hashing
internal import RelayCore
internal import SQLite

/// The marks of last sealed walks, packed: some thousand accounts to a row, each by its hash.
///
/// A mark of one account is the length of its id (1 byte), the id, 16 bytes of walk, 16 of
/// fingerprint. A fleet of a million then writes 45 MB a minute at most, in rows of about 45 KB.
struct MarkTable {
    /// The number of rows that accounts are spread over.
    static let slots: UInt64 = 1024

    private static let walkAndFingerprint = 32

    private let database: Database
    private let select: Statement
    private let put: Statement

    init(_ database: Database) throws(SQLiteError) {
        self.database = database
        select = try database.prepare("SELECT marks FROM marks WHERE slot = ?")
        put = try database.prepare(
            "INSERT INTO marks VALUES (?1, ?2) ON CONFLICT(slot) DO UPDATE SET marks = ?2")
    }

    func all() throws -> [AccountID: SealMark] {
        var result: [AccountID: SealMark] = [:]
        try database.prepare("SELECT marks FROM marks").each { row in
            try unsafe row.withBlob(0) { bytes in
                try unsafe Self.unpack(bytes) { account, mark in result[account] = mark }
            }
        }
        return result
    }

    func save(_ new: [AccountID: SealMark]) throws {
        var bySlot: [UInt64: [(AccountID, SealMark)]] = [:]
        for (account, mark) in new {
            bySlot[Self.slot(of: account), default: []].append((account, mark))
        }
        for (slot, marks) in bySlot.sorted(by: { $0.key < $1.key }) {
            try change(slot) { kept in
                for (account, mark) in marks { kept[account] = mark }
            }
        }
    }

    func drop(_ account: AccountID) throws {
        try change(Self.slot(of: account)) { $0[account] = nil }
    }

    private static func slot(of account: AccountID) -> UInt64 {
        StableHash.of(account.text) % slots
    }

    private func change(
        _ slot: UInt64, _ body: (inout [AccountID: SealMark]) -> Void
    ) throws {
        var kept: [AccountID: SealMark] = [:]
        _ = try select.first(.integer(Int64(slot))) { row in
            try unsafe row.withBlob(0) { bytes in
                try unsafe Self.unpack(bytes) { account, mark in kept[account] = mark }
            }
        }
        let before = kept
        body(&kept)
        guard kept != before else { return }
        try put.run(.integer(Int64(slot)), .blob(Self.pack(kept)))
    }

    private static func pack(_ marks: [AccountID: SealMark]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (account, mark) in marks {
            bytes.append(UInt8(account.text.utf8.count))
            bytes.append(contentsOf: account.text.utf8)
            for word in [
                mark.walk.high, mark.walk.low, mark.fingerprint.high, mark.fingerprint.low,
            ] {
                unsafe withUnsafeBytes(of: word.bigEndian) { unsafe bytes.append(contentsOf: $0) }
            }
        }
        return bytes
    }

    private static func unpack(
        _ bytes: UnsafeRawBufferPointer, _ body: (AccountID, SealMark) -> Void
    ) throws(JournalFailure) {
        var place = 0
        while place < bytes.count {
            let end = unsafe place + 1 + Int(bytes[place])
            guard end + walkAndFingerprint <= bytes.count,
                let account = unsafe AccountID(
                    String(decoding: bytes[(place + 1)..<end], as: UTF8.self))
            else { throw Reader.damaged("a mark of a walk") }
            func word(_ index: Int) -> UInt64 {
                let word = unsafe bytes.loadUnaligned(
                    fromByteOffset: end + index * 8, as: UInt64.self)
                return UInt64(bigEndian: word)
            }
            body(
                account,
                SealMark(
                    walk: WalkID(high: word(0), low: word(1)),
                    fingerprint: Fingerprint(high: word(2), low: word(3))))
            place = end + walkAndFingerprint
        }
    }
}
