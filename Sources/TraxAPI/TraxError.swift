internal import ConnectionEvents
internal import HTTPClient
internal import RelayCore

/// Why a call to the API brought no result.
public struct TraxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the caller can do; open, so switches need a last resort.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The stable word.
        public let rawValue: String

        /// Names a kind.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Try again later: network, timeout, 5xx, or an answer that is none of the API's.
        public static let unavailable = Kind(rawValue: "unavailable")
        /// Wait, then try again.
        public static let throttled = Kind(rawValue: "throttled")
        /// Another credential is needed: 401 and 403 with the API's envelope.
        public static let refused = Kind(rawValue: "refused")
        /// The call itself is wrong: 4xx.
        public static let invalid = Kind(rawValue: "invalid")
        /// The task that waited was cancelled, or the client is gone.
        public static let cancelled = Kind(rawValue: "cancelled")
    }

    /// What the caller can do.
    public var kind: Kind
    /// The API's error code (an open set), or one of the client's stable words.
    public var code: String
    /// A sentence; never a URL query, a header or a secret.
    public var reason: String
    /// HTTP status; nil where there was no answer.
    public var status: Int?
    /// `X-Request-Id` of the answer, else the one that was sent.
    public var requestID: String?
    /// The scope that the credential lacks.
    public var requiredScope: String?
    /// How long the server asked to wait, 1 s to 15 min.
    public var retryAfter: Duration?
    /// Whether a call that changes something may have been carried out all the same.
    public var mayHaveBeenDone = false

    /// An error, field by field.
    public init(
        kind: Kind, code: String, reason: String, status: Int? = nil, requestID: String? = nil,
        requiredScope: String? = nil, retryAfter: Duration? = nil
    ) {
        self.kind = kind
        self.code = code
        self.reason = reason
        self.status = status
        self.requestID = requestID
        self.requiredScope = requiredScope
        self.retryAfter = retryAfter
    }

    /// A failure of the transport.
    init(_ error: HTTPError, requestID: String? = nil) {
        self.init(
            kind: error.kind == .unsupportedURL || error.kind == .invalidRequest
                ? .invalid : .unavailable,
            code: error.code, reason: error.reason, requestID: requestID)
    }

    static let cancelled = TraxError(
        kind: .cancelled, code: "cancelled", reason: "The call was cancelled.")

    /// An answer that is no success: nil where it is a 2xx.
    ///
    /// - Parameters:
    ///   - sent: the `X-Request-Id` of the request.
    ///   - now: what a date in `Retry-After` is measured against where the answer has none.
    init?(_ response: HTTPResponse, sent: String, now: Timestamp) {
        let status = response.status
        guard !(200..<300).contains(status) else { return nil }
        let envelope = unsafe response.body.withUnsafeBytes { unsafe ErrorEnvelope($0) }
        let wait = response.header("Retry-After").flatMap {
            RetryAfter.wait($0, date: response.header("Date"), now: now)
        }
        let kind: Kind =
            switch status {
            case 429: .throttled
            case 503 where wait != nil: .throttled
            case 401, 403: envelope == nil ? .unavailable : .refused
            case 400..<500: .invalid
            default: .unavailable
            }
        self.init(
            kind: kind, code: envelope?.code ?? Self.code(of: status),
            reason: Self.sentence(status, envelope), status: status,
            requestID: response.header("X-Request-Id") ?? envelope?.requestID ?? sent,
            requiredScope: envelope?.requiredScope, retryAfter: wait)
    }

    private static func sentence(_ status: Int, _ envelope: ErrorEnvelope?) -> String {
        guard let envelope else {
            return (300..<400).contains(status)
                ? "HTTP \(status): redirects are not followed with a credential."
                : "HTTP \(status) without the API's error envelope."
        }
        let message = (envelope.message ?? "").map { $0.isNewline || $0 == "\u{1B}" ? " " : $0 }
        let scope = envelope.requiredScope.map { " The scope \($0) is needed." } ?? ""
        return "HTTP \(status) \(envelope.code): \(String(message))\(scope)"
    }

    /// The client's word for a status that came without the API's envelope.
    private static func code(of status: Int) -> String {
        switch status {
        case 300..<400: "redirect"
        case 404: "not_found_without_envelope"
        case 401, 403: "unauthorized_without_envelope"
        case 429: "throttled"
        case 400..<500: "http_4xx"
        case 500..<600: "http_5xx"
        default: "http_other"
        }
    }

    /// The reason.
    public var description: String { reason }
}
