/// What went wrong in this room, without a word of what was being protected.
///
/// `code` is a metric label: few, stable values.
public struct CryptoError: Error, Equatable, CustomStringConvertible {
    /// What the caller can do about it.
    ///
    /// Open: a caller treats a kind that it does not know as `unavailable`.
    public struct Kind: Hashable, Sendable {
        /// The stable word for it.
        public let code: String

        /// The data was sealed under another key or for another owner, or was changed since.
        public static let notAuthentic = Kind(code: "not_authentic")
        /// The data is no well-formed box, hex or base64.
        public static let malformed = Kind(code: "malformed")
        /// The key does not have the length that the algorithm asks for.
        public static let badKey = Kind(code: "bad_key")
        /// The system gave no randomness or OpenSSL refused; trying again is of no use.
        public static let unavailable = Kind(code: "crypto_unavailable")
    }

    /// What the caller can do about it.
    public let kind: Kind
    /// One clause for a person; holds no secret.
    public let reason: String

    /// The stable word for the kind.
    public var code: String { kind.code }
    /// The reason with its code.
    public var description: String { "\(reason) (\(code))" }

    /// Makes an error; `reason` must hold neither key nor plaintext.
    public init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }
}
