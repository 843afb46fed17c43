public import ConnectionEvents
public import Crypto
public import RelayCore

/// Where an account of the register came from.
public enum AccountOrigin: String, Hashable, Sendable {
    /// The accounts file: it goes when the file no longer has it.
    case file
    /// A command: it stays until a command removes it.
    case command
}

/// What an account's credential is.
public enum CredentialScheme: String, Hashable, Sendable {
    /// An API key.
    case key
    /// A signed-in person's tokens.
    case person
}

/// One account as a file or command states it.
public struct AccountEntry: Sendable {
    /// The operator's id.
    public var account: AccountID
    /// The API key; nil keeps the one the register has.
    public var credential: Secret?
    /// A person in place of an API key, with the refresh token that a file gives.
    public var person: PersonSession?
    /// Takes the place of `slowest`; nil says nothing.
    public var interval: Duration?
    /// Whether it is paused; nil says nothing.
    public var isPaused: Bool?
    /// Further columns, by their names.
    public var labels: [String: String]
    /// The line of the file, from 1; 0 for a command.
    public var line: Int

    /// One account, field by field.
    public init(
        account: AccountID, credential: Secret?, person: PersonSession? = nil,
        interval: Duration? = nil, isPaused: Bool? = nil, labels: [String: String] = [:],
        line: Int = 0
    ) {
        self.person = person
        self.account = account
        self.credential = credential
        self.interval = interval
        self.isPaused = isPaused
        self.labels = labels
        self.line = line
    }
}

/// One account as `accounts list` and `show` print it; holds no credential.
public struct AccountSummary: Hashable, Sendable {
    /// The operator's id.
    public var id: AccountID
    /// Where it came from.
    public var origin: AccountOrigin
    /// Not walked while true.
    public var isPaused: Bool
    /// Who paused it; nil while it is not paused.
    public var pausedBy: AccountOrigin?
    /// Takes the place of `slowest` for this account.
    public var interval: Duration?
    /// Further columns, by their names.
    public var labels: [String: String]
    /// Removed, and waiting for the relay to publish that.
    public var isRemoving: Bool
    /// Whether it has an API key or is a signed-in person.
    public var scheme: CredentialScheme
    /// Who signed the person in; nil of an API key.
    public var issuer: Issuer?
    /// Eight hexadecimal digits that differ where credentials differ, and say nothing of them.
    public var credentialMark: String
    /// When it was added.
    public var addedAt: Timestamp
    /// When the register last changed it.
    public var changedAt: Timestamp
}

/// What an import did, or would do.
public struct ImportSummary: Hashable, Sendable {
    /// Accounts that are new, or were added again.
    public var added = 0
    /// Accounts of which something changed.
    public var changed = 0
    /// Accounts whose credential changed, also counted in `changed`.
    public var credentialsChanged = 0
    /// Accounts that are as they were.
    public var unchanged = 0
    /// Accounts that the file no longer has.
    public var removed = 0

    /// Nothing done.
    public init() {}
}

/// Why the register refused what an operator asked; the register stays as it was.
public struct RegisterRefusal: Error, Hashable, CustomStringConvertible {
    /// One thing that is wrong.
    public struct Problem: Hashable, Sendable, CustomStringConvertible {
        /// The line of the file, from 1; nil when it is about no line.
        public var line: Int?
        /// A sentence with the remedy; never a credential.
        public var reason: String

        /// One problem.
        public init(line: Int? = nil, _ reason: String) {
            self.line = line
            self.reason = reason
        }

        /// The sentence, with its line in front.
        public var description: String { line.map { "line \($0): \(reason)" } ?? reason }
    }

    /// What the caller can do; an open set.
    public struct Kind: Hashable, Sendable {
        /// The stable word for it.
        public let code: String

        /// Lines of the file are wrong: mend them.
        public static let badLines = Kind(code: "bad_lines")
        /// The file would remove half or more: look again, or force it.
        public static let removesTooMany = Kind(code: "removes_too_many")
        /// There is an account of that id already.
        public static let exists = Kind(code: "exists")
        /// There is no account of that id.
        public static let unknownAccount = Kind(code: "unknown_account")
        /// Another account has the same credential.
        public static let sharedCredential = Kind(code: "shared_credential")
    }

    /// What the caller can do.
    public var kind: Kind
    /// All that is wrong, by line.
    public var problems: [Problem]

    /// The stable word for the kind.
    public var code: String { kind.code }
    /// The problems, one a line.
    public var description: String {
        problems.map(\.description).joined(separator: "\n")
    }

    init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        problems = [Problem(reason)]
    }

    init(badLines problems: [Problem]) {
        kind = .badLines
        self.problems = problems.sorted { ($0.line ?? 0) < ($1.line ?? 0) }
    }
}
