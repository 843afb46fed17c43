import ConnectionEvents
import Crypto
import RelayCore
import Threading

/// A register in memory, with the operator's commands.
final class FakeRegister: Register {
    private struct Content {
        var accounts: [AccountID: RegisteredAccount] = [:]
        var changed: Set<AccountID> = []
        var version: Int64 = 0
    }

    private let content = Lock(Content())

    func accounts() throws(JournalFailure) -> [RegisteredAccount] {
        content.withLock { content in
            content.changed = []
            return content.accounts.values.sorted { $0.id < $1.id }
        }
    }

    func changes() throws(JournalFailure) -> [RegisteredAccount] {
        content.withLock { content in
            defer { content.changed = [] }
            return content.changed.sorted().compactMap { content.accounts[$0] }
        }
    }

    func version(of account: AccountID) throws(JournalFailure) -> Int64? {
        content.withLock { $0.accounts[account]?.version }
    }

    /// The account as it is registered now.
    subscript(_ id: AccountID) -> RegisteredAccount? { content.withLock { $0.accounts[id] } }

    /// Adds an account, also one that is being removed.
    func add(_ id: AccountID, key: String, paused: Bool = false, interval: Duration? = nil) {
        content.withLock { content in
            content.version += 1
            content.accounts[id] = RegisteredAccount(
                id: id, credential: Secret(key), credentialTag: Array(key.utf8),
                interval: interval, isPaused: paused, incarnation: content.version,
                isRemoving: false, version: content.version)
            content.changed.insert(id)
        }
    }

    /// Adds a person's account, whose access token is not there yet or will be over then.
    func add(_ id: AccountID, person subject: String, token: String = "", life: Duration = .zero) {
        content.withLock { content in
            content.version += 1
            content.accounts[id] = RegisteredAccount(
                id: id, credential: Secret(token), credentialTag: Array(subject.utf8),
                interval: nil, isPaused: false, incarnation: content.version,
                isRemoving: false,
                person: PersonTimes(bearer: FakeBearers.times(life), number: 1),
                version: content.version)
            content.changed.insert(id)
        }
    }

    /// Changes an account that is there and not being removed.
    func change(_ id: AccountID, _ body: (inout RegisteredAccount) -> Void) {
        content.withLock { content in
            guard var account = content.accounts[id], !account.isRemoving else { return }
            body(&account)
            content.version += 1
            account.version = content.version
            content.accounts[id] = account
            content.changed.insert(id)
        }
    }

    func remove(_ id: AccountID) { change(id) { $0.isRemoving = true } }

    func pause(_ id: AccountID, _ isPaused: Bool = true) { change(id) { $0.isPaused = isPaused } }

    func give(_ id: AccountID, key: String) {
        change(id) {
            $0.credential = Secret(key)
            $0.credentialTag = Array(key.utf8)
        }
    }

    /// What the journal does when a removal is complete.
    func forget(_ id: AccountID, _ incarnation: Int64) {
        content.withLock { content in
            guard let account = content.accounts[id], account.isRemoving,
                account.incarnation == incarnation
            else { return }
            content.accounts[id] = nil
        }
    }
}
