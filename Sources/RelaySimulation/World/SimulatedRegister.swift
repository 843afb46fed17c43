internal import ConnectionEvents
internal import Crypto
internal import RelayCore

/// The register of a simulation, with the operator's commands; it outlives the relay's lives.
final class SimulatedRegister: Register, @unchecked Sendable {
    // @unchecked: a simulation runs on one thread.
    private var registered: [Int: RegisteredAccount] = [:]
    private var changed: Set<Int> = []
    private var version: Int64 = 0
    /// The versions that the relay has read.
    private var read: [Int: Int64] = [:]
    /// Whether it tells those instead of the newest.
    private let isStale: Bool

    init(isStale: Bool = false) { self.isStale = isStale }

    static func id(_ account: Int) -> AccountID {
        guard let id = AccountID("a\(account)") else { preconditionFailure("a simple id") }
        return id
    }

    /// The number of an account's id.
    static func number(_ id: AccountID) -> Int { Int(id.text.dropFirst()) ?? -1 }

    subscript(_ account: Int) -> RegisteredAccount? { registered[account] }

    /// Every account that is neither paused nor being removed.
    var active: [Int] {
        registered.filter { !$0.value.isPaused && !$0.value.isRemoving }.keys.sorted()
    }

    var all: [Int] { registered.keys.sorted() }

    /// Whether an account is to be walked, and with this key.
    func uses(_ key: String, for account: Int) -> Bool {
        guard let known = registered[account], !known.isPaused, !known.isRemoving else {
            return false
        }
        return known.credential == Secret(key)
    }

    func add(_ account: Int, key: String) {
        version += 1
        registered[account] = RegisteredAccount(
            id: Self.id(account), credential: Secret(key), credentialTag: Array(key.utf8),
            interval: nil, isPaused: false, incarnation: version, isRemoving: false,
            version: version)
        changed.insert(account)
    }

    func change(_ account: Int, _ body: (inout RegisteredAccount) -> Void) {
        guard var known = registered[account], !known.isRemoving else { return }
        body(&known)
        version += 1
        known.version = version
        registered[account] = known
        changed.insert(account)
    }

    /// What the journal does when a removal is complete.
    func forget(_ id: AccountID, _ incarnation: Int64) {
        let account = Self.number(id)
        guard let known = registered[account], known.isRemoving, known.incarnation == incarnation
        else { return }
        registered[account] = nil
        changed.remove(account)
    }

    func accounts() throws(JournalFailure) -> [RegisteredAccount] {
        changed = []
        read = registered.mapValues(\.version)
        return registered.values.sorted { $0.id < $1.id }
    }

    func changes() throws(JournalFailure) -> [RegisteredAccount] {
        defer { changed = [] }
        for account in changed { read[account] = registered[account]?.version }
        return changed.sorted().compactMap { registered[$0] }
    }

    func version(of account: AccountID) throws(JournalFailure) -> Int64? {
        let number = Self.number(account)
        return isStale ? read[number] : registered[number]?.version
    }
}
