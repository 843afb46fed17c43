internal import HTTPClient

/// Why somebody could not be signed in, or kept signed in.
///
/// Neither `reason` nor `description` holds a token, a code, a query or a body.
public struct SignInError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the caller can do; an open set.
    public struct Kind: Hashable, Sendable {
        /// The stable word for it.
        public let word: String

        /// Names a kind.
        public init(word: String) { self.word = word }

        /// The provider cannot be asked now: network, 5xx, 429, an answer that is none.
        ///
        /// Says nothing of the person: try again later.
        public static let unavailable = Kind(word: "unavailable")
        /// The provider keeps the person signed in no more: they have to sign in again.
        public static let signInAgain = Kind(word: "sign_in_again")
        /// Issuer, client or provider are not set up as they must be: an operator has to look.
        public static let invalid = Kind(word: "invalid")
        /// The person did not sign in: they said no, or did nothing in time.
        public static let declined = Kind(word: "declined")
    }

    /// What the caller can do.
    public var kind: Kind
    /// One of few stable words, a metric label.
    public var code: String
    /// A sentence.
    public var reason: String
    /// How long the provider asked to be left alone.
    public var retryAfter: Duration?

    /// An error, field by field.
    public init(_ kind: Kind, code: String, reason: String, retryAfter: Duration? = nil) {
        self.kind = kind
        self.code = code
        self.reason = reason
        self.retryAfter = retryAfter
    }

    /// The reason and the code.
    public var description: String { "\(reason) (\(code))" }

    /// No whole answer of the provider came.
    init(_ error: HTTPError, from address: String) {
        switch error.kind {
        case .unsupportedURL, .invalidRequest:
            self.init(.invalid, code: error.code, reason: error.reason)
        default:
            self.init(.unavailable, code: error.code, reason: error.reason)
        }
    }

    /// What the provider sent is not what a provider sends.
    static func malformed(_ reason: String) -> SignInError {
        SignInError(.unavailable, code: "malformed", reason: reason)
    }

    /// What the provider says of itself does not fit.
    static func unfit(_ code: String, _ reason: String) -> SignInError {
        SignInError(.invalid, code: code, reason: reason)
    }
}
