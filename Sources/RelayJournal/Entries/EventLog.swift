public import ConnectionEvents
public import RelayCore
internal import SQLite

/// Reads a journal's events for people: by id, type, account and time, oldest first.
///
/// Works beside a running relay and without one. Threads: any. Calls block on the disk.
public final class EventLog: Sendable {
    /// One stored event.
    public struct StoredEvent: Hashable, Sendable {
        /// Its place in the journal.
        public var position: JournalPosition
        /// Whose event it is.
        public var account: AccountID
        /// What filters look at.
        public var facts: EventFacts
        /// The structured CloudEvent, byte for byte.
        public var body: [UInt8]
        /// JSON that `explain` reads; nil when none was stored, and in lists.
        public var evidence: [UInt8]?
    }

    /// Which events are asked for; nil and empty choose all.
    public struct Query: Hashable, Sendable {
        /// After this position.
        public var after = JournalPosition.start
        /// Only of this account.
        public var account: AccountID?
        /// Only of these types.
        public var types: [EventType] = []
        /// Decided at that time or later.
        public var since: Timestamp?
        /// Decided before that time.
        public var until: Timestamp?
        /// Only those of which a sink's record is parked.
        public var parked = false
        /// The most events to return; 1 to 10,000.
        public var limit = 1000

        /// All events from the start.
        public init() {}
    }

    let readers: ReaderPool
    private let path: String

    /// Reads from that journal.
    public init(_ file: JournalFile) {
        readers = ReaderPool(file)
        path = file.path
    }

    /// The event of that id with its evidence; nil when the journal has none.
    public func event(_ id: EventID) throws(JournalFailure) -> StoredEvent? {
        try readers.withReader { reader in
            let select = try reader.database.prepare(
                """
                SELECT \(Reader.entryColumns) FROM entries INDEXED BY events
                WHERE event_key = ? AND event_id = ?
                """)
            return try select.first(.integer(EntryKey.number(of: id)), .text(id.text)) { row in
                var event = try Self.event(row)
                event?.evidence = row.blobOrNil(Reader.evidenceColumn)
                return event
            } ?? nil
        }
    }

    /// Events that fit, by position, at most `query.limit`.
    ///
    /// For the next ones ask again after the last one's position. `since` is found without reading
    /// what lies before it, an account by running through a narrow index, types by looking at all.
    public func events(_ query: Query) throws(JournalFailure) -> [StoredEvent] {
        try select(query, read: Self.event)
    }

    /// The same as sinks are given them, with the numbers before them.
    public func entries(_ query: Query) throws(JournalFailure) -> [JournalEntry] {
        try select(query) { try Reader.entry($0) }
    }

    private func select<Value>(
        _ query: Query, read: (Statement.Row) throws -> Value?
    ) throws(JournalFailure) -> [Value] {
        try readers.withReader { reader in
            let database = reader.database
            var after = query.after
            if let since = query.since {
                after = max(after, try Self.position(before: since, in: database))
            }
            let select = try database.prepare(Self.sql(query))
            let types = query.types.map { SQLValue.text($0.name) }
            let values: [SQLValue] =
                [
                    .integer(after.number), .integer(query.since?.milliseconds),
                    .integer(query.until?.milliseconds), .text(query.account?.text),
                    .integer(query.account.map { EntryKey.number(of: $0) }),
                    .integer(min(max(query.limit, 1), 10_000)),
                ] + types
            return try select.all(values, read: read).compactMap(\.self)
        }
    }

    /// The position of the newest entry.
    public func head() throws(JournalFailure) -> JournalPosition {
        try readers.withReader { reader in
            JournalPosition(
                try reader.database.integer("SELECT value FROM counters WHERE name = 'head'"))
        }
    }

    private static func sql(_ query: Query) -> String {
        let marks = query.types.indices.map { "?\($0 + 7)" }.joined(separator: ", ")
        let ofAccount = query.account != nil
        return """
            SELECT \(Reader.entryColumns) FROM entries \(ofAccount ? "INDEXED BY events" : "")
            WHERE position > ?1 AND event_key IS NOT NULL
                AND \(ofAccount ? "account_key = ?5 AND account = ?4" : "?4 IS ?5")
                AND (?2 IS NULL OR decided_at >= ?2) AND (?3 IS NULL OR decided_at < ?3)
                \(query.types.isEmpty ? "" : "AND type IN (\(marks))")
                \(query.parked ? Self.isParked : "")
            ORDER BY position LIMIT ?6
            """
    }

    private static let isParked = """
        AND position IN (SELECT position FROM parked WHERE parked.event_id = entries.event_id)
        """

    static func event(_ row: Statement.Row) throws -> StoredEvent? {
        let entry = try Reader.entry(row)
        guard let facts = entry.event, let body = entry.body else { return nil }
        return StoredEvent(
            position: entry.position, account: entry.account, facts: facts, body: body)
    }

    /// A position before which nothing was decided at `time` or later, found by halving.
    ///
    /// Accounts' clocks may lie a little apart, so it stays a minute on the safe side.
    private static func position(
        before time: Timestamp, in database: Database
    ) throws -> JournalPosition {
        let aim = time.milliseconds - 60_000
        let probe = try database.prepare(
            """
            SELECT position, decided_at FROM entries
            WHERE position >= ? AND event_key IS NOT NULL ORDER BY position LIMIT 1
            """)
        var low = try database.integer("SELECT min(position) FROM entries")
        var high = try database.integer("SELECT max(position) FROM entries") + 1
        while low < high {
            let middle = low + (high - low) / 2
            let found = try probe.first(.integer(middle)) { ($0.integer(0), $0.integer(1)) }
            if let found, found.1 < aim {
                low = found.0 + 1
            } else {
                high = middle
            }
        }
        return JournalPosition(low - 1)
    }
}
