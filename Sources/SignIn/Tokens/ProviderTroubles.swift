internal import ConnectionEvents
internal import RelayCore

/// Which providers fail, and until when they are left alone.
///
/// Without it every account of a provider that is away would knock at it.
struct ProviderTroubles: Sendable {
    private struct Trouble: Sendable {
        var code: String
        var failures = 0
        var until: Timestamp
        var error: SignInError
    }

    private var troubles: [Issuer: Trouble] = [:]

    /// The longest that a provider is left alone without having asked for it.
    static let longest = Duration.seconds(30)

    /// Why an issuer is not asked now; nil: it is.
    func reason(_ issuer: Issuer, now: Timestamp) -> SignInError? {
        guard let trouble = troubles[issuer], now < trouble.until,
            // A clock that was set back must not keep a provider away for hours.
            trouble.until.since(now) <= .seconds(900)
        else { return nil }
        return trouble.error
    }

    /// Notes a failure; a sentence where it is news.
    mutating func note(_ issuer: Issuer, _ error: SignInError, now: Timestamp) -> String? {
        let before = troubles[issuer]
        // Askers that were under way together count once.
        let isOneMore = before.map { now >= $0.until } ?? true
        let failures = (before?.failures ?? 0) + (isOneMore ? 1 : 0)
        let wait =
            error.retryAfter
            ?? min(Self.longest, .milliseconds(500) * (1 << min(max(failures, 1), 10)))
        troubles[issuer] = Trouble(
            code: error.code, failures: failures,
            until: isOneMore ? now.adding(wait) : before?.until ?? now, error: error)
        guard before?.code != error.code else { return nil }
        return "\(issuer) gives no tokens: \(error.reason); tokens that are there serve until"
            + " they run out"
    }

    /// Notes an answer; a sentence where it is news.
    mutating func clear(_ issuer: Issuer) -> String? {
        troubles.removeValue(forKey: issuer).map { _ in "\(issuer) gives tokens again" }
    }
}
