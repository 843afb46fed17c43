internal import ConnectionEvents
internal import Crypto
internal import RelayCore
internal import SQLite

/// The register's connection with its statements; used by one thread at a time.
struct RegisterConnection {
    let database: Database
    /// The register version up to which changes were handed out.
    private(set) var seenVersion: Int64 = -1
    private var seenData: Int64 = -1
    private let version: Statement
    private let load: Statement
    private let one: Statement
    private let owner: Statement
    private let lastChange: Statement
    private let insert: Statement
    private let update: Statement
    private let reseal: Statement
    private let bump: Statement

    init(_ database: Database) throws(SQLiteError) {
        self.database = database
        version = try database.prepare("SELECT value FROM counters WHERE name = 'register'")
        load = try database.prepare(
            """
            SELECT \(Self.loadedColumns) FROM accounts WHERE version > ? ORDER BY id
            """)
        one = try database.prepare("SELECT \(Self.knownColumns) FROM accounts WHERE id = ?")
        owner = try database.prepare(
            "SELECT id FROM accounts WHERE tag = ? AND id <> ? AND removing = 0 LIMIT 1")
        lastChange = try database.prepare("SELECT version FROM accounts WHERE id = ?")
        insert = try database.prepare(
            """
            INSERT INTO accounts(id, version, incarnation, removing, origin, paused, paused_by,
                interval_ms, tag, labels, changed_at, added_at, key, credential, scheme, given)
            VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, ?11, ?12, ?13, ?14)
            ON CONFLICT(id) DO UPDATE SET version = ?2, incarnation = ?3, removing = 0,
                origin = ?4, paused = ?5, paused_by = ?6, interval_ms = ?7, tag = ?8, labels = ?9,
                changed_at = ?10, added_at = ?10, key = ?11, credential = ?12, scheme = ?13,
                given = ?14
            """)
        update = try database.prepare(
            """
            UPDATE accounts SET version = ?2, removing = ?3, origin = ?4, paused = ?5,
                paused_by = ?6, interval_ms = ?7, tag = ?8, labels = ?9, changed_at = ?10,
                scheme = ?11, given = ?12
            WHERE id = ?1
            """)
        reseal = try database.prepare(
            "UPDATE accounts SET key = ?, credential = ? WHERE id = ?")
        bump = try database.prepare("UPDATE counters SET value = ? WHERE name = 'register'")
    }

    static let knownColumns =
        "id, incarnation, removing, origin, paused, paused_by, interval_ms, tag, labels, scheme,"
        + " given"

    /// Takes note of the register's version; false when nothing moved since the last time.
    ///
    /// `PRAGMA data_version` moves with every commit of the relay too, so the register's own
    /// version has the last word.
    @discardableResult
    mutating func noteVersions() throws -> Bool {
        let data = try database.dataVersion()
        if data == seenData { return false }
        let current = try registerVersion()
        seenData = data
        guard current != seenVersion else { return false }
        seenVersion = current
        return true
    }

    /// Takes back what was noted last: the changes since a version are still to be handed out.
    mutating func forgetVersions(since version: Int64) {
        seenVersion = version
        seenData = -1
    }

    func registerVersion() throws -> Int64 {
        try version.first { $0.integer(0) } ?? 0
    }

    /// The register version of an account's last change; nil: it is not there.
    func version(of id: AccountID) throws -> Int64? {
        try lastChange.first(.text(id.text)) { $0.integer(0) }
    }

    /// The accounts that changed after a register version, by id.
    func load(after version: Int64, _ seal: CredentialSeal) throws -> [RegisteredAccount] {
        try load.all(.integer(version)) { try Self.registered($0, seal) }
    }

    /// One account, also one that is being removed.
    func load(_ id: AccountID, _ seal: CredentialSeal) throws -> RegisteredAccount? {
        try database.prepare("SELECT \(Self.loadedColumns) FROM accounts WHERE id = ?")
            .first(.text(id.text)) { try Self.registered($0, seal) }
    }

