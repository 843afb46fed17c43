internal import ConnectionEvents
internal import JSON
public import RelayCore
internal import SQLite
internal import Threading

/// Records that sinks do not take, as a journal keeps them.
///
/// Commands order in short transactions beside a running relay, which looks twice a second; it
/// alone sends. A record is kept until it was sent or dropped, also after its entry was pruned.
///
/// Threads: any; one at a time is served. Bound: ``limit`` records of each sink.
public final class ParkedBook: ParkingDesk {
    /// The most records of one sink; then it waits at the next one that it does not take.
    public static let limit = 1000
    /// The most ordered records that a look gives.
    static let lookLimit = 10

    /// How an ordered record stands.
    public enum Standing: Hashable, Sendable {
        /// It waits to be sent.
        case ordered
        /// It is parked and not ordered: if it was, it was refused, and this is why.
        case parked(reason: String)
        /// It is parked no longer.
        case gone
    }

    private let board: Noticeboard

    /// Opens the parked records of a journal.
    public init(_ file: JournalFile) throws(JournalFailure) {
        board = try Noticeboard(file)
    }

    /// Parks a record and moves its sink's place, in one transaction that the disk has.
    ///
    /// A state record takes the place of an older one of the same key.
    public func park(
        _ record: ParkedRecord, place: JournalPosition?
    ) throws(JournalFailure) {
        try board.change { database in
            try Self.insert(record, in: database)
            guard let place else { return }
            let move = try database.prepare(
                """
                INSERT INTO places VALUES (?1, ?2)
                ON CONFLICT(sink) DO UPDATE SET position = ?2
                """)
            try move.run(.text(record.sink.text), .integer(place.number))
        }
    }

