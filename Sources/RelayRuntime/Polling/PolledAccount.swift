internal import ConnectionEvents
internal import Crypto
internal import Hashing
internal import RelayCore

/// One account as the poll loop holds it, in memory only.
struct PolledAccount {
    let id: AccountID
    var credential: Secret
    var credentialTag: [UInt8]
    var incarnation: Int64
    /// The register's, of the last change that is known here.
    var version: Int64
    var interval: Duration?
    var isPaused: Bool
    /// What the last sealed walk's bytes hashed to; nil: not known.
    var fingerprint: Fingerprint?
    /// The last sealed walk; nil: not known.
    var lastSealed: WalkID?
    /// Whether even the same bytes must be judged.
    var isOpen = true
    var isBlind = false
    /// When the first refusal of the present row of them came.
    var refusalSince: Timestamp?
    /// Whether the fleet's refusals keep it from being called blind.
    var isFleetRefused = false
    /// First sights of the rows that it misses and that are not yet confirmed gone.
    var missingSince: [Timestamp] = []
    /// Its open hold.
    var hold: Hold?
    /// Whether it has believed rows, and whether its last judged walk lacked one; for the start.
    var hasRows = false
    var lacksRows = false
    /// Whether its last walk was not sealed.
    var isFailing = false
    /// Whether the judge has a job of it whose result the loop awaits.
    var isJudging = false
    /// Whether the mark of its last sealed walk is saved.
    var isMarked = true
    /// Whether the first round waits for it: walked since the start, and no walk of it has ended.
    var isInFirstRound = false
    /// Given a new credential while it was paused: what the server asked of the old one is void.
    var isRenewed = false
    /// Removed by an operator; waits for the journal.
    var isRemoving = false
    /// Whether a person is signed in for it, of whom `PollLoop.people` knows more.
    var isPerson: Bool

    init(_ account: RegisteredAccount) {
        id = account.id
        credential = account.credential
        credentialTag = account.credentialTag
        incarnation = account.incarnation
        version = account.version
        interval = account.interval
        isPaused = account.isPaused
        isPerson = account.person != nil
    }

    /// Takes on what a belief and a saved mark remember.
    mutating func recall(head: BeliefHead, mark: SealMark?) {
        isOpen = head.isOpen
        fingerprint = mark?.fingerprint
        lastSealed = mark?.walk
        isBlind = head.blindSince != nil
        refusalSince = head.blindSince ?? head.refusal?.since
        missingSince = head.missingSince
        hasRows = head.rowCount > 0
        lacksRows = head.lacksRows
        if let stored = head.lastSealed, lastSealed.map({ $0.start < stored.start }) ?? true {
            // The belief is newer than the mark: the mark's bytes are not what the belief rests on.
            lastSealed = stored
            fingerprint = nil
        }
    }
}

/// A walk under way.
struct ActiveWalk {
    var walk: Walk
    let began: Instant
    let deadline: Instant
    var cursor: String?
    /// Whether a request is out.
    var isAsking = false
    /// Since when the walk of a person is due that waits for an access token; nil: it does not.
    var awaitsBearer: Instant?
    /// Why the account was refused, while the judge looks whether that counts.
    var refusal: WalkFailure?
}
