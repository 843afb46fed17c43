internal import ConnectionEvents
internal import JSON
internal import RelayCore
internal import SQLite

/// A reading connection with its statements; used by one thread at a time.
final class Reader {
    let database: Database
    private let head: Statement
    private let rows: Statement
    private let entries: Statement
    private let eventID: Statement
    private let allPlaces: Statement
    private let remembered: Statement
    let openLinks: Statement

    init(_ database: Database) throws(SQLiteError) {
        self.database = database
        try database.execute("PRAGMA query_only = ON")
        head = try database.prepare(
            "SELECT \(Checksum.headColumns), checksum FROM heads WHERE account = ?")
        rows = try database.prepare(
            "SELECT \(Checksum.rowColumns), checksum FROM rows WHERE account = ?")
        entries = try database.prepare(
            "SELECT \(Self.entryColumns) FROM entries WHERE position > ? ORDER BY position LIMIT ?")
        eventID = try database.prepare("SELECT event_id FROM entries WHERE position = ?")
        allPlaces = try database.prepare("SELECT sink, position FROM places")
        remembered = try database.prepare("SELECT record FROM remembered WHERE account = ?")
        openLinks = try database.prepare(
            """
            SELECT \(LinkWatch.columns) FROM link_watches
            WHERE account = ? AND ended_at IS NULL ORDER BY number
            """)
    }

    /// What `entry(_:)` reads.
    static let entryColumns = Checksum.entryColumns + ", checksum"
    /// Where the evidence stands in them.
    static let evidenceColumn = 14

    func belief(of account: AccountID) throws -> Belief? {
        // Head and rows of one instant.
        try database.snapshot {
            guard let head = try head.first(.text(account.text), read: Self.head) else {
                return nil
            }
            var believed: [ConnectionID: BelievedRow] = [:]
            try rows.each(.text(account.text)) { row in
                guard let id = ConnectionID(row.text(1)) else {
                    throw Self.damaged("a row of account \(account)")
                }
                believed[id] = try Self.row(row)
            }
            return Belief(account: account, head: head, rows: believed)
        }
    }

    /// Head and keys of a belief whose head or rows cannot be read.
    func remains(of account: AccountID) throws -> BeliefRemains {
        try database.snapshot {
            let bytes = try head.first(.text(account.text)) { $0.blob(1) }
            var left = BeliefRemains(head: nil, connections: [])
            do {
                left.head = try bytes.map { try Self.head($0, account.text) }
            } catch {
                // That it cannot be read is why this is asked.
                left.head = nil
            }
            left.connections = try rows.all(.text(account.text)) { ConnectionID($0.text(1)) }
                .compactMap(\.self)
            return left
        }
    }

    func heads() throws -> [AccountID: BeliefHead] {
        var heads: [AccountID: BeliefHead] = [:]
        heads.reserveCapacity(Int(try database.integer("SELECT count(*) FROM heads")))
        let all = try database.prepare("SELECT \(Checksum.headColumns), checksum FROM heads")
        try all.each { row in
            guard let account = AccountID(row.text(0)) else {
                throw Self.damaged("an account's id")
            }
            heads[account] = try Self.head(row)
        }
        return heads
    }

    /// Decodes every head, every row and every entry, and looks whether they are as written.
    func proveContent() throws {
        let heads = try database.prepare("SELECT \(Checksum.headColumns), checksum FROM heads")
        try heads.each { _ = try Self.head($0) }
        let rows = try database.prepare("SELECT \(Checksum.rowColumns), checksum FROM rows")
        try rows.each { _ = try Self.row($0) }
        let entries = try database.prepare("SELECT \(Self.entryColumns) FROM entries")
        try entries.each { _ = try Self.entry($0) }
    }

    func lastEpoch() throws -> Int64 {
        try database.integer("SELECT value FROM counters WHERE name = 'last_epoch'")
    }

    func tail() throws -> JournalPosition {
        let first = try database.prepare("SELECT position FROM entries ORDER BY position LIMIT 1")
            .first { $0.integer(0) }
        if let first { return JournalPosition(first) }
        return JournalPosition(
            try database.integer("SELECT value FROM counters WHERE name = 'head'") + 1)
    }

    func entries(
        after position: JournalPosition, limit: Int, bytes: Int
    ) throws -> [JournalEntry] {
        var result: [JournalEntry] = []
        var size = 0
        do {
            try entries.each(.integer(position.number), .integer(max(limit, 1))) { row in
                let entry = try Self.entry(row)
                size += (entry.body?.count ?? 0) + (entry.state?.value?.count ?? 0) + 200
                if size > bytes, !result.isEmpty { throw Enough() }
                result.append(entry)
            }
        } catch is Enough {
            return result
        }
        return result
    }

