internal import ConnectionEvents
internal import Hashing
internal import RelayCore

/// What the poll loop hands to the judge: something that may change a belief.
struct JudgeJob: Sendable {
    enum Matter: Sendable {
        /// All pages of a walk are there.
        case reading(WalkReading, sealedAt: Timestamp, lastSealed: WalkID?)
        /// The credential was refused.
        case refusal(
            status: Int, code: String, requiredScope: String?, at: Timestamp, fleet: FleetVerdict)
        /// Another credential is in use.
        case credential
        /// The account was removed by an operator.
        case removal
        /// The pipeline's detection may have changed.
        case rules
    }

    /// The loop's slot; nil where the loop does not wait for the result.
    var slot: Int?
    var account: AccountID
    var incarnation: Int64
    var credentialTag: [UInt8]
    var matter: Matter
}

/// What came of a job.
struct Judgement: Sendable {
    enum End: Sendable {
        /// The walk is sealed, and whatever follows from it is in the journal.
        case sealed(WalkID, Fingerprint, pages: Int, confirm: Bool)
        /// The walk could not be sealed: nothing changed.
        case failed(WalkFailure)
        /// What follows from the walk could not be written: it was not seen, and nothing changed.
        case unwritten
        /// The refusal is counted.
        case refused
        /// The account is gone from the journal.
        case removed
    }

    var slot: Int
    var end: End
    // What follows says how the belief stands; it means nothing where the end changed nothing.

    /// Whether even the same bytes must be judged next time.
    var isOpen: Bool
    var isBlind: Bool
    /// When the first refusal of the present row of them came.
    var refusalSince: Timestamp?
    /// Whether the fleet's refusals keep the account from being called blind.
    var isFleetRefused: Bool
}

extension Judgement {
    /// A result that leaves the belief as it was, or without one.
    init(slot: Int, _ end: End) {
        self.init(
            slot: slot, end: end, isOpen: true, isBlind: false, refusalSince: nil,
            isFleetRefused: false)
    }
}
