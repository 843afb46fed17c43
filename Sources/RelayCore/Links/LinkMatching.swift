public import ConnectionEvents
internal import JSON

/// One row as a complete list shows it, as far as attempts to link are concerned.
public struct LinkSight: Hashable, Sendable {
    /// The row now, its health judged.
    public var connection: Connection
    /// Whether no list before showed it.
    public var isNew: Bool
    /// Whether it differs from what was known of it.
    public var isChanged: Bool
    /// The attempt that it is known to come from.
    public var known: AttemptHash?

    /// A sight, field by field.
    public init(
        _ connection: Connection, isNew: Bool, isChanged: Bool, known: AttemptHash? = nil
    ) {
        self.connection = connection
        self.isNew = isNew
        self.isChanged = isChanged
        self.known = known
    }

    /// Of the row's own `state`, where it has one; no page of the vendor's promises it.
    var attempt: AttemptHash? {
        guard let state = connection.extra["state"]?.stringValue, !state.isEmpty else { return nil }
        return AttemptHash(state: state)
    }
}

/// Which attempt a row comes from, and by which rule that is known.
public struct LinkMatch: Hashable, Sendable {
    /// The rules, in the order in which they are asked.
    public enum Rule: String, Hashable, Sendable {
        /// It was matched before, by the relay or by who waits for it, and nobody noted how.
        case known
        /// The attempt was to repair this very row.
        case reconnect
        /// The row names the attempt's state.
        case state
        /// It is the one new row of the platform, and the attempt the only open one.
        case platform
    }

    /// The watch.
    public var watch: LinkWatch
    /// How it is known.
    public var rule: Rule
}

/// Finds, for the rows of one complete list, the open attempts that they come from: a function.
///
/// Asked in this order: `reconnectConnectionId`, the row's `state`, the platform where the attempt
/// is the only one open. Where none of these tells, nobody is named.
public struct LinkMatching: Hashable, Sendable {
    /// What was matched.
    public private(set) var matches: [ConnectionID: LinkMatch] = [:]
    /// Numbers of attempts of which one made a row, and which one cannot be told.
    public private(set) var ambiguous: Set<Int64> = []

    /// Looks at all rows of a list.
    ///
    /// - Parameters:
    ///   - watches: those that are open, all of one account.
    ///   - begun: when the list began to be read: an attempt that was over long before is not meant
    ///     by the platform alone.
    public init(_ sights: [LinkSight], watches: [LinkWatch], begun: Timestamp) {
        guard !watches.isEmpty else { return }
        var unexplained: [LinkSight] = []
        for sight in sights {
            if let match = direct(sight, watches) {
                matches[sight.connection.id] = match
            } else if sight.isNew, sight.attempt == nil {
                unexplained.append(sight)
            }
        }
        let taken = Set(matches.values.map(\.watch.number))
        for (platform, rows) in Dictionary(grouping: unexplained, by: \.connection.platform) {
            let open = watches.filter {
                $0.reconnecting == nil && $0.connection == nil && !taken.contains($0.number)
                    && $0.platform == platform
                    && begun.since($0.expiresAt) <= WatchPace.patience
            }
            if open.count == 1, rows.count == 1, let watch = open.first, let row = rows.first {
                matches[row.connection.id] = LinkMatch(watch: watch, rule: .platform)
            } else {
                ambiguous.formUnion(open.map(\.number))
            }
        }
    }

    /// What a row says by itself.
    private mutating func direct(_ sight: LinkSight, _ watches: [LinkWatch]) -> LinkMatch? {
        let id = sight.connection.id
        if let known = watches.first(where: { $0.attempt == sight.known || $0.connection == id }) {
            return LinkMatch(watch: known, rule: known.rule ?? .known)
        }
        let named = sight.attempt.flatMap { attempt in
            watches.first { $0.attempt == attempt }
        }
        // What gets worse was not linked.
        let repairs = watches.filter { $0.reconnecting == id }
        if !repairs.isEmpty, sight.isChanged, sight.connection.health != .failing {
            if repairs.count == 1 { return LinkMatch(watch: repairs[0], rule: .reconnect) }
            if let named, named.reconnecting == id { return LinkMatch(watch: named, rule: .state) }
            if named == nil { ambiguous.formUnion(repairs.map(\.number)) }
        }
        return named.map { LinkMatch(watch: $0, rule: .state) }
    }

    /// What the list says of each of the attempts; those of which it says nothing new are left out.
    ///
    /// - Parameters:
    ///   - begun: when the list began to be read: what expired by then has had its last look.
    ///   - at: when that is found.
    public func findings(
        _ sights: [LinkSight], watches: [LinkWatch], begun: Timestamp, at: Timestamp
    ) -> [LinkFinding] {
        let rows = Dictionary(sights.map { ($0.connection.id, $0.connection) }) { one, _ in one }
        let matched = Dictionary(matches.map { ($1.watch.number, $0) }) { min($0, $1) }
        return watches.compactMap { watch in
            let id = matched[watch.number]
            let health = id.flatMap { rows[$0]?.health }
            let outcome: LinkOutcome?
            if health == .healthy {
                outcome = watch.reconnecting == nil ? .linked : .repaired
            } else if ambiguous.contains(watch.number) {
                outcome = .ambiguous
            } else if watch.expiresAt <= begun {
                let isHealthy = watch.reconnecting.map { rows[$0]?.health == .healthy } ?? false
                outcome = isHealthy ? .unchanged : .abandoned
            } else {
                outcome = nil
            }
            guard outcome != nil || (id != nil && id != watch.connection) else { return nil }
            let rule = id.flatMap { matches[$0]?.rule }
            return LinkFinding(
                number: watch.number, connection: id ?? watch.connection, outcome: outcome, at: at,
                rule: rule == .known ? nil : rule)
        }
    }
}
