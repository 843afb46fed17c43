public import ConnectionEvents
public import Crypto
internal import Hashing

/// What is kept of a person who is signed in for an account; sealed at rest.
public struct PersonSession: Sendable {
    /// Who signed them in.
    public var issuer: Issuer
    /// The client that they signed in for.
    public var clientID: String
    /// Who they are at the issuer; nil until it has said so.
    public var subject: String?
    /// What they call themselves, a name or an address; nil: not known.
    public var name: String?
    /// What the next access token is asked for with.
    public var refreshToken: Secret
    /// The access token, good or not; nil: none was given yet.
    public var accessToken: Secret?
    /// When the access token was asked for.
    public var obtainedAt: Timestamp
    /// When it runs out.
    public var expiresAt: Timestamp
    /// What ends the session at the issuer; nil: it gave none.
    public var idToken: Secret?
    /// Grows with each sign-in of the account, and not with a refresh.
    public var number: Int64
    /// Whether the account is left alone because the person is signing out.
    public var isLeaving = false
    /// Whether the account was paused when the person signed out: it stays so.
    public var wasPausedBefore = false

    /// A session of which only a refresh token is known.
    public init(issuer: Issuer, clientID: String, refreshToken: Secret) {
        self.issuer = issuer
        self.clientID = clientID
        self.refreshToken = refreshToken
        obtainedAt = Timestamp(milliseconds: 0)
        expiresAt = Timestamp(milliseconds: 0)
        number = 0
    }

    /// The earliest that the next token is asked for: with a fifth of the life left, or this.
    public static let longestMargin = Duration.seconds(300)
    /// A walk does not begin with a token that is over within a twentieth of its life, or this.
    public static let longestRest = Duration.seconds(5)
    /// Nor, unless it lives hardly longer, within this: providers count in whole seconds.
    public static let shortestRest = Duration.milliseconds(1500)

    /// When to refresh, and until when to use the access token.
    ///
    /// Accounts whose tokens were given at one time are spread over a quarter of the margin, each
    /// to the same place in every process.
    public func times(of account: AccountID) -> BearerTimes {
        guard accessToken != nil else { return .over }
        let life = max(.zero, expiresAt.since(obtainedAt))
        let margin = min(life / 5, Self.longestMargin)
        let seed = StableHash.of("\(account.text) \(obtainedAt.milliseconds)")
        let spread = margin / 4 * (Double(seed >> 11) * 0x1p-53)
        let rest = max(min(life / 20, Self.longestRest), min(Self.shortestRest, life / 2))
        return BearerTimes(
            refreshAt: expiresAt.adding(.zero - max(margin + spread, rest)),
            usableUntil: expiresAt.adding(.zero - rest))
    }

    /// The access token with its times; nil where there is none.
    public func bearer(of account: AccountID) -> Bearer? {
        accessToken.map { Bearer(token: $0, times: times(of: account)) }
    }
}

/// Keeps the sessions of people, for all processes that share a journal.
public protocol PersonVault: AnyObject, Sendable {
    /// The session of an account; nil where there is no such account, or it is no person's.
    func session(of account: AccountID) throws(JournalFailure) -> PersonSession?

    /// Takes the right to refresh an account's tokens, for a time; false while another has it.
    func lease(
        _ account: AccountID, holder: String, for time: Duration
    ) throws(JournalFailure) -> Bool

    /// A name for giving a refresh token back: the same in all processes and after a restart, and
    /// not to be guessed by who has the token alone.
    func exchangeName(of token: Secret) -> String

    /// Gives the right back.
    func release(_ account: AccountID, holder: String) throws(JournalFailure)

    /// Puts a session in the place of the one that was refreshed, durably, and gives the right
    /// back.
    ///
    /// - Parameter tried: the refresh token that was used.
    /// - Returns: false where the account has another refresh token by now, or is gone: nothing is
    ///   written then.
    func replace(
        _ session: PersonSession, of account: AccountID, tried: Secret, holder: String
    ) throws(JournalFailure) -> Bool
}
