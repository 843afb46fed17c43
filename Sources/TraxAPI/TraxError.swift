internal import HTTPClient
internal import JSON

/// Why a call to the API brought no result.
public struct TraxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the caller can do.
    public enum Kind: Hashable, Sendable {
        /// Try again later: network, timeout, 5xx.
        case unavailable
        /// Wait, then try again.
        case throttled
        /// Another credential is needed.
        case refused
        /// The call itself is wrong: 4xx.
        case invalid
    }

    /// What the caller can do.
    public var kind: Kind
    /// The API's error code, or one of the transport's stable words.
    public var code: String
    /// A sentence; never a URL query, a header or a secret.
    public var reason: String
    /// HTTP status; nil where there was no answer.
    public var status: Int?
    /// `X-Request-Id` of the answer.
    public var requestID: String?
    /// The scope that the credential lacks.
    public var requiredScope: String?

    /// An error, field by field.
    public init(
        kind: Kind, code: String, reason: String, status: Int? = nil, requestID: String? = nil,
        requiredScope: String? = nil
    ) {
        self.kind = kind
        self.code = code
        self.reason = reason
        self.status = status
        self.requestID = requestID
        self.requiredScope = requiredScope
    }

    /// A failure of the transport.
    init(_ error: HTTPError) {
        self.init(kind: .unavailable, code: error.code, reason: error.reason)
    }

    /// The reason.
    public var description: String { reason }
}
