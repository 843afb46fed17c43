public import ConnectionEvents

/// The id of a watch, as `lw_…`: it opens nothing, so it may be shown.
public struct WatchID: Hashable, Sendable, CustomStringConvertible {
    /// The id as text.
    public let text: String

    /// Takes an id as it was stored or asked for.
    public init(_ text: String) { self.text = text }

    /// The watch of an attempt.
    public init(_ attempt: AttemptHash) { text = "lw_" + attempt.text.prefix(20) }

    /// The id as text.
    public var description: String { text }
}

/// What became of an attempt to link, as far as the account's list tells.
public enum LinkOutcome: String, Hashable, Sendable, CaseIterable {
    /// A row came and is healthy.
    case linked
    /// The row that was to be repaired is healthy again.
    case repaired
    /// The row that was to be repaired was healthy before and is still; the list tells no more.
    case unchanged
    /// A row came, and which of several open attempts made it cannot be told.
    case ambiguous
    /// Nothing came before the attempt's time was over.
    case abandoned
    /// The account left the register.
    case removed
}

/// One attempt to link that is waited for: after it the account is walked often.
public struct LinkWatch: Hashable, Sendable {
    /// Grows with each watch of a journal, and is never given again.
    public var number: Int64
    /// Its id.
    public var id: WatchID
    /// Whose attempt it is.
    public var account: AccountID
    /// What may be shown of its state.
    public var attempt: AttemptHash
    /// What is to be linked.
    public var platform: String
    /// The row to be repaired in place.
    public var reconnecting: ConnectionID?
    /// When it was opened.
    public var openedAt: Timestamp
    /// When the attempt's time is over.
    public var expiresAt: Timestamp
    /// The row that it made or repaired, as soon as it is known.
    public var connection: ConnectionID?
    /// How that row was known to be the attempt's when it was first found; nil if nobody noted it.
    public var rule: LinkMatch.Rule?
    /// What became of it; nil while it is open.
    public var outcome: LinkOutcome?
    /// When that was found.
    public var endedAt: Timestamp?

    /// A watch just opened.
    public init(
        number: Int64, account: AccountID, attempt: AttemptHash, platform: String,
        reconnecting: ConnectionID?, openedAt: Timestamp, expiresAt: Timestamp
    ) {
        self.number = number
        id = WatchID(attempt)
        self.account = account
        self.attempt = attempt
        self.platform = platform
        self.reconnecting = reconnecting
        self.openedAt = openedAt
        self.expiresAt = expiresAt
    }

    /// How long an attempt's state is good where nobody says otherwise.
    public static let lifetime: Duration = .seconds(600)
}

/// What a sealed walk found out about a watch.
public struct LinkFinding: Hashable, Sendable {
    /// The watch's number.
    public var number: Int64
    /// The row, where one was found.
    public var connection: ConnectionID?
    /// What became of the attempt; nil where it is still open.
    public var outcome: LinkOutcome?
    /// When that was found.
    public var at: Timestamp
    /// How the row was known to be the attempt's.
    public var rule: LinkMatch.Rule?

    /// A finding, field by field.
    public init(
        number: Int64, connection: ConnectionID?, outcome: LinkOutcome?, at: Timestamp,
        rule: LinkMatch.Rule? = nil
    ) {
        self.number = number
        self.connection = connection
        self.outcome = outcome
        self.at = at
        self.rule = rule
    }
}
