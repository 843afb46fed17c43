internal import ConnectionEvents
internal import RelayCore

/// Which providers fail their clients, and until when they are left alone.
///
/// Without it every account of a provider that is away would knock at it. A client that is set up
/// wrongly keeps no other one waiting.
struct ProviderTroubles: Sendable {
    /// A client of a provider.
    struct Party: Hashable, Sendable {
        let issuer: Issuer
        let client: String

        init(_ session: PersonSession) {
            issuer = session.issuer
            client = session.clientID
        }
    }

    private struct Trouble: Sendable {
        var code: String
        var failures = 0
        var until: Timestamp
        var error: SignInError
    }

    private var troubles: [Party: Trouble] = [:]

    /// Parties that are remembered; beyond, all are forgotten.
    static let limit = 1000

    /// The longest that a provider is left alone without having asked for it.
    static let longest = Duration.seconds(30)

    /// Why a provider is not asked now; nil: it is.
    func reason(_ party: Party, now: Timestamp) -> SignInError? {
        guard let trouble = troubles[party], now < trouble.until,
            // A clock that was set back must not keep a provider away for hours.
            trouble.until.since(now) <= .seconds(900)
        else { return nil }
        return trouble.error
    }

    /// Notes a failure; a sentence where it is news.
    mutating func note(_ party: Party, _ error: SignInError, now: Timestamp) -> String? {
        if troubles.count >= Self.limit { troubles = [:] }
        let before = troubles[party]
        // Askers that were under way together count once.
        let isOneMore = before.map { now >= $0.until } ?? true
        let failures = (before?.failures ?? 0) + (isOneMore ? 1 : 0)
        let wait =
            error.kind != .unavailable
            ? .zero
            : error.retryAfter
                ?? min(Self.longest, .milliseconds(500) * (1 << min(max(failures, 1), 10)))
        troubles[party] = Trouble(
            code: error.code, failures: failures,
            until: isOneMore ? now.adding(wait) : before?.until ?? now, error: error)
        guard before?.code != error.code else { return nil }
        return "\(party.issuer) gives no tokens: \(error.reason); tokens that are there serve until"
            + " they run out"
    }

    /// Notes an answer; a sentence where it is news.
    mutating func clear(_ party: Party) -> String? {
        troubles.removeValue(forKey: party).map { _ in "\(party.issuer) gives tokens again" }
    }
}
