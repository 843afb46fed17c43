internal import ConnectionEvents
internal import JSON

/// Which answers are none that a list could be read from, and what each means.
enum AnswerReading {
    /// Nil when the answer is a 2xx other than 204.
    static func failure(of answer: PageAnswer, now: Timestamp) -> WalkFailure? {
        switch answer.status {
        case 204, 205:
            return WalkFailure(code: "no_content", reason: "HTTP \(answer.status): no list in it")
        case 200..<300:
            return nil
        case 300..<400:
            return WalkFailure(
                code: "redirect",
                reason: "HTTP \(answer.status): redirects are not followed with a credential")
        case 401, 403:
            return refusal(answer)
        case 404:
            return WalkFailure(
                code: "not_found",
                reason: "HTTP 404: is `source.baseURL` right? Never read as an empty list")
        case 429, 503:
            return throttle(answer, now: now)
        case 400..<500:
            return WalkFailure(code: "http_4xx", reason: "HTTP \(answer.status)")
        case 500..<600:
            return WalkFailure(code: "http_5xx", reason: "HTTP \(answer.status)")
        default:
            return WalkFailure(code: "http_other", reason: "HTTP \(answer.status)")
        }
    }

    /// 401 and 403 count as refused only with the API's error envelope: a proxy may say so, too.
    private static func refusal(_ answer: PageAnswer) -> WalkFailure {
        guard let envelope = unsafe ErrorEnvelope(answer.body) else {
            return WalkFailure(
                code: "unauthorized_without_envelope",
                reason: "HTTP \(answer.status) without the API's error envelope: not a refusal")
        }
        return WalkFailure(
            kind: .refused(
                status: answer.status, code: envelope.code, requiredScope: envelope.requiredScope),
            code: "refused",
            reason: "HTTP \(answer.status) \(envelope.code)"
                + (envelope.requiredScope.map { ": the key lacks the scope \($0)" } ?? ""))
    }

    private static func throttle(_ answer: PageAnswer, now: Timestamp) -> WalkFailure {
        let code = answer.status == 429 ? "throttled" : "http_5xx"
        guard let header = answer.retryAfter,
            let wait = RetryAfter.wait(header, date: answer.date, now: now)
        else {
            return WalkFailure(code: code, reason: "HTTP \(answer.status) without Retry-After")
        }
        return WalkFailure(
            kind: .throttled(wait), code: code,
            reason: "HTTP \(answer.status), Retry-After: \(wait)")
    }
}

/// The API's error envelope: `{ "error": { "code", "message", "requestId", "requiredScope"? } }`.
///
/// The one place that reads it, for walks and for every other call.
public struct ErrorEnvelope: Hashable, Sendable {
    /// The code, cut to 128 bytes; an open set.
    public var code: String
    /// For people and logs, cut to 512 bytes; nil where it is no string.
    public var message: String?
    /// Equals the header `X-Request-Id`, cut to 128 bytes.
    public var requestID: String?
    /// The scope that the credential lacks, cut to 128 bytes.
    public var requiredScope: String?

    /// The most bytes that are kept of a code, a request id or a scope.
    static let textLimit = 128
    /// The most bytes that are kept of a message.
    static let messageLimit = 512

    /// Nil where the body is no such envelope.
    public init?(_ body: UnsafeRawBufferPointer) {
        let value: JSONValue
        do {
            value = try unsafe JSONValue(parsing: body)
        } catch {
            return nil
        }
        guard let error = value["error"]?.objectValue, let code = error["code"]?.stringValue,
            !code.isEmpty
        else { return nil }
        self.code = code.cut(to: Self.textLimit)
        message = error["message"]?.stringValue?.cut(to: Self.messageLimit)
        requestID = error["requestId"]?.stringValue?.cut(to: Self.textLimit)
        requiredScope = error["requiredScope"]?.stringValue?.cut(to: Self.textLimit)
    }
}
