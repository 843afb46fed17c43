public import JSON

/// One published change, as a CloudEvent 1.0.
///
/// Made once, when the change was decided; its bytes are the same on every sink, attempt and
/// replay. https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md
public struct ConnectionEvent: Hashable, Sendable {
    /// The same id everywhere.
    public var id: EventID
    /// Whose event it is.
    public var account: AccountID
    /// What happened.
    public var type: EventType
    /// Why it was published.
    public var kind: EventKind
    /// Which of the account's streams it belongs to.
    public var lane: EventLane
    /// The account's epoch.
    public var epoch: Int64
    /// The account's number in this epoch and lane, from 1, without gaps.
    public var sequence: Int64
    /// When the first walk that showed the new state was sealed; without a walk, `decidedAt`.
    public var time: Timestamp
    /// When it was written to the journal.
    public var decidedAt: Timestamp
    /// What is told: of a connection, or of the account.
    public var content: Content

    /// What an event tells.
    public enum Content: Hashable, Sendable {
        /// One connection changed.
        case connection(ConnectionChange)
        /// Something about the account itself.
        case account(AccountChange)
    }

    /// One event, field by field.
    public init(
        id: EventID, account: AccountID, type: EventType, kind: EventKind, lane: EventLane,
        epoch: Int64, sequence: Int64, time: Timestamp, decidedAt: Timestamp, content: Content
    ) {
        self.id = id
        self.account = account
        self.type = type
        self.kind = kind
        self.lane = lane
        self.epoch = epoch
        self.sequence = sequence
        self.time = time
        self.decidedAt = decidedAt
        self.content = content
    }

    /// The CloudEvents attribute `sequence`: sorts as text in the order of (epoch, sequence).
    public var sequenceAttribute: String {
        "\(epoch)-\(pad(sequence, 12))"
    }

    /// The id of the connection it is about, or nil for an event of the account.
    public var subject: ConnectionID? {
        switch content {
        case .connection(let change): change.connection.id
        case .account: nil
        }
    }

    /// Where the shape of `data` is described.
    public static let dataSchema = "https://traxstreaming.live/schemas/connection-event/1"
}

/// What an event tells of one connection.
public struct ConnectionChange: Hashable, Sendable {
    /// The row now; of an unlinked one, the row as last published.
    public var connection: Connection
    /// The row as last published or baselined in its lane; nil for a new or returning one.
    public var previous: Connection?
    /// Which raw fields differ, in the order platform, status, grantedScopes.
    public var changed: [String]
    /// Which scopes came and went, when they changed.
    public var scopes: ScopeChange?
    /// Between which instants the change itself lies; nil without a walk.
    public var changedBetween: ChangeWindow?
    /// The walk that decided it, as `w_01J…`; nil without a walk.
    public var walk: String?
    /// Whether the status stands in one of the pipeline's lists.
    public var statusRecognised: Bool
    /// Whether the person can mend it: only on failing events whose status says so.
    public var userActionable: Bool
    /// How long it was failing, on repaired events.
    public var failedFor: Duration?
    /// Rows of the same platform that this new row may replace.
    public var possibleReplacementOf: [ConnectionID]
    /// The attempt to link that the row comes from, on its events up to the first healthy one.
    public var attempt: AttemptHash?

    /// One change, field by field.
    public init(
        connection: Connection, previous: Connection?, changed: [String] = [],
        scopes: ScopeChange? = nil, changedBetween: ChangeWindow? = nil, walk: String? = nil,
        statusRecognised: Bool, userActionable: Bool = false, failedFor: Duration? = nil,
        possibleReplacementOf: [ConnectionID] = [], attempt: AttemptHash? = nil
    ) {
        self.connection = connection
        self.previous = previous
        self.changed = changed
        self.scopes = scopes
        self.changedBetween = changedBetween
        self.walk = walk
        self.statusRecognised = statusRecognised
        self.userActionable = userActionable
        self.failedFor = failedFor
        self.possibleReplacementOf = possibleReplacementOf
        self.attempt = attempt
    }
}

/// Which granted scopes came and went, each list sorted by bytes.
public struct ScopeChange: Hashable, Sendable {
    /// Granted now and not before.
    public var added: [String]
    /// Granted before and not now.
    public var removed: [String]

    /// The difference of two sets of scopes.
    public init(added: [String], removed: [String]) {
        self.added = added
        self.removed = removed
    }
}

/// Between which instants a change lies.
public struct ChangeWindow: Hashable, Sendable {
    /// Start of the last sealed walk known to have shown the old state; nil for a new account.
    public var after: Timestamp?
    /// Seal of the first walk that showed the new state.
    public var before: Timestamp

    /// The window from `after` to `before`.
    public init(after: Timestamp?, before: Timestamp) {
        self.after = after
        self.before = before
    }
}

/// What an event tells of the account itself.
public enum AccountChange: Hashable, Sendable {
    /// The credential is refused: HTTP status and error code of the latest refusal, time of the
    /// first.
    case blind(status: Int, code: String, requiredScope: String?, since: Timestamp)
    /// The account can be read again, that long after the first refusal.
    case restored(blindFor: Duration)
    /// The account is gone from the register.
    case removed
    /// The belief was read anew, for the reason `loss`, `restore` or `wrongAccount`.
    case resynced(reason: String)
    /// The brake holds changes: the hold's id, `share`, `fleet` or `wrongAccount`, counts, first
    /// ids.
    case held(
        hold: String, reason: String, removals: Int, failures: Int, connections: [ConnectionID])
    /// Nothing is held any more: how many held changes recovered, were published, were discarded.
    case released(hold: String, recovered: Int, published: Int, discarded: Int)
    /// A type that this version does not know, with its data.
    case unknown(JSONObject)
}
