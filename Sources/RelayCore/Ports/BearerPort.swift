public import ConnectionEvents
public import Crypto

/// How long an access token is good.
public struct BearerTimes: Hashable, Sendable {
    /// From then on the next one is asked for, while this one still serves.
    public var refreshAt: Timestamp
    /// From then on no walk begins with it.
    public var usableUntil: Timestamp

    /// Times, one by one.
    public init(refreshAt: Timestamp, usableUntil: Timestamp) {
        self.refreshAt = refreshAt
        self.usableUntil = usableUntil
    }

    /// No token is there.
    public static let over = BearerTimes(
        refreshAt: Timestamp(milliseconds: 0), usableUntil: Timestamp(milliseconds: 0))
}

/// A person's access token.
public struct Bearer: Sendable {
    /// What goes behind `Authorization: Bearer`.
    public var token: Secret
    /// How long it is good.
    public var times: BearerTimes

    /// A token with its times.
    public init(token: Secret, times: BearerTimes) {
        self.token = token
        self.times = times
    }
}

/// Why a person's account has no access token.
public struct BearerFailure: Error, Hashable, Sendable {
    /// What the caller can do.
    public enum Kind: Hashable, Sendable {
        /// Nobody can say now; nothing is known against the person: later again.
        case unavailable
        /// The person has to sign in again.
        case signInAgain
    }

    /// What the caller can do.
    public var kind: Kind
    /// One of few stable words, a metric label.
    public var code: String
    /// A sentence; never a secret.
    public var reason: String

    /// A failure, field by field.
    public init(kind: Kind, code: String, reason: String) {
        self.kind = kind
        self.code = code
        self.reason = reason
    }
}

/// Gives access tokens for people's accounts, fresh ones where that is needed.
///
/// However many ask for one account at a time, one request is made, in all processes that share the
/// journal.
public protocol BearerSource: AnyObject, Sendable {
    /// Asks for an account's access token; never blocks.
    ///
    /// - Parameters:
    ///   - rejected: a token that the API did not take; it is not given again.
    ///   - answer: called once, from any thread, possibly before this returns.
    func ask(
        for account: AccountID, rejected: Secret?,
        _ answer: @escaping @Sendable (Result<Bearer, BearerFailure>) -> Void)

    /// How often what came of asking: words that are metric labels.
    var outcomes: [String: Int] { get }
}
