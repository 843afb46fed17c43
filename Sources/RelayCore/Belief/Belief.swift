public import ConnectionEvents

/// What the relay holds an account's rows to be, and what it must remember to judge the next walk.
///
/// A value without clock or I/O: the same code decides in the relay and in the simulation. It is
/// made durable together with the events that follow from it.
public struct Belief: Hashable, Sendable {
    /// Whose belief it is.
    public let account: AccountID
    /// What concerns the account as a whole.
    public var head: BeliefHead
    /// The believed rows.
    public var rows: [ConnectionID: BelievedRow]

    /// A belief as it was stored.
    public init(account: AccountID, head: BeliefHead, rows: [ConnectionID: BelievedRow]) {
        self.account = account
        self.head = head
        self.rows = rows
    }

    /// The belief of an account just met: nothing known, the first sealed walk is its baseline.
    public init(meeting account: AccountID, epoch: Int64, incarnation: Int64, rules: Detection) {
        self.init(
            account: account,
            head: BeliefHead(epoch: epoch, incarnation: incarnation, rulesDigest: rules.digest),
            rows: [:])
    }

    /// Whether even a walk that finds the same bytes must be judged: something waits for it.
    public var isOpen: Bool { head.isOpen }

    /// Whether the next walk should come soon, to confirm what this one showed.
    public var wantsConfirmation: Bool {
        (head.refusal != nil && head.blindSince == nil)
            || head.missingRows > 0
    }
}

/// The part of a belief that concerns the account as a whole.
public struct BeliefHead: Hashable, Sendable {
    /// Set when this journal first met the account, and anew after loss, restore or re-adding.
    public var epoch: Int64
    /// The account's last raw number in this epoch.
    public var sequence: Int64 = 0
    /// Which registration of the id this belief belongs to.
    public var incarnation: Int64
    /// Whether the epoch's first sealed walk has been taken in.
    public var isBaselined = false
    /// Under which rules the rows were judged.
    public var rulesDigest: UInt64
    /// Which credential was in use; empty before the first walk.
    public var credentialTag: [UInt8] = []
    /// The last sealed walk when the head was last written; an unchanged walk does not write it.
    public var lastSealed: WalkID?
    /// Refusals in a row, while the account is not blind.
    public var refusal: Refusal?
    /// Time of the first refusal, while the account is blind.
    public var blindSince: Timestamp?
    /// How many believed rows sealed walks lack that are not yet confirmed gone.
    public var missingRows = 0
    /// The first sights of those, ascending, without doubles.
    public var missingSince: [Timestamp] = []
    /// How many rows are believed.
    public var rowCount = 0
    /// What the brake holds; nil: nothing.
    public var hold: Hold?
    /// Whether no list with rows was read yet with the credential that is in use since a change.
    public var isCredentialNew = false
    /// Rows unlinked in this epoch, oldest first, at most ``departedLimit``.
    public var departed: [Departed] = []

    /// The most unlinked rows that are remembered of an account.
    public static let departedLimit = 1000

    /// Whether even a walk that finds the same bytes must be judged: something waits for it.
    public var isOpen: Bool {
        !isBaselined || refusal != nil || blindSince != nil || missingRows > 0 || hold != nil
            || isCredentialNew
    }

    /// Whether the last sealed walk that was judged lacked a row that is still believed.
    public var lacksRows: Bool {
        missingRows > 0 || hold.map { $0.removals > 0 || $0.reason == .wrongAccount } ?? false
    }

    /// The head of an account just met.
    public init(epoch: Int64, incarnation: Int64, rulesDigest: UInt64) {
        self.epoch = epoch
        self.incarnation = incarnation
        self.rulesDigest = rulesDigest
    }
}

/// Refusals of an account's credential in a row.
public struct Refusal: Hashable, Sendable {
    /// How many there were.
    public var count: Int
    /// When the first came.
    public var since: Timestamp
    /// HTTP status of the latest.
    public var status: Int
    /// Error code of the latest.
    public var code: String
    /// The scope that the latest missed, if it said so.
    public var requiredScope: String?
    /// The requests that were refused: the latest ``requestLimit``, oldest first.
    public private(set) var requests: [String]

    /// The most requests that are kept.
    public static let requestLimit = 10

    /// Refusals, field by field; of more requests than are kept the latest.
    public init(
        count: Int, since: Timestamp, status: Int, code: String, requiredScope: String?,
        requests: [String] = []
    ) {
        self.requests = requests.suffix(Self.requestLimit)
        self.count = count
        self.since = since
        self.status = status
        self.code = code
        self.requiredScope = requiredScope
    }
}

/// A row that was unlinked: one that comes back is no first sight, and a new one may replace it.
public struct Departed: Hashable, Sendable {
    /// The row.
    public var id: ConnectionID
    /// Its platform.
    public var platform: String?
    /// When its unlinking was decided.
    public var at: Timestamp

    /// An unlinked row, field by field.
    public init(id: ConnectionID, platform: String?, at: Timestamp) {
        self.id = id
        self.platform = platform
        self.at = at
    }
}

/// One believed row.
public struct BelievedRow: Hashable, Sendable {
    /// The row as last published or baselined, with scopes as last known.
    public var shown: Connection
    /// The last of healthy and failing that it had in this epoch.
    public var standing: Standing?
    /// `time` of the event or baseline that made it failing, while its standing is failing.
    public var failingSince: Timestamp?
    /// `changedBetween.before` of the last change of health; nil from a baseline.
    public var since: Timestamp?
    /// Seal of the walk behind its last state record.
    public var observedAt: Timestamp
    /// The account's last raw number when its last state record was written.
    public var recordedAt: Int64
    /// Set while sealed walks lack the row and it is not yet confirmed gone.
    public var missing: Missing?
    /// Set while a change of it is held: what is told above stays as it is.
    public var held: HeldChange?
    /// Start of the last sealed walk that showed the known scopes, where later ones showed none.
    public var scopesShown: Timestamp?
    /// Rows that this one may replace, until it is first healthy.
    public var possibleReplacementOf: [ConnectionID] = []
    /// The attempt to link that it comes from, until it is first healthy.
    public var attempt: AttemptHash?

    /// A row just seen.
    public init(shown: Connection, observedAt: Timestamp, recordedAt: Int64) {
        self.shown = shown
        self.observedAt = observedAt
        self.recordedAt = recordedAt
    }
}

/// A row that sealed walks lack.
public struct Missing: Hashable, Sendable {
    /// The first walk without it.
    public var walk: WalkID
    /// When that walk was sealed.
    public var firstSeal: Timestamp
    /// How many sealed walks in a row lacked it; 0 where that begins anew.
    public var count: Int
    /// Start of the last sealed walk that had it.
    public var lastShown: Timestamp?

    /// A missing row, field by field.
    public init(walk: WalkID, firstSeal: Timestamp, count: Int, lastShown: Timestamp?) {
        self.walk = walk
        self.firstSeal = firstSeal
        self.count = count
        self.lastShown = lastShown
    }
}
