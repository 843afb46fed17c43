/// Why a request brought no whole, trustworthy answer.
///
/// An answer of any status is no error. Neither `description` nor `reason` holds a path, a query, a
/// header or a body: at most scheme, host and port.
public struct HTTPError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What the caller can do about it; open, so switches need a last resort.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The stable word that is also the metric label.
        public let rawValue: String

        /// Names a kind.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The deadline, or the time for connecting, passed: try again later.
        public static let timedOut = Kind(rawValue: "timed_out")
        /// The connection broke, or the peer closed it without an answer: try again.
        public static let reset = Kind(rawValue: "reset")
        /// Nobody listens, or no route leads there: try again later.
        public static let unreachable = Kind(rawValue: "unreachable")
        /// The name has no address now: try again later.
        public static let resolve = Kind(rawValue: "resolve")
        /// Handshake or certificate failed: usually wants an operator.
        public static let tls = Kind(rawValue: "tls")
        /// The answer ended before its announced end; nothing of it may be used.
        public static let truncated = Kind(rawValue: "truncated")
        /// The body is larger than `maximumBody`.
        public static let tooLarge = Kind(rawValue: "too_large")
        /// What came is not HTTP, or breaks its rules.
        public static let protocolError = Kind(rawValue: "protocol")
        /// The URL is malformed, neither http nor https, or names a user.
        public static let unsupportedURL = Kind(rawValue: "unsupported_url")
        /// A header of the request holds a byte that none may, or there are too many.
        public static let invalidRequest = Kind(rawValue: "invalid_request")
        /// Anything else, memory included.
        public static let other = Kind(rawValue: "other")
    }

    /// What the caller can do.
    public let kind: Kind
    /// One sentence for people, without a secret.
    public let reason: String

    /// Makes an error; `reason` must not hold a path, query, header or body.
    public init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }

    /// A metric label of few values.
    public var code: String { kind.rawValue }

    /// The reason and the code, safe to log.
    public var description: String { "\(reason) (\(code))" }
}
