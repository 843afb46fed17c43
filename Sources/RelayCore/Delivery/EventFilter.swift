public import ConnectionEvents

/// A sink's `when`: which events it takes.
///
/// A set that is nil lets everything through.
public struct EventFilter: Hashable, Sendable {
    /// Types that are taken.
    public var types: Set<EventType>?
    /// Platforms that are taken; lets no `account.*` through.
    public var platforms: Set<String>?
    /// Accounts that are taken.
    public var accounts: Set<AccountID>?
    /// Kinds that are taken.
    public var kinds: Set<EventKind>?

    /// A filter, field by field.
    public init(
        types: Set<EventType>? = nil, platforms: Set<String>? = nil,
        accounts: Set<AccountID>? = nil, kinds: Set<EventKind>? = nil
    ) {
        self.types = types
        self.platforms = platforms
        self.accounts = accounts
        self.kinds = kinds
    }

    /// Whether an event of an account passes.
    public func takes(_ event: EventFacts, of account: AccountID) -> Bool {
        if let types, !types.contains(event.type) { return false }
        if let kinds, !kinds.contains(event.kind) { return false }
        if let accounts, !accounts.contains(account) { return false }
        if let platforms {
            guard let platform = event.platform, platforms.contains(platform) else { return false }
        }
        return true
    }
}

/// One sink as delivery sees it.
public struct SinkPlan: Hashable, Sendable {
    /// What a sink is given.
    public enum Role: Hashable, Sendable {
        /// Events; with a filter, those that it takes, each with the number before it.
        case events(EventFilter?)
        /// State records.
        case state
    }

    /// Topic or name.
    public var name: SinkName
    /// What it is given.
    public var role: Role
    /// How its events lie in their records; nothing to a state sink.
    public var format: EventFormat

    /// A sink, field by field.
    public init(name: SinkName, role: Role, format: EventFormat = .structured) {
        self.name = name
        self.role = role
        self.format = format
    }

    /// Whether it takes an event and, being filtered, numbers it.
    public func numbers(_ event: EventFacts, of account: AccountID) -> Bool {
        guard case .events(let filter?) = role else { return false }
        return filter.takes(event, of: account)
    }

    /// The sink's record of an entry; nil when it takes none.
    public func message(of entry: JournalEntry) -> OutboundMessage? {
        switch role {
        case .state:
            return entry.state.map {
                OutboundMessage(position: entry.position, key: $0.key, value: $0.value)
            }
        case .events(let filter):
            guard let event = entry.event, let body = entry.body else { return nil }
            if let filter, !filter.takes(event, of: entry.account) { return nil }
            // Bytes that cannot be taken apart go out whole: a reader goes by the content type.
            let binary = format == .binary ? BinaryEvent(structured: body) : nil
            var headers: [OutboundMessage.Header] =
                binary?.headers ?? [.init("content-type", "application/cloudevents+json")]
            if filter != nil {
                headers.append(
                    .init("trax-previous", String(entry.previousNumbers[name] ?? 0)))
            }
            if let trace = event.id.traceparent { headers.append(.init("traceparent", trace)) }
            return OutboundMessage(
                position: entry.position, key: entry.account.text, value: binary?.value ?? body,
                headers: headers)
        }
    }
}
