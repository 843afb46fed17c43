internal import ConnectionEvents
internal import Hashing
internal import JSON
internal import RelayCore
internal import SQLite

/// The writing connection with its statements; used by one thread at a time.
final class Writer {
    let database: Database
    /// The position of the newest entry.
    var head: JournalPosition
    var lastEpoch: Int64
    /// Whether the journal was renewed: it takes nothing before it is opened anew.
    var isOver = false
    private let insertEntry: Statement
    private let putHead: Statement
    private let putRow: Statement
    private let dropHead: Statement
    private let dropRow: Statement
    private let dropRows: Statement
    private let dropNumbers: Statement
    private let number: Statement
    private let putNumber: Statement
    private let forget: Statement
    let putCounter: Statement
    let putPlace: Statement
    private let dropPlace: Statement
    private let putTold: Statement
    private let dropTold: Statement
    private let putHold: Statement
    private let dropHold: Statement
    private let dropOrder: Statement
    private let dropRemembered: Statement
    let putFinding: Statement
    private let marks: MarkTable
    let room: Room
    let pruning: Pruning
    /// Accounts that have, or had since the start, an open hold: only these are looked for.
    private var held: Set<AccountID> = []
    private let unheard: UnheardTable
    /// Whether anything is remembered of accounts that are met only now.
    private let remembers: Bool

