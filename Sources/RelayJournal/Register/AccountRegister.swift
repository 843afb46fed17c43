public import ConnectionEvents
internal import Crypto
public import RelayCore
internal import SQLite
internal import Threading

/// The register: which accounts there are, with their credentials sealed.
///
/// Commands change it in short transactions beside a running relay, which asks ``changes()`` each
/// second. Each change takes the next register version, so that only what changed is loaded.
///
/// Threads: any; one at a time is served, the others wait. Calls block on the disk.
public final class AccountRegister: Register {
    let file: JournalFile
    let connection: Lock<RegisterConnection>

    /// Opens the register of a journal.
    public init(_ file: JournalFile) throws(JournalFailure) {
        self.file = file
        let database = try file.connect()
        // An import of a million rows stays in memory until it is committed.
        try reporting(file.path) { try database.execute("PRAGMA cache_size = -65536") }
        connection = Lock(try reporting(file.path) { try RegisterConnection(database) })
    }

    /// Every account with its credential, those being removed too.
    ///
    /// - Throws: `unusable` when a sealed credential does not open.
    public func accounts() throws(JournalFailure) -> [RegisteredAccount] {
        try run { connection in
            try connection.noteVersions()
            return try connection.load(after: -1, file.seal)
        }
    }

    /// What changed since the last call of this or of ``accounts()``.
    public func changes() throws(JournalFailure) -> [RegisteredAccount] {
        try run { connection in
            let seen = connection.seenVersion
            guard try connection.noteVersions() else { return [] }
            do {
                return try connection.load(after: seen, file.seal)
            } catch {
                // Not handed out, so not seen: the next call loads them again.
                connection.forgetVersions(since: seen)
                throw error
            }
        }
    }

    /// The register version of an account's last change; nil: it is not there.
    public func version(of account: AccountID) throws(JournalFailure) -> Int64? {
        try run { connection in try connection.version(of: account) }
    }

    /// What is known of each account, by id; of people the issuer, and of nobody a credential.
    ///
    /// - Parameter id: only this account.
    public func summaries(of id: AccountID? = nil) throws(JournalFailure) -> [AccountSummary] {
        try run { connection in try connection.summaries(of: id, file.seal) }
    }

    /// Adds an account by command.
    ///
    /// An account that is being removed is added anew: a new epoch and a baseline follow.
    ///
    /// - Parameter replacing: an account that is there already gets the entry's credential,
    ///   interval, pause and labels, as far as it states them; without it that is refused.
    /// - Throws: `RegisterRefusal` (`exists`, `sharedCredential`, `badLines` without a credential)
    ///   or `JournalFailure`.
    public func add(_ entry: AccountEntry, replacing: Bool = false) throws {
        try change { writing in
            let known = try writing.known(entry.account)
            if let known, !known.isRemoving, !replacing {
                throw RegisterRefusal(
                    .exists, "account \(entry.account) is in the register already: remove it first")
            }
            if let credential = entry.credential {
                let tag = file.seal.tag(of: credential)
                if let other = try writing.owner(ofTag: tag, except: entry.account) {
                    throw RegisterRefusal(
                        .sharedCredential,
                        "account \(entry.account) has the same credential as account \(other):"
                            + " one credential stands for one account")
                }
            }
            let origin = known.flatMap { $0.isRemoving ? nil : $0.origin } ?? .command
            guard let plan = try AccountPlan(entry, over: known, origin: origin, seal: file.seal)
            else {
                throw RegisterRefusal(
                    .badLines, "account \(entry.account) needs a credential")
            }
            try writing.write(plan, key: file.seal.keyNumber)
        }
    }

    /// Pauses an account: it is not walked until it is resumed.
    public func pause(_ id: AccountID) throws {
        try update(id) { $0.setPaused(true, by: .command) }
    }

    /// Resumes an account, whoever paused it.
    public func resume(_ id: AccountID) throws {
        try update(id) { $0.setPaused(false, by: .command) }
    }

    /// Removes an account: the relay publishes that, and then the row goes.
    ///
    /// An account that the accounts file still has comes back with its next import.
    public func remove(_ id: AccountID) throws {
        try update(id) { $0.isRemoving = true }
    }

    private func update(_ id: AccountID, _ body: (inout KnownAccount) -> Void) throws {
        try change { writing in
            guard var known = try writing.known(id), !known.isRemoving else {
                throw RegisterRefusal(
                    .unknownAccount,
                    "there is no account \(id): `trax-relay accounts list` names those there are")
            }
            let before = known
            body(&known)
            guard known != before else { return }
            try writing.update(known)
        }
    }

    /// Runs a change in one transaction under the next register version.
    func change<Result>(_ body: (RegisterChange) throws -> Result) throws -> Result {
        try connection.withLock { connection in
            do {
                return try connection.change { change in
                    try change.proveKey(file.seal.keyNumber)
                    return try body(change)
                }
            } catch let refusal as RegisterRefusal {
                throw refusal
            } catch {
                return try reporting(file.path) { throw error }
            }
        }
    }

    func run<Result>(
        _ body: (inout RegisterConnection) throws -> Result
    ) throws(JournalFailure) -> Result {
        try connection.withLock { (connection) throws(JournalFailure) in
            try reporting(file.path) { try body(&connection) }
        }
    }
}