    private static let loadedColumns =
        "id, credential, tag, interval_ms, paused, incarnation, removing, scheme, version"

    private static func registered(
        _ row: Statement.Row, _ seal: CredentialSeal
    ) throws -> RegisteredAccount {
        let id = try account(row.text(0))
        let opened = try open(row.blob(1), of: id, seal)
        let person =
            row.text(7) == CredentialScheme.person.rawValue
            ? try PersonCoding.session(of: opened, account: id) : nil
        return RegisteredAccount(
            id: id, credential: person.map { $0.accessToken ?? Secret("") } ?? opened,
            credentialTag: row.blob(2),
            interval: row.integerOrNil(3).map { .milliseconds($0) }, isPaused: row.flag(4),
            incarnation: row.integer(5), isRemoving: row.flag(6),
            person: person.map { PersonTimes(bearer: $0.times(of: id), number: $0.number) },
            version: row.integer(8))
    }

    /// All rows without their credentials.
    func known() throws -> [KnownAccount] {
        try database.prepare("SELECT \(Self.knownColumns) FROM accounts")
            .all(read: Self.knownAccount)
    }

    func known(_ id: AccountID) throws -> KnownAccount? {
        try one.first(.text(id.text), read: Self.knownAccount)
    }

    func owner(ofTag tag: [UInt8], except id: AccountID) throws -> String? {
        try owner.first(.blob(tag), .text(id.text)) { $0.text(0) }
    }

    func summaries(of id: AccountID?, _ seal: CredentialSeal) throws -> [AccountSummary] {
        let select = try database.prepare(
            """
            SELECT \(Self.knownColumns), added_at, changed_at, credential FROM accounts
            WHERE ?1 IS NULL OR id = ?1 ORDER BY id
            """)
        return try select.all(.text(id?.text)) { row in
            let known = try Self.knownAccount(row)
            let issuer: Issuer? =
                switch known.scheme {
                case .key: nil
                case .person:
                    try PersonCoding.session(
                        of: try Self.open(row.blob(13), of: known.id, seal), account: known.id
                    ).issuer
                }
            return AccountSummary(
                id: known.id, origin: known.origin, isPaused: known.isPaused,
                pausedBy: known.pausedBy,
                interval: known.intervalMilliseconds.map { .milliseconds($0) },
                labels: try LabelText.labels(of: known.labels), isRemoving: known.isRemoving,
                scheme: known.scheme, issuer: issuer,
                credentialMark: Hex.encode(known.tag.prefix(4)),
                addedAt: Timestamp(milliseconds: row.integer(11)),
                changedAt: Timestamp(milliseconds: row.integer(12)))
        }
    }

    /// Runs a change in one transaction, under the next version of the register.
    mutating func change<Result>(_ body: (RegisterChange) throws -> Result) throws -> Result {
        // What this connection commits itself does not move its data version.
        seenData = -1
        return try database.transaction {
            let change = RegisterChange(self, version: try registerVersion() + 1)
            let result = try body(change)
            if change.hasWritten { try bump.run(.integer(change.version)) }
            return result
        }
    }

    func insert(_ account: KnownAccount, version: Int64, key: Int64, box: [UInt8]) throws {
        try insert.run(
            .text(account.id.text), .integer(version), .integer(account.incarnation),
            .text(account.origin.rawValue), .flag(account.isPaused),
            .text(account.pausedBy?.rawValue), .integer(account.intervalMilliseconds),
            .blob(account.tag), .text(account.labels), .integer(WallClock.now().milliseconds),
            .integer(key), .blob(box), .text(account.scheme.rawValue), .blob(account.given))
    }

    func update(_ account: KnownAccount, version: Int64) throws {
        try update.run(
            .text(account.id.text), .integer(version), .flag(account.isRemoving),
            .text(account.origin.rawValue), .flag(account.isPaused),
            .text(account.pausedBy?.rawValue), .integer(account.intervalMilliseconds),
            .blob(account.tag), .text(account.labels), .integer(WallClock.now().milliseconds),
            .text(account.scheme.rawValue), .blob(account.given))
    }

