public import ConnectionEvents

/// Names a hold: `h_` and 32 hexadecimal digits.
public struct HoldID: Hashable, Sendable, CustomStringConvertible {
    /// The id as text.
    public let text: String

    /// Takes an id as it was stored or asked for.
    public init(_ text: String) { self.text = text }

    /// The id as text.
    public var description: String { text }
}

/// Why changes are held.
public enum HoldReason: String, Hashable, Sendable, CaseIterable {
    /// Too large a share of the account's rows is gone or failing at once.
    case share
    /// Too many other accounts lack rows as well.
    case fleet
    /// A new credential shows none of the believed rows.
    case wrongAccount
}

/// An open hold of one account.
public struct Hold: Hashable, Sendable {
    /// Its id, in `account.held` and `account.released`.
    public var id: HoldID
    /// Why it was opened.
    public var reason: HoldReason
    /// When it was opened.
    public var since: Timestamp
    /// Removals that are held now.
    public var removals = 0
    /// Failures that are held now.
    public var failures = 0
    /// Held changes that were taken back by the list.
    public var recovered = 0
    /// Held changes that were published.
    public var published = 0
    /// The last sealed walk before a wrong account was seen, whose walks show nothing of ours.
    public var lastSealed: WalkID?
    /// The last list of a wrong account: what `release` takes as the new baseline.
    public var list: HeldList?

    /// A hold that has just been opened.
    public init(id: HoldID, reason: HoldReason, since: Timestamp) {
        self.id = id
        self.reason = reason
        self.since = since
    }
}

/// A list that is not believed.
public struct HeldList: Hashable, Sendable {
    /// The walk that showed it first.
    public var walk: WalkID
    /// When that walk was sealed.
    public var sealedAt: Timestamp
    /// Its rows, ascending by id, as listed.
    public var rows: [ListedRow]

    /// A list, field by field.
    public init(walk: WalkID, sealedAt: Timestamp, rows: [ListedRow]) {
        self.walk = walk
        self.sealedAt = sealedAt
        self.rows = rows
    }
}

/// What is held of one row: sealed walks show it, and it is neither believed nor told.
public struct HeldChange: Hashable, Sendable {
    /// What kind of change is held.
    public enum Kind: String, Hashable, Sendable {
        /// The row is gone, confirmed.
        case removal
        /// The row is failing.
        case failure
    }

    /// What kind of change it is.
    public var kind: Kind
    /// Seal of the walk that showed it first; from then on its time runs.
    public var firstSight: Timestamp
    /// Start of the last sealed walk known to have shown the believed state.
    public var lastShown: Timestamp?
    /// The failing row as it would be published; nil of a removal.
    public var seen: Connection?
    /// Seal of the walk that first showed it just so.
    public var seenAt: Timestamp
    /// That walk.
    public var walk: WalkID

    /// A held change, field by field.
    public init(
        kind: Kind, firstSight: Timestamp, lastShown: Timestamp?, seen: Connection?,
        seenAt: Timestamp, walk: WalkID
    ) {
        self.kind = kind
        self.firstSight = firstSight
        self.lastShown = lastShown
        self.seen = seen
        self.seenAt = seenAt
        self.walk = walk
    }
}

/// What an operator can do about a hold.
public enum HoldAction: String, Hashable, Sendable, CaseIterable {
    /// Publish all that is held, as changes.
    case release
    /// Believe all that is held, and publish it as `kind: resync`.
    case discard
}

/// Why nothing was done about a hold.
public enum HoldRefusal: Error, Hashable, Sendable {
    /// The account has no such hold, or no more.
    case noSuchHold
    /// A wrong account can only be released, or given its right credential.
    case wrongAccountStays
}