    init(_ database: Database, limits: JournalLimits) throws {
        self.database = database
        room = try Room(database, limits: limits)
        pruning = try Pruning(database)
        let counter = try database.prepare("SELECT value FROM counters WHERE name = ?")
        head = JournalPosition(try counter.first(.text("head")) { $0.integer(0) } ?? 0)
        lastEpoch = try counter.first(.text("last_epoch")) { $0.integer(0) } ?? 0
        insertEntry = try database.prepare(
            """
            INSERT INTO entries(\(Checksum.entryColumns), account_key, event_key, checksum)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        putHead = try database.prepare(
            """
            INSERT INTO heads(account, head, checksum) VALUES (?1, ?2, ?3)
            ON CONFLICT(account) DO UPDATE SET head = ?2, checksum = ?3
            """)
        putRow = try database.prepare(
            """
            INSERT INTO rows(account, connection, row, checksum) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT(account, connection) DO UPDATE SET row = ?3, checksum = ?4
            """)
        dropHead = try database.prepare("DELETE FROM heads WHERE account = ?")
        dropRow = try database.prepare("DELETE FROM rows WHERE account = ? AND connection = ?")
        dropRows = try database.prepare("DELETE FROM rows WHERE account = ?")
        dropNumbers = try database.prepare("DELETE FROM sink_numbers WHERE account = ?")
        number = try database.prepare(
            "SELECT number FROM sink_numbers WHERE account = ? AND sink = ? AND epoch = ?")
        putNumber = try database.prepare(
            """
            INSERT INTO sink_numbers(account, sink, epoch, number) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT(account, sink) DO UPDATE SET epoch = ?3, number = ?4
            """)
        forget = try database.prepare(
            "DELETE FROM accounts WHERE id = ? AND incarnation = ? AND removing = 1")
        putCounter = try database.prepare("UPDATE counters SET value = ?2 WHERE name = ?1")
        putPlace = try database.prepare(
            "INSERT INTO places VALUES (?1, ?2) ON CONFLICT(sink) DO UPDATE SET position = ?2")
        dropPlace = try database.prepare("DELETE FROM places WHERE sink = ?")
        putTold = try database.prepare(
            "INSERT INTO told VALUES (?1, ?2) ON CONFLICT(sink) DO UPDATE SET position = ?2")
        dropTold = try database.prepare("DELETE FROM told WHERE sink = ?")
        putHold = try database.prepare(
            "INSERT INTO holds VALUES (?1, ?2) ON CONFLICT(account) DO UPDATE SET hold = ?2")
        dropHold = try database.prepare("DELETE FROM holds WHERE account = ?")
        dropOrder = try database.prepare("DELETE FROM orders WHERE number = ?")
        dropRemembered = try database.prepare("DELETE FROM remembered WHERE account = ?")
        putFinding = try database.prepare(
            """
            UPDATE link_watches SET connection = coalesce(?2, connection), outcome = ?3,
                ended_at = ?4, rule = coalesce(rule, ?5)
            WHERE number = ?1 AND ended_at IS NULL
            """)
        remembers = try database.integer("SELECT EXISTS(SELECT 1 FROM remembered)") != 0
        marks = try MarkTable(database)
        unheard = try UnheardTable(database)
        try database.prepare("SELECT account FROM holds").each { row in
            if let account = AccountID(row.text(0)) { held.insert(account) }
        }
    }

    /// Writes a batch in one transaction; nothing of it stays when anything fails.
    func commit(_ batch: JournalBatch) throws -> JournalPosition {
        guard !batch.isEmpty else { return head }
        try refuseWhenOver()
        try room.prove()
        // A state record alone has no time of its own; this one says when it may be pruned.
        let now = WallClock.now()
        var position = head
        var epoch = lastEpoch
        try database.transaction {
            if !batch.entries.isEmpty { try unheard.mark(at: head) }
            var gone: Set<AccountID> = []
            for (account, write) in batch.beliefs {
                switch write {
                case .update(let head, let rows):
                    epoch = max(epoch, head.epoch)
                    try put(head, rows, of: account)
                    gone.remove(account)
                case .drop:
                    try drop(account)
                    gone.insert(account)
                }
            }
            for entry in batch.entries {
                position.number += 1
                epoch = max(epoch, entry.event?.epoch ?? 0)
                try put(entry, at: position, now: now)
            }
            // Only now: the last events of an account are numbered after those before them.
            for account in gone { try dropNumbers.run(.text(account.text)) }
            for (account, incarnation) in batch.removals {
                try forget.run(.text(account.text), .integer(incarnation))
            }
            for number in batch.ordersDone { try dropOrder.run(.integer(number)) }
            for finding in batch.links { try put(finding) }
            if position != head {
                try putCounter.run(.text("head"), .integer(position.number))
            }
            if epoch != lastEpoch { try putCounter.run(.text("last_epoch"), .integer(epoch)) }
        }
        (head, lastEpoch) = (position, epoch)
        if !batch.entries.isEmpty { unheard.noteMarked() }
        return position
    }

    func awaitWord(of sinks: Set<SinkName>) { unheard.awaitWord(of: sinks) }

    /// Durable when it returns.
    func heard(_ sinks: Set<SinkName>) throws {
        try refuseWhenOver()
        if unheard.hasMark(ofAny: sinks) { try database.transaction { try unheard.remove(sinks) } }
        unheard.forget(sinks)
    }

    func setPlaces(
        _ places: [SinkName: JournalPosition?], told: [SinkName: JournalPosition]
    ) throws {
        try refuseWhenOver()
        let gone = Set(places.filter { $0.value == nil }.keys)
        try withoutWaiting {
            try unheard.remove(gone)
            for (sink, place) in places {
                if let place {
                    try putPlace.run(.text(sink.text), .integer(place.number))
                } else {
                    try dropPlace.run(.text(sink.text))
                    try dropTold.run(.text(sink.text))
                }
            }
            for (sink, position) in told {
                try putTold.run(.text(sink.text), .integer(position.number))
            }
        }
        unheard.forget(gone)
    }

    /// Saves marks, which are of no use without room for what is believed.
    func saveMarks(_ new: [AccountID: SealMark]) throws {
        try refuseWhenOver()
        try room.prove()
        try withoutWaiting { try marks.save(new) }
    }

    /// Takes away some of the oldest entries; returns how many.
    func prune(_ rule: PruningRule) throws -> Int {
        guard let last = try pruning.last(rule, head: head) else { return 0 }
        try withoutWaiting { try pruning.remove(through: last) }
        return database.changes
    }

    /// A transaction whose end does not wait for the disk; the next one that does brings it along.
    func withoutWaiting(_ body: () throws -> Void) throws {
        try database.execute("PRAGMA synchronous = NORMAL")
        do {
            try database.transaction(body)
        } catch {
            try database.execute("PRAGMA synchronous = FULL")
            throw error
        }
        try database.execute("PRAGMA synchronous = FULL")
    }

    func put(
        _ head: BeliefHead, _ rows: [ConnectionID: BelievedRow?], of account: AccountID
    ) throws {
        let name = SQLValue.text(account.text)
        let value = SQLValue.blob(head.json.serialized())
        try putHead.run(name, value, Checksum.of([name, value]))
        if remembers { try dropRemembered.run(name) }
        if let hold = head.hold {
            held.insert(account)
            try putHold.run(name, .text(hold.id.text))
        } else if held.contains(account) {
            try dropHold.run(name)
        }
        for (connection, row) in rows {
            if let row {
                let (id, value) = (SQLValue.text(connection.text), row.json.serialized())
                try putRow.run(
                    name, id, .blob(value), Checksum.of([name, id, .blob(value)]))
            } else {
                try dropRow.run(name, .text(connection.text))
            }
        }
    }

    private func drop(_ account: AccountID) throws {
        for statement in [dropHead, dropRows, dropHold] {
            try statement.run(.text(account.text))
        }
        if remembers { try dropRemembered.run(.text(account.text)) }
        try marks.drop(account)
    }

    func put(
        _ entry: NewEntry, at position: JournalPosition, now: Timestamp = WallClock.now()
    ) throws {
        let facts = entry.event.map { EventFacts($0) }
        let values: [SQLValue] = [
            .integer(position.number), .text(entry.account.text), .text(facts?.id.text),
            .text(facts?.type.name), .text(facts?.kind.rawValue), .text(facts?.lane.rawValue),
            .text(facts?.platform), .integer(facts?.epoch), .integer(facts?.sequence),
            .integer((facts?.decidedAt ?? now).milliseconds), .text(try numbers(of: entry, facts)),
            .text(entry.state?.key), .blob(entry.state?.value), .blob(entry.event?.serialized()),
            .blob(entry.evidence),
        ]
        let keys: [SQLValue] = [
            .integer(EntryKey.number(of: entry.account)),
            .integer(facts.map { EntryKey.number(of: $0.id) }), Checksum.of(values),
        ]
        try insertEntry.run(values + keys)
    }

    /// Takes the account's number on each filtered sink, and returns those before, as JSON.
    private func numbers(of entry: NewEntry, _ facts: EventFacts?) throws -> String? {
        guard let facts, !entry.numberedBy.isEmpty else { return nil }
        var previous = JSONObject()
        let account = SQLValue.text(entry.account.text)
        for sink in entry.numberedBy {
            let (name, epoch) = (SQLValue.text(sink.text), SQLValue.integer(facts.epoch))
            let before = try number.first(account, name, epoch) { $0.integer(0) } ?? 0
            previous[sink.text] = .number(JSONNumber(before))
            try putNumber.run(account, name, epoch, .integer(facts.sequence))
        }
        return JSONValue.object(previous).text
    }
}

/// Numbers by which the index of events finds an event's id and account.
enum EntryKey {
    /// The front of an event's id; several ids may share it.
    static func number(of id: EventID) -> Int64 {
        UInt64(id.text.prefix(16), radix: 16).map { Int64(bitPattern: $0) }
            ?? Int64(bitPattern: StableHash.of(id.text))
    }

    /// A hash of an account's id; several accounts may share it.
    static func number(of account: AccountID) -> Int64 {
        Int64(bitPattern: StableHash.of(account.text))
    }
}
