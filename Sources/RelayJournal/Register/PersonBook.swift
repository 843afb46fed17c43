public import ConnectionEvents
public import Crypto
public import RelayCore
internal import SQLite
internal import Threading

/// The sessions of people in the register, read and renewed beside everything else.
///
/// The right to refresh is a row with a deadline, never a held transaction: whoever has it may be
/// killed. Threads: any; one at a time is served. Calls block on the disk.
public final class PersonBook: PersonVault {
    private let file: JournalFile
    private let connection: Lock<Database>

    /// Rights that end later than this are of a clock that was wrong.
    static let longestLease = Duration.seconds(120)

    /// Opens the sessions of a journal.
    public init(_ file: JournalFile) throws(JournalFailure) {
        self.file = file
        connection = Lock(try file.connect())
    }

    /// The session of an account; nil where there is no such account, or it is no person's.
    public func session(of account: AccountID) throws(JournalFailure) -> PersonSession? {
        try run { database in try read(account, database) }
    }

    /// Takes the right to refresh an account's tokens, for a time; false while another has it.
    public func lease(
        _ account: AccountID, holder: String, for time: Duration
    ) throws(JournalFailure) -> Bool {
        try run { database in
            let now = WallClock.now()
            return try database.transaction {
                // Before anything is asked of the provider: the answer could not be sealed.
                try mustHaveKey(database)
                // `changes` keeps its number where nothing is written: asked for by hand.
                let isFree = try database.prepare(
                    """
                    SELECT NOT EXISTS (SELECT 1 FROM refreshing WHERE account = ?1
                        AND holder <> ?2 AND until > ?3 AND until <= ?4)
                    """
                ).first(
                    .text(account.text), .text(holder), .integer(now.milliseconds),
                    .integer(now.adding(Self.longestLease).milliseconds)
                ) { $0.flag(0) }
                guard isFree == true else { return false }
                try database.prepare(
                    """
                    INSERT INTO refreshing(account, holder, until) VALUES (?1, ?2, ?3)
                    ON CONFLICT(account) DO UPDATE SET holder = ?2, until = ?3
                    """
                ).run(
                    .text(account.text), .text(holder),
                    .integer(now.adding(time).milliseconds))
                return true
            }
        }
    }

    /// Takes rights back that relays of before were killed with.
    ///
    /// Only for who holds the journal's lock: no other relay runs then.
    ///
    /// - Parameter relays: what the names of relays begin with, and of nobody else.
    public func forgetLeases(of relays: String) throws(JournalFailure) {
        try run { database in
            try database.prepare("DELETE FROM refreshing WHERE substr(holder, 1, ?) = ?")
                .run(.integer(relays.count), .text(relays))
        }
    }

    /// A name for giving a refresh token back.
    public func exchangeName(of token: Secret) -> String { file.seal.exchangeName(of: token) }

    /// Gives the right back.
    public func release(_ account: AccountID, holder: String) throws(JournalFailure) {
        try run { database in try release(account, holder, database) }
    }

    /// Puts a session in the place of the one that was refreshed.
    ///
    /// The register's version stays: a refreshed token is no change of the register.
    public func replace(
        _ session: PersonSession, of account: AccountID, tried: Secret, holder: String
    ) throws(JournalFailure) -> Bool {
        try run { database in
            let seal = file.seal
            return try database.transaction {
                try mustHaveKey(database)
                try release(account, holder, database)
                guard let present = try read(account, database), present.refreshToken == tried,
                    present.number == session.number
                else { return false }
                var session = session
                // Begun by another process while the tokens were asked for.
                session.isLeaving = present.isLeaving
                session.wasPausedBefore = present.wasPausedBefore
                let box = try seal.seal(PersonCoding.text(of: session), for: account)
                try database.prepare(
                    "UPDATE accounts SET credential = ?, key = ? WHERE id = ?"
                ).run(.blob(box), .integer(seal.keyNumber), .text(account.text))
                return true
            }
        }
    }

    private func read(_ account: AccountID, _ database: Database) throws -> PersonSession? {
        let box = try database.prepare(
            """
            SELECT credential FROM accounts WHERE id = ? AND scheme = 'person' AND removing = 0
            """
        ).first(.text(account.text)) { $0.blob(0) }
        guard let box else { return nil }
        let text: Secret
        do throws(CryptoError) {
            text = try file.seal.open(box, of: account)
        } catch {
            // Sealed by a key of later than ours it is not damaged.
            try mustHaveKey(database)
            throw error
        }
        return try PersonCoding.session(of: text, account: account)
    }

    private func mustHaveKey(_ database: Database) throws {
        guard try database.integer("SELECT max(number) FROM keys") == file.seal.keyNumber else {
            throw JournalFailure(
                kind: .busy, code: "key_rotated",
                reason: "the journal's key was rotated meanwhile. Nothing was changed: run the"
                    + " command again")
        }
    }

    private func release(_ account: AccountID, _ holder: String, _ database: Database) throws {
        try database.prepare("DELETE FROM refreshing WHERE account = ? AND holder = ?")
            .run(.text(account.text), .text(holder))
    }

    private func run<Result>(
        _ body: (Database) throws -> Result
    ) throws(JournalFailure) -> Result {
        try connection.withLock { (database) throws(JournalFailure) in
            try reporting(file.path) { try body(database) }
        }
    }
}