    func eventID(at position: JournalPosition) throws -> EventID? {
        try eventID.first(.integer(position.number)) { $0.textOrNil(0) }.flatMap {
            $0.map { EventID($0) }
        }
    }

    func places() throws -> [SinkName: JournalPosition] {
        var places: [SinkName: JournalPosition] = [:]
        try allPlaces.each { row in
            places[SinkName(row.text(0))] = JournalPosition(row.integer(1))
        }
        return places
    }

    func told() throws -> [SinkName: JournalPosition] { try positions(in: "told") }

    func unheard() throws -> [SinkName: JournalPosition] { try positions(in: "unheard") }

    private func positions(in table: String) throws -> [SinkName: JournalPosition] {
        var positions: [SinkName: JournalPosition] = [:]
        try database.prepare("SELECT sink, position FROM \(table)").each { row in
            positions[SinkName(row.text(0))] = JournalPosition(row.integer(1))
        }
        return positions
    }

    func remembered(of account: AccountID) throws -> [StateRecord] {
        var records: [StateRecord] = []
        try remembered.each(.text(account.text)) { row in
            guard let record = try StateRecord(json: JSONValue(parsing: row.blob(0))) else {
                throw Self.damaged("what is remembered of account \(account)")
            }
            records.append(record)
        }
        return records
    }

    func answered() throws -> [SinkName: Progress] {
        var answered: [SinkName: Progress] = [:]
        let select = try database.prepare(
            "SELECT sink, journal, position, event_id, epoch, instance FROM answered")
        try select.each { row in
            answered[SinkName(row.text(0))] = Progress(
                journal: JournalID(row.text(1)), position: JournalPosition(row.integer(2)),
                eventID: row.textOrNil(3).map { EventID($0) }, epoch: row.integer(4),
                instance: row.text(5))
        }
        return answered
    }

    func marks() throws -> [AccountID: SealMark] {
        try MarkTable(database).all()
    }

    /// An entry from a row of `entryColumns`.
    ///
    /// - Throws: where it is not as it was written.
    static func entry(_ row: Statement.Row) throws -> JournalEntry {
        guard Checksum.fits(row, evidenceColumn + 1) else {
            throw damaged("the entry at position \(row.integer(0))")
        }
        return try content(row)
    }

    /// The same, whatever its checksum says; the row may lack that.
    static func content(_ row: Statement.Row) throws -> JournalEntry {
        guard let account = AccountID(row.text(1)) else { throw damaged("an account's id") }
        var facts: EventFacts?
        if let id = row.textOrNil(2) {
            guard let kind = EventKind(rawValue: row.text(4)),
                let lane = EventLane(rawValue: row.text(5))
            else { throw damaged("the event at position \(row.integer(0))") }
            facts = EventFacts(
                id: EventID(id), type: EventType(row.text(3)), kind: kind, lane: lane,
                platform: row.textOrNil(6), epoch: row.integer(7), sequence: row.integer(8),
                decidedAt: Timestamp(milliseconds: row.integer(9)))
        }
        let state = row.textOrNil(11).map { StateWrite(key: $0, value: row.blobOrNil(12)) }
        return JournalEntry(
            position: JournalPosition(row.integer(0)), account: account, event: facts,
            body: row.blobOrNil(13), state: state,
            previousNumbers: try numbers(row.textOrNil(10)))
    }

    private static func numbers(_ text: String?) throws -> [SinkName: Int64] {
        guard let text else { return [:] }
        guard let object = try JSONValue(parsing: Array(text.utf8)).objectValue else {
            throw damaged("a sink's numbers")
        }
        var numbers: [SinkName: Int64] = [:]
        for (sink, number) in object { numbers[SinkName(sink)] = number.integerValue }
        return numbers
    }

    private static func row(_ row: Statement.Row) throws -> BelievedRow {
        guard Checksum.fits(row, 3) else { throw damaged("a row of account \(row.text(0))") }
        return try self.row(row.blob(2), row.text(0))
    }

    static func row(_ bytes: [UInt8], _ account: String) throws -> BelievedRow {
        guard let row = try BelievedRow(json: JSONValue(parsing: bytes)) else {
            throw damaged("a row of account \(account)")
        }
        return row
    }

    private static func head(_ row: Statement.Row) throws -> BeliefHead {
        guard Checksum.fits(row, 2) else { throw damaged("the belief of account \(row.text(0))") }
        return try head(row.blob(1), row.text(0))
    }

    static func head(_ bytes: [UInt8], _ account: String) throws -> BeliefHead {
        guard let head = try BeliefHead(json: JSONValue(parsing: bytes)) else {
            throw damaged("the belief of account \(account)")
        }
        return head
    }

    static func damaged(_ what: String) -> JournalFailure {
        .unusable(
            "corrupt",
            "the journal is damaged: \(what) cannot be read. Nothing was changed: restore a backup")
    }

    /// Ends a reading early.
    private struct Enough: Error {}
}
