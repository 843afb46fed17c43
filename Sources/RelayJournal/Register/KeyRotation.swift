internal import ConnectionEvents
internal import Crypto
public import RelayCore
internal import SQLite

/// Seals all credentials of a journal anew under another key.
///
/// Safe at every step: the new key is on the disk before the journal is sealed with it, in one
/// transaction; the old one stays until that is committed. Cut short before, the old key fits and
/// the draft is forgotten; after, the draft is found to fit and put in its place.
///
/// Never beside a running relay, which holds the key in memory: it asks for the journal's lock.
/// Nor while a command refreshes a person's tokens, which it could not seal any more.
public enum KeyRotation {
    /// What was done.
    public struct Outcome: Hashable, Sendable {
        /// How many credentials were sealed anew.
        public var accounts: Int
        /// The id of the key before.
        public var former: String
        /// The id of the key now.
        public var current: String
        /// Where the new key lies.
        public var keyFile: String
        /// Where the key before is kept, for older backups.
        public var keptAt: String
    }

    /// Points between which a rotation may be cut short.
    enum Step: CaseIterable {
        case keyMade
        case sealed
        case committed
        case formerKept
    }

    /// Rotates the key.
    ///
    /// - Parameters:
    ///   - keyFile: the present key, in whose place the new one comes.
    ///   - other: where the new key is to lie instead: it is made there unless there is one, and
    ///     the pipeline must then name it.
    /// - Throws: `locked` beside a running relay; `unusable` where a credential does not open:
    ///   nothing is changed then.
    public static func rotate(
        journal: String, keyFile: String, to other: String? = nil
    ) throws(JournalFailure) -> Outcome {
        try rotate(journal: journal, keyFile: keyFile, to: other) { (_) throws(JournalFailure) in }
    }

    static func rotate(
        journal: String, keyFile: String, to other: String?,
        reached: (Step) throws(JournalFailure) -> Void
    ) throws(JournalFailure) -> Outcome {
        let lock = try JournalLock(journal: journal)
        let file = try JournalFile(path: journal, keyFile: keyFile, access: .existing, lock: lock)
        guard let before = try KeyFile.read(keyFile) else {
            throw .system("\(keyFile) went while the journal was opened")
        }
        let place = other ?? KeyFile.draft(of: keyFile)
        if other == nil { SystemFile.remove(place) }
        let present = try KeyFile.read(place)
        let key = if let present { present } else { try KeyFile.make(place) }
        guard key.id != before.id else {
            throw JournalFailure(
                kind: .failed, code: "same_key",
                reason: "\(place) holds the key that is in use already: name another file")
        }
        try reached(.keyMade)
        let count = try seal(file, with: key, reached: reached)
        try reached(.committed)
        if other == nil {
            try SystemFile.keep(SystemFile.resolved(keyFile), as: KeyFile.former(of: keyFile))
            try reached(.formerKept)
            try SystemFile.move(place, over: SystemFile.resolved(keyFile))
        }
        withExtendedLifetime(lock) {}
        return Outcome(
            accounts: count, former: before.id, current: key.id, keyFile: other ?? keyFile,
            keptAt: other == nil ? KeyFile.former(of: keyFile) : keyFile)
    }

    private static func seal(
        _ file: JournalFile, with key: KeyFile, reached: (Step) throws(JournalFailure) -> Void
    ) throws(JournalFailure) -> Int {
        let database = try file.connect()
        return try reporting(file.path) {
            // What the old key opens is overwritten.
            try database.execute("PRAGMA secure_delete = ON; PRAGMA cache_size = -65536")
            let (seal, box) = try file.seal.under(key, number: file.seal.keyNumber + 1)
            let count = try database.transaction {
                try mustBeAtRest(database)
                let count = try reseal(database, from: file.seal, to: seal)
                try database.execute("DELETE FROM keys")
                try database.prepare("INSERT INTO keys VALUES (?, ?, ?)")
                    .run(.integer(seal.keyNumber), .text(key.id), .blob(box))
                try reached(.sealed)
                return count
            }
            _ = try database.checkpoint(.truncate)
            return count
        }
    }

    /// Nobody may hold a right to refresh: what it brings would be sealed with a key that is gone.
    private static func mustBeAtRest(_ database: Database) throws {
        let now = WallClock.now()
        let until = try database.prepare(
            "SELECT max(until) FROM refreshing WHERE until > ?1 AND until <= ?2"
        ).first(
            .integer(now.milliseconds),
            .integer(now.adding(PersonBook.longestLease).milliseconds)
        ) { $0.integerOrNil(0) }
        guard let until = until ?? nil else { return }
        let seconds = (until - now.milliseconds + 999) / 1000
        throw JournalFailure(
            kind: .busy, code: "refreshing",
            reason: "a command is refreshing a person's tokens. Nothing was changed: try again, in"
                + " \(seconds) s at the latest")
    }

    private static func reseal(
        _ database: Database, from old: CredentialSeal, to new: CredentialSeal
    ) throws -> Int {
        let select = try database.prepare(
            "SELECT id, credential FROM accounts WHERE id > ? ORDER BY id LIMIT 1000")
        let update = try database.prepare(
            "UPDATE accounts SET key = ?, credential = ? WHERE id = ?")
        var (last, count) = ("", 0)
        while true {
            let boxes = try select.all(.text(last)) { ($0.text(0), $0.blob(1)) }
            for (name, box) in boxes {
                guard let account = AccountID(name) else { throw Reader.damaged("an account's id") }
                let sealed = try new.seal(old.open(box, of: account), for: account)
                try update.run(.integer(new.keyNumber), .blob(sealed), .text(name))
            }
            count += boxes.count
            guard let final = boxes.last else { return count }
            last = final.0
        }
    }
}
