internal import ConnectionEvents
public import JSON

/// What the sandbox's world holds: accounts, their keys and connections, faults.
///
/// A value without clock, randomness of its own or input and output: the same calls after the same
/// seed give the same ids, keys and answers. `Sandbox` serves one over HTTP.
///
/// Limits: 1,000,000 accounts; 20,000 connections, 1,000 studios and 100 keys an account; 1,000
/// faults.
public struct SandboxState: Sendable {
    /// One platform connection: its id, and the other members of its row as they are served.
    struct Connection: Sendable, Identified {
        let id: String
        var fields: JSONObject
        /// Who consented, as the platform knows them; nil where nobody did.
        var person: String?
        /// Whether a link without `reconnectConnectionId` has taken its place: what streams to it
        /// is still listed and fails at go-live.
        var isOrphaned = false
    }

    /// What stays through a reset.
    struct Deployment: Sendable {
        /// Where the sandbox is reached, such as `http://127.0.0.1:7081`.
        var origin = ""
        /// What trax-connect shows to the platforms' token endpoints.
        var connectSecret = ""
        var appSchemes = AppSchemes.none
    }

    /// A place to stream from; nothing but a name here.
    struct Studio: Sendable, Identified {
        let id: String
        let name: String
    }

    struct Account: Sendable {
        /// By id, ascending by bytes.
        var connections: [Connection] = []
        var keys: [String] = []
        /// By id, ascending by bytes.
        var studios: [Studio] = []
        /// The bucket of the owner's own requests, from the first on.
        var bucket: TokenBucket?
        /// Pages that were served since the last change, by limit and cursor.
        var pages: [PageRequest: [UInt8]] = [:]
    }

    struct Key: Sendable {
        let account: String
        var scopes: [String]
        var isRevoked = false
        var bucket: TokenBucket
    }

    struct PageRequest: Hashable, Sendable {
        let limit: Int
        let after: [UInt8]?
    }

    /// The scopes of a key that names none.
    public static let defaultScopes = ["connections:read", "connections:write", "studios:read"]
    static let maximumAccounts = 1_000_000
    static let maximumConnections = 20_000
    static let maximumKeys = 100
    static let maximumStudios = 1000
    static let maximumFaults = 1000

    /// The rate of every key; a change holds from the next request on.
    public var rate: SandboxRate
    /// Whether what changes something under `/v1` is not refused with 503 `write_disabled`.
    public var writesEnabled = true
    var deployment = Deployment()
    var links = Links()
    var browsers = Browsers()
    var identity = Identity()
    var play: ScenarioPlay?
    var accounts: [String: Account] = [:]
    var accountOrder: [String] = []
    var keys: [String: Key] = [:]
    var faults: [(id: Int, fault: SandboxFault)] = []
    var answers: [Int: Int] = [:]
    private var numbers: SeededNumbers
    private var lastFault = 0
    private var created: Int64 = 0

    /// An empty world.
    public init(seed: UInt64 = 1, rate: SandboxRate = .init(perSecond: 50, burst: 100)) {
        self.rate = rate
        numbers = SeededNumbers(seed: seed)
    }

    // MARK: - Accounts and keys

    /// Adds an account with one key, which is returned.
    ///
    /// - Parameter now: on the clock of the rate buckets.
    public mutating func createAccount(
        _ id: String, scopes: [String] = defaultScopes, at now: Duration = .zero
    ) throws(SandboxError) -> String {
        guard (1...128).contains(id.utf8.count), id.utf8.allSatisfy(Self.isAccountByte) else {
            throw SandboxError(
                .invalid, "An account id is 1 to 128 of A-Z a-z 0-9 . _ : @ and -.")
        }
        guard accounts[id] == nil else {
            throw SandboxError(.exists, "Account \(id) exists already.")
        }
        guard accounts.count < Self.maximumAccounts else {
            throw SandboxError(.full, "The sandbox holds at most 1,000,000 accounts.")
        }
        accounts[id] = Account()
        accountOrder.append(id)
        let key = try createKey(for: id, scopes: scopes, at: now)
        _ = try addStudio(to: id, name: "Studio of \(id)")
        return key
    }

