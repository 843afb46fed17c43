public import ConnectionEvents
internal import Hashing

/// The pipeline's `detection`: what statuses mean, and when a change is believed.
public struct Detection: Hashable, Sendable {
    /// What a string status that stands in no list means.
    public enum OtherStatus: String, Hashable, Sendable {
        /// Broken: unknown words are bad news.
        case failing
        /// Nothing that this pipeline knows.
        case unrecognised
    }

    /// What is published of an epoch's first sealed walk.
    public enum BaselinePolicy: String, Hashable, Sendable {
        /// State records only.
        case quiet
        /// A `connection.baseline` event for each row, too.
        case publish
    }

    /// Raw statuses that mean healthy.
    public var healthy: Set<String>
    /// Raw statuses that mean pending.
    public var pending: Set<String>
    /// Raw statuses that mean failing.
    public var failing: Set<String>
    /// What every other string means.
    public var otherStatus: OtherStatus
    /// What is published of a baseline.
    public var baseline: BaselinePolicy
    /// Sealed walks in a row without the row that make a removal; at least 1.
    public var confirmations: Int
    /// Which changes are held back; nil: none.
    public var brake: Brake?

    /// The rules, field by field; the defaults are the contract's, but without a brake.
    public init(
        healthy: Set<String> = ["active"],
        pending: Set<String> = ["pending", "connecting", "linking"],
        failing: Set<String> = ["expired", "revoked", "disconnected", "error", "reauth_required"],
        otherStatus: OtherStatus = .failing, baseline: BaselinePolicy = .quiet,
        confirmations: Int = 2, brake: Brake? = nil
    ) {
        self.healthy = healthy
        self.pending = pending
        self.failing = failing
        self.otherStatus = otherStatus
        self.baseline = baseline
        self.confirmations = max(1, confirmations)
        self.brake = brake
    }

    /// What a raw status means; nil (absent, null or no string) is never recognised.
    public func health(of status: String?) -> Health {
        guard let status else { return .unrecognised }
        if healthy.holds(status) { return .healthy }
        if pending.holds(status) { return .pending }
        if failing.holds(status) || otherStatus == .failing { return .failing }
        return .unrecognised
    }

    /// Whether the status stands in one of the lists.
    public func recognises(_ status: String?) -> Bool {
        guard let status else { return false }
        return healthy.holds(status) || pending.holds(status) || failing.holds(status)
    }

    /// Whether the person can mend a connection with that status: it stands in `failing`.
    public func isActionable(_ status: String?) -> Bool {
        status.map { failing.holds($0) } ?? false
    }

    /// Equal digests judge every status alike; stored with a belief, so that changed rules are
    /// noticed.
    public var digest: UInt64 {
        let lists = [healthy, pending, failing].map {
            Array($0).sortedWithoutDoubles.joined(separator: "\u{1F}")
        }
        let text = lists.joined(separator: "\u{1E}") + "\u{1E}" + otherStatus.rawValue
        return Fingerprint.of(Array(text.utf8)).low
    }
}
