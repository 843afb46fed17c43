internal import HTTPClient

/// When a call is sent again, as a function of how it ended: bounded, and only where it is safe.
///
/// What reads or deletes may be sent twice. What makes something is sent again only where it was
/// surely not done: no connection came about, or the answer is 429 or 503 with `Retry-After`.
public struct RetryRules: Hashable, Sendable {
    /// Attempts in all, 1 to 10.
    public var attempts: Int
    /// The pause after the first attempt; it doubles.
    public var firstPause: Duration
    /// The longest pause, and the longest `Retry-After` that is waited for.
    public var longestPause: Duration

    /// Rules; by default 4 attempts, pauses from 0.25 s to 10 s.
    public init(
        attempts: Int = 4, firstPause: Duration = .milliseconds(250),
        longestPause: Duration = .seconds(10)
    ) {
        precondition((1...10).contains(attempts), "1 to 10 attempts")
        self.attempts = attempts
        self.firstPause = firstPause
        self.longestPause = longestPause
    }

    /// Never again.
    public static let never = RetryRules(attempts: 1)

    /// How an attempt ended.
    enum Ending {
        case answered(TraxError)
        case failed(HTTPError)
    }

    /// How long to wait before the next attempt; nil where there is none.
    ///
    /// - Parameters:
    ///   - attempt: the one that ended, from 1.
    ///   - chance: 0 up to 1, spreads the pauses.
    func pause(
        after attempt: Int, _ ending: Ending, method: HTTPMethod, chance: Double
    ) -> Duration? {
        guard attempt < attempts else { return nil }
        let doubled = firstPause * (1 << (attempt - 1))
        let backOff = min(doubled, longestPause) * (0.5 + 0.5 * chance)
        switch ending {
        case .failed(let error):
            guard Self.isTransient(error.kind) else { return nil }
            return Self.isRepeatable(method) || Self.isUnsent(error.kind) ? backOff : nil
        case .answered(let error):
            if let wait = error.retryAfter, error.status == 429 || error.status == 503 {
                return wait <= longestPause ? wait : nil
            }
            guard Self.isRepeatable(method), error.code != "write_disabled" else { return nil }
            return error.status == 429 || (500..<600).contains(error.status ?? 0) ? backOff : nil
        }
    }

    /// Whether doing it twice is doing it once (RFC 9110, 9.2.2).
    static func isRepeatable(_ method: HTTPMethod) -> Bool {
        switch method {
        case .get, .head, .put, .delete: true
        case .post, .patch: false
        }
    }

    /// Whether surely nothing of the request was sent.
    static func isUnsent(_ kind: HTTPError.Kind) -> Bool {
        kind == .unreachable || kind == .resolve
    }

    private static func isTransient(_ kind: HTTPError.Kind) -> Bool {
        isUnsent(kind) || kind == .timedOut || kind == .reset || kind == .truncated
    }
}
