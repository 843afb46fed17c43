/// What a raw status means under the pipeline's `detection`.
public enum Health: String, Hashable, Sendable, CaseIterable {
    /// The link works.
    case healthy
    /// The link is being made or repaired.
    case pending
    /// The link is broken.
    case failing
    /// The status says nothing that this pipeline knows.
    case unrecognised
}

/// The last of healthy and failing that a row had; a row that had neither has none.
public enum Standing: String, Hashable, Sendable {
    /// It was healthy last.
    case healthy
    /// It was failing last.
    case failing
}

/// Why an event was published.
public enum EventKind: String, Hashable, Sendable, CaseIterable {
    /// Something changed.
    case change
    /// A row of an epoch's first reading.
    case baseline
    /// State was lost, rules changed or a hold was discarded: never an alert.
    case resync
}

/// Which stream of an account's events an event belongs to; each lane has its own numbers.
public enum EventLane: String, Hashable, Sendable {
    /// Every change as it was found.
    case raw
    /// What has lasted, for telling people.
    case settled
}

/// What happened; an open set: a later relay may send types that this list lacks.
public struct EventType: Hashable, Sendable, CustomStringConvertible {
    /// The name without the prefix `live.traxstreaming.`, as `connection.failing`.
    public let name: String

    /// Takes a name with or without the prefix.
    public init(_ name: String) {
        self.name =
            name.hasPrefix(Self.prefix) ? String(name.dropFirst(Self.prefix.count)) : name
    }

    /// The name without the prefix.
    public var description: String { name }

    /// The CloudEvents `type`, as `live.traxstreaming.connection.failing`.
    public var cloudEventsType: String { Self.prefix + name }

    /// Whether it is about the account and not about one of its connections.
    public var isAboutAccount: Bool { name.hasPrefix("account.") }

    /// What every CloudEvents `type` of the relay begins with.
    public static let prefix = "live.traxstreaming."

    /// A row of an epoch's first sealed walk.
    public static let baseline = EventType("connection.baseline")
    /// Healthy for the first time.
    public static let linked = EventType("connection.linked")
    /// Healthy again after failing.
    public static let repaired = EventType("connection.repaired")
    /// Failing, and not known as failing before.
    public static let failing = EventType("connection.failing")
    /// Another change of platform, status or health.
    public static let statusChanged = EventType("connection.status_changed")
    /// Only the granted scopes differ.
    public static let scopesChanged = EventType("connection.scopes_changed")
    /// The row is gone, and confirmed gone.
    public static let unlinked = EventType("connection.unlinked")
    /// The account's credential is refused.
    public static let accountBlind = EventType("account.blind")
    /// The account can be read again.
    public static let accountRestored = EventType("account.restored")
    /// The brake holds changes of the account.
    public static let accountHeld = EventType("account.held")
    /// Nothing of the account is held any more.
    public static let accountReleased = EventType("account.released")
    /// The account is gone from the register.
    public static let accountRemoved = EventType("account.removed")
    /// The account's belief was read anew.
    public static let accountResynced = EventType("account.resynced")

    /// All types that this version of the relay knows, in the contract's order.
    public static let known: [EventType] = [
        .baseline, .linked, .repaired, .failing, .statusChanged, .scopesChanged, .unlinked,
        .accountBlind, .accountRestored, .accountHeld, .accountReleased, .accountRemoved,
        .accountResynced,
    ]
}
