public import ConnectionEvents
public import Crypto

/// One account of the register, as the relay polls it.
public struct RegisteredAccount: Sendable {
    /// The operator's id.
    public var id: AccountID
    /// The API key; of a person the access token, which may have run out, or nothing.
    public var credential: Secret
    /// Tells credentials apart without showing them: equal tags, equal credentials.
    public var credentialTag: [UInt8]
    /// Takes the place of `slowest` for this account.
    public var interval: Duration?
    /// Not walked while true.
    public var isPaused: Bool
    /// Grows each time the id is added again after a removal.
    public var incarnation: Int64
    /// Removed by an operator; the relay publishes that and then forgets it.
    public var isRemoving: Bool
    /// The person's session as it was when this was read; nil: the account has an API key.
    public var person: PersonTimes?
    /// Grows with each change of any account; a token that was refreshed is no change.
    public var version: Int64

    /// One account, field by field.
    public init(
        id: AccountID, credential: Secret, credentialTag: [UInt8], interval: Duration?,
        isPaused: Bool, incarnation: Int64, isRemoving: Bool, person: PersonTimes? = nil,
        version: Int64
    ) {
        self.person = person
        self.version = version
        self.id = id
        self.credential = credential
        self.credentialTag = credentialTag
        self.interval = interval
        self.isPaused = isPaused
        self.incarnation = incarnation
        self.isRemoving = isRemoving
    }
}

/// What the relay needs to know of a person's session besides the access token.
public struct PersonTimes: Hashable, Sendable {
    /// How long the access token is good.
    public var bearer: BearerTimes
    /// Grows with each sign-in.
    public var number: Int64

    /// Times, one by one.
    public init(bearer: BearerTimes, number: Int64) {
        self.bearer = bearer
        self.number = number
    }
}

/// Which accounts there are; changed by commands of other processes, read by the relay.
public protocol Register: AnyObject, Sendable {
    /// Every account, those being removed too.
    func accounts() throws(JournalFailure) -> [RegisteredAccount]

    /// What changed since the last call of this or of `accounts`; empty when nothing did.
    ///
    /// Cheap when nothing changed (`PRAGMA data_version`), so it may be asked each second. An
    /// account that is gone altogether is not listed: it leaves by `isRemoving` first.
    func changes() throws(JournalFailure) -> [RegisteredAccount]

    /// The version of an account's last change, as it is this moment; nil: it is not there.
    ///
    /// Takes nothing from what ``changes()`` hands out.
    func version(of account: AccountID) throws(JournalFailure) -> Int64?
}