    /// Adds a studio; its id is returned.
    public mutating func addStudio(
        to account: String, name: String
    ) throws(SandboxError) -> String {
        guard try existing(account).studios.count < Self.maximumStudios else {
            throw SandboxError(.full, "Account \(account) has 1,000 studios already.")
        }
        let studio = Studio(id: "studio_" + numbers.hex16(), name: name)
        let index = Self.firstIndex(
            in: accounts[account]?.studios ?? [], notBefore: studio.id.utf8)
        accounts[account]?.studios.insert(studio, at: index)
        return studio.id
    }

    /// Forgets an account with its keys, connections and faults.
    public mutating func removeAccount(_ id: String) throws(SandboxError) {
        let account = try existing(id)
        for key in account.keys { keys[key] = nil }
        accounts[id] = nil
        accountOrder.removeAll { $0 == id }
        faults.removeAll { $0.fault.account == id }
    }

    /// Makes another key for an account.
    public mutating func createKey(
        for account: String, scopes: [String] = defaultScopes, at now: Duration = .zero
    ) throws(SandboxError) -> String {
        guard try existing(account).keys.count < Self.maximumKeys else {
            throw SandboxError(.full, "Account \(account) has 100 keys already.")
        }
        let key = "sk_live_" + numbers.hex16() + numbers.hex16()
        keys[key] = Key(
            account: account, scopes: scopes, bucket: TokenBucket(rate, at: now))
        accounts[account]?.keys.append(key)
        return key
    }

    /// Has the API refuse a key from now on.
    public mutating func revokeKey(_ key: String) throws(SandboxError) {
        guard keys[key] != nil else { throw SandboxError(.notFound, "There is no such key.") }
        keys[key]?.isRevoked = true
    }

    /// Gives a key other scopes, or takes its revocation back.
    public mutating func restoreKey(_ key: String, scopes: [String]) throws(SandboxError) {
        guard keys[key] != nil else { throw SandboxError(.notFound, "There is no such key.") }
        keys[key]?.isRevoked = false
        keys[key]?.scopes = scopes
    }

    /// The ids of all accounts in the order of their creation.
    public var accountIDs: [String] { accountOrder }

    // MARK: - Connections

    /// Adds a connection; its id is returned.
    ///
    /// - Parameters:
    ///   - id: nil makes one.
    ///   - extra: further members of the row; they win over the others.
    public mutating func addConnection(
        to account: String, platform: String, id: String? = nil, status: String = "active",
        grantedScopes: [String] = ["read"], displayName: String? = nil, extra: JSONObject = [:]
    ) throws(SandboxError) -> String {
        guard try existing(account).connections.count < Self.maximumConnections else {
            throw SandboxError(.full, "Account \(account) has 20,000 connections already.")
        }
        let id = id ?? "conn_" + numbers.hex16()
        guard !id.isEmpty, id.utf8.count <= 512 else {
            throw SandboxError(.invalid, "A connection id is 1 to 512 bytes.")
        }
        let place = position(of: id, in: account)
        guard !place.exists else {
            throw SandboxError(.exists, "Account \(account) has a connection \(id) already.")
        }
        created += 1
        var fields: JSONObject = [
            "platform": .string(platform),
            "status": .string(status),
            "grantedScopes": .array(grantedScopes.map(JSONValue.string)),
            "displayName": .string(displayName ?? "\(platform) of \(account)"),
            // Instants that the seed fixes: one more second for each connection.
            "createdAt": .string(
                Timestamp(milliseconds: 1_767_225_600_000 + created * 1000).description),
        ]
        for (key, value) in extra where key != "id" { fields[key] = value }
        accounts[account]?.connections.insert(
            Connection(id: id, fields: fields), at: place.index)
        accounts[account]?.pages = [:]
        return id
    }