    private static func insert(_ record: ParkedRecord, in database: Database) throws {
        let sink = SQLValue.text(record.sink.text)
        if record.event == nil {
            try database.prepare(
                "DELETE FROM parked WHERE sink = ? AND key = ? AND event_id IS NULL"
            ).run(sink, .text(record.message.key))
        }
        let count =
            try database.prepare("SELECT count(*) FROM parked WHERE sink = ?")
            .first(sink) { Int($0.integer(0)) } ?? 0
        guard count < limit else {
            throw JournalFailure(
                kind: .full, code: "parked_full",
                reason: "\(limit) records of \(record.sink) are parked, and no more are taken: see"
                    + " why it refuses them, then 'trax-relay parked retry all' or 'drop all'")
        }
        let headers = record.message.headers.map { header -> JSONValue in
            [.string(header.name), .string(header.value)]
        }
        try database.prepare(
            """
            INSERT INTO parked(sink, position, key, headers, value, account, event_id, type, kind,
                lane, platform, epoch, sequence, decided_at, code, reason, parked_at, ordered_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        ).run(
            sink, .integer(record.message.position.number), .text(record.message.key),
            .text(JSONValue.array(headers).text), .blob(record.message.value),
            .text(record.account.text), .text(record.event?.id.text),
            .text(record.event?.type.name), .text(record.event?.kind.rawValue),
            .text(record.event?.lane.rawValue), .text(record.event?.platform),
            .integer(record.event?.epoch), .integer(record.event?.sequence),
            .integer(record.event?.decidedAt.milliseconds), .text(record.code),
            .text(record.reason), .integer(record.parkedAt.milliseconds),
            .integer(record.orderedAt?.milliseconds))
    }

    /// What is parked and ordered; nil when nothing was written since the last look.
    public func look() throws(JournalFailure) -> ParkedSight? {
        try board.look { database in
            var counts: [SinkName: Int] = [:]
            try database.prepare("SELECT sink, count(*) FROM parked GROUP BY sink")
                .each { counts[SinkName($0.text(0))] = Int($0.integer(1)) }
            let ordered = try database.prepare(
                """
                SELECT \(Self.columns) FROM parked WHERE ordered_at IS NOT NULL
                ORDER BY number LIMIT \(Self.lookLimit)
                """
            ).all(read: Self.record)
            // More than a look takes are found by the next one.
            let isAll = ordered.count < Self.lookLimit
            return (ParkedSight(counts: counts, ordered: ordered), isAll)
        }
    }

    /// An ordered record was sent.
    public func sent(_ number: Int64) throws(JournalFailure) {
        try board.change {
            try $0.prepare("DELETE FROM parked WHERE number = ?").run(.integer(number))
        }
    }

    /// An ordered record was refused once more.
    public func refused(
        _ number: Int64, _ failure: PublishFailure
    ) throws(JournalFailure) {
        try board.change { database in
            try database.prepare(
                """
                UPDATE parked SET ordered_at = NULL, code = ?2, reason = ?3 WHERE number = ?1
                """
            ).run(.integer(number), .text(failure.code), .text(failure.reason))
        }
    }
}

// What commands ask and order.
extension ParkedBook {
    /// Parked records by number, after one; at most that many.
    public func records(
        after number: Int64 = 0, limit: Int = 1000
    ) throws(JournalFailure) -> [ParkedRecord] {
        try board.read { database in
            try database.prepare(
                "SELECT \(Self.columns) FROM parked WHERE number > ? ORDER BY number LIMIT ?"
            ).all(.integer(number), .integer(max(1, limit)), read: Self.record)
        }
    }

    /// Orders that a record be sent again; false when it is not parked.
    @discardableResult
    public func order(_ number: Int64) throws(JournalFailure) -> Bool {
        try board.change { database in
            try database.prepare(
                "UPDATE parked SET ordered_at = coalesce(ordered_at, ?2) WHERE number = ?1"
            ).run(.integer(number), .integer(WallClock.now().milliseconds))
            return database.changes > 0
        }
    }

    /// Drops a record for good; false when it is not parked.
    @discardableResult
    public func drop(_ number: Int64) throws(JournalFailure) -> Bool {
        try board.change { database in
            try database.prepare(
                """
                INSERT OR REPLACE INTO dropped(position, sink, dropped_at)
                SELECT position, sink, ?2 FROM parked WHERE number = ?1
                    AND position IN (SELECT position FROM entries)
                """
            ).run(.integer(number), .integer(WallClock.now().milliseconds))
            try database.prepare("DELETE FROM parked WHERE number = ?").run(.integer(number))
            return database.changes > 0
        }
    }

    /// How a record stands.
    public func standing(of number: Int64) throws(JournalFailure) -> Standing {
        try board.read { database in
            try database.prepare(
                "SELECT ordered_at IS NOT NULL, reason FROM parked WHERE number = ?"
            ).first(.integer(number)) { row -> Standing in
                row.flag(0) ? .ordered : .parked(reason: row.text(1))
            } ?? .gone
        }
    }

    private static let columns = """
        number, sink, position, key, headers, value, account, event_id, type, kind, lane,
        platform, epoch, sequence, decided_at, code, reason, parked_at, ordered_at
        """

    private static func record(_ row: Statement.Row) throws -> ParkedRecord {
        let number = row.integer(0)
        let headers = try JSONValue(parsing: Array(row.text(4).utf8)).arrayValue ?? []
        guard let account = AccountID(row.text(6)) else {
            throw Reader.damaged("the parked record \(number)")
        }
        var event: EventFacts?
        if let id = row.textOrNil(7) {
            guard let kind = EventKind(rawValue: row.text(9)),
                let lane = EventLane(rawValue: row.text(10))
            else { throw Reader.damaged("the parked record \(number)") }
            event = EventFacts(
                id: EventID(id), type: EventType(row.text(8)), kind: kind, lane: lane,
                platform: row.textOrNil(11), epoch: row.integer(12), sequence: row.integer(13),
                decidedAt: Timestamp(milliseconds: row.integer(14)))
        }
        let message = OutboundMessage(
            position: JournalPosition(row.integer(2)), key: row.text(3), value: row.blobOrNil(5),
            headers: headers.compactMap { pair in
                guard let pair = pair.arrayValue, pair.count == 2,
                    let name = pair[0].stringValue, let value = pair[1].stringValue
                else { return nil }
                return OutboundMessage.Header(name, value)
            })
        return ParkedRecord(
            number: number, sink: SinkName(row.text(1)), message: message, account: account,
            event: event, code: row.text(15), reason: row.text(16),
            parkedAt: Timestamp(milliseconds: row.integer(17)),
            orderedAt: row.integerOrNil(18).map { Timestamp(milliseconds: $0) })
    }
}
