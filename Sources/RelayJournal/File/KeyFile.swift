internal import Crypto
internal import Glibc
internal import RelayCore

/// The key that seals credentials at rest, as its file holds it: 64 hexadecimal digits.
struct KeyFile {
    /// The key.
    let key: Secret
    /// Names the key without telling anything about it; stands beside what it sealed.
    let id: String
    /// What an operator should hear about the file; nil when all is well.
    let warning: String?

    /// Reads the key file; nil when there is none.
    ///
    /// - Throws: `unusable` when the file holds no key.
    static func read(_ path: String) throws(JournalFailure) -> KeyFile? {
        guard let content = try SystemFile.read(path, limit: 256) else { return nil }
        var digits = content.bytes
        while let last = digits.last, [10, 13, 32].contains(last) { digits.removeLast() }
        guard digits.count == 64, let bytes = Hex.decode(String(decoding: digits, as: UTF8.self))
        else {
            throw .unusable(
                "key_malformed",
                "\(path) holds no key (64 hexadecimal digits). Nothing was changed: restore"
                    + " the file that was made with the journal")
        }
        var warning: String?
        if content.mode & 0o077 != 0 {
            let mode = String(content.mode, radix: 8)
            warning =
                "\(path) can be read by others than its owner (mode \(mode)): chmod 600 \(path)"
        }
        return KeyFile(bytes, warning: warning)
    }

    /// Where a rotation makes the new key before the journal is sealed with it.
    static func draft(of path: String) -> String { SystemFile.resolved(path) + ".new" }
    /// Where a rotation leaves the key before, which older backups need.
    static func former(of path: String) -> String { SystemFile.resolved(path) + ".old" }

    /// The key that a rotation cut short has sealed the journal with, put in its place now.
    ///
    /// - Returns: nil when there is none of that id.
    static func successor(of path: String, _ id: String) throws(JournalFailure) -> KeyFile? {
        guard let draft = try read(draft(of: path)), draft.id == id else { return nil }
        // One that is under way puts it there itself, and keeps the key before: it gets the time.
        usleep(200_000)
        if let present = try read(path), present.id == id { return present }
        try adoptDraft(of: path)
        return draft
    }

    /// Puts the new key in the place of the old one, which stays beside it.
    static func adoptDraft(of path: String) throws(JournalFailure) {
        try SystemFile.keep(SystemFile.resolved(path), as: former(of: path))
        try SystemFile.move(draft(of: path), over: SystemFile.resolved(path))
    }

    /// Makes a key file with a fresh key, mode 0600; one that appeared meanwhile is read instead.
    static func make(_ path: String) throws(JournalFailure) -> KeyFile {
        let bytes: [UInt8]
        do {
            bytes = try Random.bytes(SealedBox.keyByteCount)
        } catch {
            throw .system("\(path) cannot be made: \(error.reason)")
        }
        switch try SystemFile.make(path, holding: Array((Hex.encode(bytes) + "\n").utf8)) {
        case .made: return KeyFile(bytes, warning: nil)
        case .existed:
            guard let file = try read(path) else {
                throw .system("\(path) came and went while the journal was opened")
            }
            return file
        }
    }

    private init(_ bytes: [UInt8], warning: String?) {
        key = Secret(bytes)
        let name = SHA256.hash(parts: [Array("trax-relay key id".utf8), bytes])
        id = Hex.encode(name.prefix(8))
        self.warning = warning
    }
}
