internal import ConnectionEvents
internal import Crypto
internal import RelayCore
internal import SQLite

/// Seals credentials for the register and tells them apart without opening them.
///
/// A box is bound to its account's id, so that it cannot be moved to another one. The tag is an
/// HMAC under a random key that stands sealed in the journal: it is no use to who has the file
/// alone, and it outlives a change of the key file. That sealed tag key is also what proves that
/// key and journal belong together.
struct CredentialSeal: Sendable {
    /// The number of the key in the table `keys`, which stands beside each box.
    let keyNumber: Int64
    private let key: Secret
    private let tagKey: Secret

    /// The length of a tag in bytes.
    static let tagByteCount = 16

    /// The tag of a credential.
    func tag(of credential: Secret) -> [UInt8] {
        Array(HMACSHA256.authenticate(credential, key: tagKey).prefix(Self.tagByteCount))
    }

    /// A box for one account.
    func seal(_ credential: Secret, for account: AccountID) throws(CryptoError) -> [UInt8] {
        try SealedBox.seal(credential, key: key, additionalData: Array(account.text.utf8))
    }

    /// What is in an account's box.
    func open(_ box: [UInt8], of account: AccountID) throws(CryptoError) -> Secret {
        try SealedBox.open(box, key: key, additionalData: Array(account.text.utf8))
    }

    /// The seal of a journal, by its key file, which is made with the journal and never after.
    ///
    /// - Returns: the seal, and what an operator should hear about the key file.
    /// - Throws: `unusable` when the journal has a key and the file is missing or holds another.
    static func open(
        in database: Database, keyFile path: String
    ) throws -> (CredentialSeal, String?) {
        if let found = try find(in: database, keyFile: path) { return found }
        let select = try database.prepare(KnownKey.newest)
        let file = try KeyFile.read(path) ?? KeyFile.make(path)
        let tagKey = try Random.bytes(32)
        let box = try SealedBox.seal(tagKey, key: file.key, additionalData: tagKeyOwner)
        let insert = try database.prepare("INSERT INTO keys VALUES (1, ?, ?)")
        // Another process may have been faster; the key in the journal is then the one that counts.
        let known = try database.transaction {
            if let known = try select.first(read: KnownKey.init) { return known }
            try insert.run(.text(file.id), .blob(box))
            return KnownKey(number: 1, id: file.id, sealedTagKey: box)
        }
        return try open(known, of: database.path, keyFile: path)
    }

    /// The seal of a journal that has a key; nil where it has none yet.
    static func find(
        in database: Database, keyFile path: String
    ) throws -> (CredentialSeal, String?)? {
        try database.prepare(KnownKey.newest).first(read: KnownKey.init).map {
            try open($0, of: database.path, keyFile: path)
        }
    }

    /// The same journal's seal under another key; nothing is written.
    func under(_ file: KeyFile, number: Int64) throws(CryptoError) -> (CredentialSeal, [UInt8]) {
        let box = try SealedBox.seal(tagKey, key: file.key, additionalData: Self.tagKeyOwner)
        return (CredentialSeal(keyNumber: number, key: file.key, tagKey: tagKey), box)
    }

    private static let tagKeyOwner = Array("trax-relay tag key".utf8)

    private struct KnownKey {
        let number: Int64
        let id: String
        let sealedTagKey: [UInt8]

        static let newest =
            "SELECT number, id, sealed_tag_key FROM keys ORDER BY number DESC LIMIT 1"

        init(number: Int64, id: String, sealedTagKey: [UInt8]) {
            self.number = number
            self.id = id
            self.sealedTagKey = sealedTagKey
        }

        init(_ row: Statement.Row) {
            self.init(number: row.integer(0), id: row.text(1), sealedTagKey: row.blob(2))
        }
    }

    private static func open(
        _ known: KnownKey, of journal: String, keyFile path: String
    ) throws -> (CredentialSeal, String?) {
        var present = try KeyFile.read(path)
        var file = try present?.id == known.id ? present : KeyFile.successor(of: path, known.id)
        if file == nil, present != nil {
            // A rotation may have put the new key in its place between the two looks.
            present = try KeyFile.read(path)
            file = present?.id == known.id ? present : nil
        }
        guard let file = file ?? present else {
            throw JournalFailure.unusable(
                "key_missing",
                "\(path) is missing, and the credentials in \(journal) are sealed with it. Nothing"
                    + " was changed: restore the key file (key \(known.id))")
        }
        guard file.id == known.id else {
            throw JournalFailure.unusable(
                "wrong_key",
                "\(path) is not the key of \(journal), which is sealed with key \(known.id), not"
                    + " \(file.id). Nothing was changed: name or restore the right key file")
        }
        do {
            let tagKey = try SealedBox.open(
                known.sealedTagKey, key: file.key, additionalData: tagKeyOwner)
            let seal = CredentialSeal(keyNumber: known.number, key: file.key, tagKey: tagKey)
            return (seal, file.warning)
        } catch {
            throw JournalFailure.unusable(
                "corrupt",
                "\(journal) is damaged: its proof of the key does not open. Nothing was changed:"
                    + " restore a backup")
        }
    }
}