    /// Changes members of a row; nil removes one.
    ///
    /// The id stays.
    public mutating func changeConnection(
        _ id: String, of account: String, to members: [(name: String, value: JSONValue?)]
    ) throws(SandboxError) {
        let index = try existing(id, of: account)
        for (name, value) in members where name != "id" {
            accounts[account]?.connections[index].fields[name] = value
        }
        accounts[account]?.pages = [:]
    }

    /// Sets the status of a connection: breaks or repairs it.
    public mutating func setStatus(
        _ status: String, of id: String, account: String
    ) throws(SandboxError) {
        try changeConnection(id, of: account, to: [("status", .string(status))])
    }

    /// Sets what the platform granted.
    public mutating func setScopes(
        _ scopes: [String], of id: String, account: String
    ) throws(SandboxError) {
        try changeConnection(
            id, of: account, to: [("grantedScopes", .array(scopes.map(JSONValue.string)))])
    }

    /// Removes a connection: it is in no list any more.
    public mutating func removeConnection(_ id: String, of account: String) throws(SandboxError) {
        let index = try existing(id, of: account)
        accounts[account]?.connections.remove(at: index)
        accounts[account]?.pages = [:]
    }

    // MARK: - Faults

    /// Injects a fault; the number that clears it is returned.
    ///
    /// The oldest that fits acts first.
    public mutating func inject(_ fault: SandboxFault) throws(SandboxError) -> Int {
        try fault.validate()
        if let account = fault.account { _ = try existing(account) }
        guard faults.count < Self.maximumFaults else {
            throw SandboxError(.full, "The sandbox holds at most 1,000 faults.")
        }
        lastFault += 1
        faults.append((lastFault, fault))
        return lastFault
    }

    /// Clears one fault.
    public mutating func clearFault(_ id: Int) throws(SandboxError) {
        guard let index = faults.firstIndex(where: { $0.id == id }) else {
            throw SandboxError(.notFound, "There is no fault \(id), or it is used up.")
        }
        faults.remove(at: index)
    }

    /// Clears the faults of one account, or all.
    public mutating func clearFaults(of account: String? = nil) {
        faults.removeAll { account == nil || $0.fault.account == account }
    }

    // MARK: - Inner means

    /// Numbers of their own for something that draws at its own times.
    mutating func split() -> SeededNumbers { SeededNumbers(seed: numbers.next()) }

    var origin: String { deployment.origin }

    /// Notes what no row shows.
    mutating func mark(
        _ id: String, of account: String, person: String?, isOrphaned: Bool
    ) throws(SandboxError) {
        let index = try existing(id, of: account)
        accounts[account]?.connections[index].person = person
        accounts[account]?.connections[index].isOrphaned = isOrphaned
    }

    /// A request id as the gateway makes one.
    mutating func makeRequestID() -> String { "req_" + numbers.hex16() }

    func existing(_ account: String) throws(SandboxError) -> Account {
        guard let found = accounts[account] else {
            throw SandboxError(.notFound, "There is no account \(account).")
        }
        return found
    }

    private func existing(_ id: String, of account: String) throws(SandboxError) -> Int {
        _ = try existing(account)
        let place = position(of: id, in: account)
        guard place.exists else {
            throw SandboxError(.notFound, "Account \(account) has no connection \(id).")
        }
        return place.index
    }

    /// Where a connection is in its account, or would be.
    private func position(of id: String, in account: String) -> (index: Int, exists: Bool) {
        guard let rows = accounts[account]?.connections else { return (0, false) }
        let index = Self.firstIndex(in: rows, notBefore: id.utf8)
        return (index, index < rows.count && rows[index].id.utf8.elementsEqual(id.utf8))
    }

    private static func isAccountByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
