public import ConnectionEvents
public import JSON
internal import RelayCore

/// One row of `GET /v1/connections`.
///
/// Identified by its id, never by its platform: an account may have several rows of one.
public struct TraxConnection: Hashable, Sendable {
    /// The row's id, which a repair keeps.
    public var id: ConnectionID
    /// The platform; nil where the API gave no string.
    public var platform: TraxPlatform?
    /// The status; nil where the API gave no string.
    public var status: TraxStatus?
    /// What the platform granted, sorted by bytes; nil where the API gave no array of strings.
    ///
    /// It may be less than was asked for.
    public var grantedScopes: [String]?
    /// The other fields as the API gave them; empty where they are over 8 KiB together.
    public var otherFields: JSONObject

    /// One row, field by field.
    public init(
        id: ConnectionID, platform: TraxPlatform?, status: TraxStatus?, grantedScopes: [String]?,
        otherFields: JSONObject = JSONObject()
    ) {
        self.id = id
        self.platform = platform
        self.status = status
        self.grantedScopes = grantedScopes
        self.otherFields = otherFields
    }

    init(_ row: ListedRow) {
        let shown = row.connection
        self.init(
            id: shown.id, platform: shown.platform.map { TraxPlatform(rawValue: $0) },
            status: shown.status.map { TraxStatus(rawValue: $0) },
            grantedScopes: shown.grantedScopes, otherFields: shown.extra)
    }

    /// The attempt that made or last repaired it, where the API tells; no page of it says so.
    public var state: LinkState? {
        otherFields["state"]?.stringValue.flatMap { LinkState($0) }
    }
}

/// What tells one attempt to link from another: a capability, therefore never printed.
///
/// Whoever has it could end the attempt in another's name. Logs, events and tables show its
/// ``ConnectionEvents/AttemptHash``.
public struct LinkState: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The text as the API gave it.
    public let text: String

    /// Takes a state; nil where it is empty or longer than 4 KiB.
    public init?(_ text: String) {
        guard (1...4096).contains(text.utf8.count) else { return nil }
        self.text = text
    }

    /// What may be shown of it.
    public var attempt: AttemptHash { AttemptHash(state: text) }

    /// The hash.
    public var description: String { "attempt \(attempt)" }

    /// A mirror of the hash alone.
    public var customMirror: Mirror { Mirror(self, children: ["attempt": attempt.text]) }
}

/// What `POST /v1/connections/link` is asked for.
public struct LinkRequest: Hashable, Sendable {
    /// What is to be linked.
    public var platform: TraxPlatform
    /// Where the browser ends: an https address on a host of TRaX's; nil: TRaX's own page.
    public var returnTo: String?
    /// What is asked of the platform; nil, the right choice nearly always: its default set.
    ///
    /// Less links as well, and fails later in whatever needed the missing scope.
    public var scopes: [String]?
    /// The row to repair in place; nil makes a second row, and orphans the first's destinations.
    public var reconnecting: ConnectionID?

    /// A request, field by field.
    public init(
        _ platform: TraxPlatform, returnTo: String? = nil, scopes: [String]? = nil,
        reconnecting: ConnectionID? = nil
    ) {
        self.platform = platform
        self.returnTo = returnTo
        self.scopes = scopes
        self.reconnecting = reconnecting
    }
}

/// What `POST /v1/connections/link` answers.
public struct LinkTicket: Hashable, Sendable {
    /// To be opened in a system browser, never in an embedded web view.
    public var authorizationURL: String
    /// Tells this attempt from others.
    public var state: LinkState
}

/// A stream key that a person pasted, for a platform without a link.
public struct ManualKey: Sendable {
    /// The platform.
    public var platform: TraxPlatform
    /// The key; the API never shows it again.
    public var streamKey: String
    /// A name for people; nil: the platform's.
    public var displayName: String?

    /// A key, field by field.
    public init(_ platform: TraxPlatform, streamKey: String, displayName: String? = nil) {
        self.platform = platform
        self.streamKey = streamKey
        self.displayName = displayName
    }
}

extension ManualKey: CustomStringConvertible, CustomReflectable {
    /// The platform alone.
    public var description: String { "a stream key of \(platform)" }

    /// A mirror of the platform alone.
    public var customMirror: Mirror { Mirror(self, children: ["platform": platform.rawValue]) }
}

/// One studio of an account.
public struct TraxStudio: Hashable, Sendable {
    /// Its id.
    public var id: String
    /// Its name; nil where the API gave no string.
    public var name: String?
    /// The other fields as the API gave them.
    public var otherFields: JSONObject
}

/// What the API says of itself.
public struct TraxHealth: Hashable, Sendable {
    /// `ok` when it is well; an open set, and nil where the API gave no string.
    public var status: String?
    /// The other fields as the API gave them.
    public var otherFields: JSONObject
}

/// One page of a list.
public struct TraxPage<Row: Sendable>: Sendable {
    /// The rows, ascending by id.
    public var rows: [Row]
    /// Where the next page begins; nil on the last.
    public var nextCursor: String?
}

extension TraxPage: Equatable where Row: Equatable {}
