internal import ConnectionEvents
internal import Hashing
internal import RelayCore

/// What the poll loop hands to the judge: something that may change a belief.
struct JudgeJob: Sendable {
    enum Matter: Sendable {
        /// All pages of a walk are there.
        case reading(
            WalkReading, sealedAt: Timestamp, lastSealed: WalkID?, fleet: FleetSight)
        /// The credential was refused.
        case refusal(RefusedWalk)
        /// Another credential is in use.
        case credential
        /// The account was removed by an operator.
        case removal
        /// The pipeline's detection may have changed.
        case rules
        /// An operator ends a hold.
        case order(HoldOrder)
    }

    /// The loop's slot; nil where the loop does not wait for the result.
    var slot: Int?
    var account: AccountID
    var incarnation: Int64
    var credentialTag: [UInt8]
    var matter: Matter

    /// Bytes of the list that it carries.
    var bytes: Int {
        if case .reading(let reading, _, _, _) = matter { reading.bytes } else { 0 }
    }
}

/// A walk that the API refused, and what the loop knew of it.
struct RefusedWalk: Sendable {
    /// As HTTP has it.
    let status: Int
    let code: String
    let requiredScope: String?
    let requestID: String?
    /// When the answer was there.
    let at: Timestamp
    /// What the others were told.
    var fleet: FleetVerdict
    /// The register's version of the account, as it was asked.
    let version: Int64
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
        /// The account was paused, removed or given another credential before the API refused it:
        /// that says nothing, and nothing changed.
        case outdated
        /// The refusal is counted.
        case refused
        /// The account is gone from the journal.
        case removed
        /// The belief changed without a walk.
        case noted
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
    /// What the brake must know; says nothing where the walk was not sealed.
    var brake = BrakeNote()
    /// Numbers of the watches that ended with it.
    var endedLinks: [Int64] = []
    /// Watches that were open when the walk was judged.
    var openLinks: Set<Int64> = []
}

/// How a belief stands with the brake, for the poll loop.
struct BrakeNote: Sendable {
    var account: AccountID?
    /// First sights of the rows that are missed and not yet confirmed gone.
    var missingSince: [Timestamp] = []
    var hold: Hold?
    /// Whether rows are believed now.
    var hasRows = false
    /// Whether rows were believed when the walk came, and whether it lacked one of them.
    var hadRows = false
    var lackedRow = false
}

extension BrakeNote {
    init(_ belief: Belief, decision: Decision) {
        account = belief.account
        missingSince = belief.head.missingSince
        hold = belief.head.hold
        // Its list may be long, and is of no use here.
        hold?.list = nil
        hasRows = !belief.rows.isEmpty
        hadRows = decision.hadRows
        lackedRow = decision.lackedRow
    }
}

extension Judgement {
    /// A result that leaves the belief as it was, or without one.
    init(slot: Int, _ end: End) {
        self.init(
            slot: slot, end: end, isOpen: true, isBlind: false, refusalSince: nil,
            isFleetRefused: false)
    }
}
