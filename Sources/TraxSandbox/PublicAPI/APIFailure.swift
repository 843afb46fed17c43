/// An error as the API tells it: status, code and message.
struct APIFailure: Error, Equatable {
    let status: Int
    let code: String
    let message: String
    var requiredScope: String?
    var retryAfter: String?

    static let invalidKey = APIFailure(
        status: 401, code: "invalid_key",
        message: "The credential is missing, unknown, expired or revoked.")
    static let notFound = APIFailure(
        status: 404, code: "not_found", message: "There is no such resource.")
    static let writeDisabled = APIFailure(
        status: 503, code: "write_disabled", message: "Writing is switched off here.")

    static func invalidRequest(_ message: String, status: Int = 400) -> APIFailure {
        APIFailure(status: status, code: "invalid_request", message: message)
    }

    static func rateLimited(_ seconds: Int) -> APIFailure {
        APIFailure(
            status: 429, code: "rate_limited", message: "Too many requests with this credential.",
            retryAfter: String(seconds))
    }

    static func insufficientScope(_ scope: String) -> APIFailure {
        APIFailure(
            status: 403, code: "insufficient_scope", message: "The key lacks the scope \(scope).",
            requiredScope: scope)
    }

    /// The code that the API has for a status.
    static func code(of status: Int) -> String {
        switch status {
        case 400: "invalid_request"
        case 401: "invalid_key"
        case 403: "insufficient_scope"
        case 404: "not_found"
        case 429: "rate_limited"
        default: "internal"
        }
    }
}
