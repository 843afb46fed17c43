public import ConnectionEvents
public import RelayCore
internal import SQLite

// What `explain` and `replay` ask beyond lists: one event by what a person has of it, and places.

extension EventLog {
    /// The event at a position with its evidence; nil when there is none.
    public func event(at position: JournalPosition) throws(JournalFailure) -> StoredEvent? {
        try readers.withReader { reader in
            try reader.database.prepare(
                "SELECT \(Reader.entryColumns) FROM entries WHERE position = ?"
            ).first(.integer(position.number), read: Self.whole) ?? nil
        }
    }

    /// The events whose id begins so, each with its evidence, oldest first, at most `limit`.
    ///
    /// - Parameter prefix: 1 to 32 hexadecimal digits; anything else begins no id.
    public func events(
        idPrefix prefix: String, limit: Int
    ) throws(JournalFailure) -> [StoredEvent] {
        let text = prefix.lowercased()
        let front = String(text.prefix(16))
        guard (1...32).contains(text.utf8.count), text.utf8.allSatisfy(Self.isHexadecimal),
            let low = UInt64(front + String(repeating: "0", count: 16 - front.count), radix: 16),
            let high = UInt64(front + String(repeating: "f", count: 16 - front.count), radix: 16)
        else { return [] }
        // Both have the same first digit, so that their order is that of signed numbers too.
        return try readers.withReader { reader in
            try reader.database.prepare(
                """
                SELECT \(Reader.entryColumns) FROM entries INDEXED BY events
                WHERE event_key BETWEEN ?1 AND ?2 AND substr(event_id, 1, length(?3)) = ?3
                ORDER BY position LIMIT ?4
                """
            ).all(
                [
                    .integer(Int64(bitPattern: low)), .integer(Int64(bitPattern: high)),
                    .text(text), .integer(Int64(max(limit, 1))),
                ], read: Self.whole
            ).compactMap(\.self)
        }
    }

    /// When the oldest event that is still there was decided; nil without any.
    public func oldest() throws(JournalFailure) -> Timestamp? {
        try readers.withReader { reader in
            try reader.database.prepare(
                """
                SELECT decided_at FROM entries INDEXED BY events
                WHERE event_key IS NOT NULL ORDER BY position LIMIT 1
                """
            ).first { Timestamp(milliseconds: $0.integer(0)) }
        }
    }

    /// The position of the oldest entry that is still there; of an empty journal, the next one's.
    public func tail() throws(JournalFailure) -> JournalPosition {
        try readers.withReader { try $0.tail() }
    }

    /// How far each sink has come, as the journal knows it.
    public func places() throws(JournalFailure) -> [SinkName: JournalPosition] {
        try readers.withReader { try $0.places() }
    }

    /// The sinks for which the record at a position is parked.
    public func parkedSinks(at position: JournalPosition) throws(JournalFailure) -> Set<SinkName> {
        try readers.withReader { connection in
            Set(
                try connection.database.prepare("SELECT sink FROM parked WHERE position = ?")
                    .all(.integer(position.number)) { SinkName($0.text(0)) })
        }
    }

    /// The sinks for which the record at a position was dropped.
    public func droppedSinks(at position: JournalPosition) throws(JournalFailure) -> Set<SinkName> {
        try readers.withReader { connection in
            Set(
                try connection.database.prepare("SELECT sink FROM dropped WHERE position = ?")
                    .all(.integer(position.number)) { SinkName($0.text(0)) })
        }
    }

    private static func whole(_ row: Statement.Row) throws -> StoredEvent? {
        var event = try event(row)
        event?.evidence = row.blobOrNil(Reader.evidenceColumn)
        return event
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}