    /// The boxes of all people.
    func people() throws -> [(account: AccountID, box: [UInt8])] {
        try database.prepare(
            """
            SELECT id, credential FROM accounts WHERE scheme = 'person' AND removing = 0 ORDER BY id
            """
        ).all { (try Self.account($0.text(0)), $0.blob(1)) }
    }

    /// The box of an account that is there.
    func box(of id: AccountID) throws -> [UInt8]? {
        try database.prepare("SELECT credential FROM accounts WHERE id = ?")
            .first(.text(id.text)) { $0.blob(0) }
    }

    func reseal(_ account: AccountID, key: Int64, box: [UInt8]) throws {
        try reseal.run(.integer(key), .blob(box), .text(account.text))
    }

    private static func open(
        _ box: [UInt8], of id: AccountID, _ seal: CredentialSeal
    ) throws(JournalFailure) -> Secret {
        do {
            return try seal.open(box, of: id)
        } catch {
            throw .unusable(
                "credential_unreadable",
                "the credential of account \(id) does not open. Where the key was rotated this very"
                    + " moment, try again; else the journal is damaged there ('trax-relay journal"
                    + " check' tells): remove the account and add it again")
        }
    }

    private static func knownAccount(_ row: Statement.Row) throws -> KnownAccount {
        KnownAccount(
            id: try account(row.text(0)), incarnation: row.integer(1), isRemoving: row.flag(2),
            origin: AccountOrigin(rawValue: row.text(3)) ?? .command, isPaused: row.flag(4),
            pausedBy: row.textOrNil(5).flatMap { AccountOrigin(rawValue: $0) },
            intervalMilliseconds: row.integerOrNil(6),
            scheme: CredentialScheme(rawValue: row.text(9)) ?? .key, tag: row.blob(7),
            given: row.blobOrNil(10), labels: row.text(8))
    }

    private static func account(_ text: String) throws(JournalFailure) -> AccountID {
        guard let id = AccountID(text) else {
            throw .unusable("corrupt", "the register holds an id that is none")
        }
        return id
    }
}

/// One transaction on the register; used by the thread that runs it and no longer than it.
final class RegisterChange {
    private let connection: RegisterConnection
    /// The register version that all of it takes.
    let version: Int64
    /// Whether anything was written.
    private(set) var hasWritten = false

    init(_ connection: RegisterConnection, version: Int64) {
        self.connection = connection
        self.version = version
    }

    /// Makes sure that what is sealed now will open: the key may have been rotated meanwhile.
    func proveKey(_ number: Int64) throws {
        let newest = try connection.database.integer("SELECT max(number) FROM keys")
        guard newest == number else {
            throw JournalFailure(
                kind: .busy, code: "key_rotated",
                reason: "the key was rotated while this command ran: run it again")
        }
    }

    func known(_ id: AccountID) throws -> KnownAccount? { try connection.known(id) }

    func owner(ofTag tag: [UInt8], except id: AccountID) throws -> String? {
        try connection.owner(ofTag: tag, except: id)
    }

    func box(of id: AccountID) throws -> [UInt8]? { try connection.box(of: id) }

    func people() throws -> [(account: AccountID, box: [UInt8])] { try connection.people() }

    /// Writes what was planned.
    ///
    /// A new registration takes the register's version as its incarnation, which no earlier
    /// registration of the id can have had.
    func write(_ plan: AccountPlan, key: Int64) throws {
        guard plan.isNew || plan.isChange else { return }
        hasWritten = true
        if plan.isNew, let box = plan.box {
            var account = plan.account
            account.incarnation = version
            try connection.insert(account, version: version, key: key, box: box)
        } else {
            try connection.update(plan.account, version: version)
            if let box = plan.box { try connection.reseal(plan.account.id, key: key, box: box) }
        }
    }

    func update(_ account: KnownAccount) throws {
        hasWritten = true
        try connection.update(account, version: version)
    }
}
