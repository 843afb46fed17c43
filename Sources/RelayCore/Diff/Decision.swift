public import ConnectionEvents

/// What follows from one thing that happened to an account: entries, and which belief must be
/// written.
public struct Decision: Sendable {
    /// Events and state records, in publishing order.
    public internal(set) var entries: [NewEntry] = []
    /// Whether the head changed, which every event does.
    public internal(set) var headChanged = false
    /// The rows that changed or went.
    public internal(set) var changedRows: Set<ConnectionID> = []
    /// Whether rows were believed when the walk came; false without a walk.
    public internal(set) var hadRows = false
    /// Whether the walk lacked one of those.
    public internal(set) var lackedRow = false
    /// What was found out about open attempts to link.
    public internal(set) var links: [LinkFinding] = []

    /// Whether nothing is to be written.
    public var isEmpty: Bool { entries.isEmpty && !headChanged && changedRows.isEmpty }

    /// Nothing follows.
    public init() {}

    /// What the journal writes of the belief after this decision; nil when nothing changed.
    public func write(of belief: Belief) -> BeliefWrite? {
        guard headChanged || !changedRows.isEmpty else { return nil }
        var rows: [ConnectionID: BelievedRow?] = [:]
        for id in changedRows { rows.updateValue(belief.rows[id], forKey: id) }
        return .update(belief.head, rows: rows)
    }

    /// Adds what a later step of the same happening decided.
    public mutating func append(_ later: Decision) {
        entries += later.entries
        headChanged = headChanged || later.headChanged
        changedRows.formUnion(later.changedRows)
        hadRows = hadRows || later.hadRows
        lackedRow = lackedRow || later.lackedRow
        links += later.links
    }
}

/// A sealed walk, decoded: what an account's list showed.
public struct SealedWalk: Hashable, Sendable {
    /// The walk; its time is its start.
    public var id: WalkID
    /// When it was sealed.
    public var sealedAt: Timestamp
    /// The rows, ascending by id, no id twice.
    public var rows: [ListedRow]
    /// How its pages came, for `explain`.
    public var pages: [PageTrace]

    /// A sealed walk, field by field; sorts the rows.
    public init(id: WalkID, sealedAt: Timestamp, rows: [ListedRow], pages: [PageTrace]) {
        self.id = id
        self.sealedAt = sealedAt
        self.rows = rows.sorted { $0.id < $1.id }
        self.pages = pages
    }
}

/// One row as the API listed it.
public struct ListedRow: Hashable, Sendable {
    /// The row as it would be published; its health is judged later.
    public var connection: Connection

    /// The row's id.
    public var id: ConnectionID { connection.id }

    /// A listed row; `grantedScopes` is nil where the API gave no array of strings.
    public init(_ connection: Connection) { self.connection = connection }
}

/// How one page of a walk came: kept as evidence.
public struct PageTrace: Hashable, Sendable {
    /// HTTP status.
    public var status: Int
    /// `X-Request-Id` of the answer, else the one that was sent.
    public var requestID: String
    /// Size of the body in bytes.
    public var bytes: Int

    /// One page, field by field.
    public init(status: Int, requestID: String, bytes: Int) {
        self.status = status
        self.requestID = requestID
        self.bytes = bytes
    }
}
