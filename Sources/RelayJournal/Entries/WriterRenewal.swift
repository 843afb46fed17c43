public import ConnectionEvents
internal import Crypto
internal import JSON
public import RelayCore
internal import SQLite

// A journal that begins anew: after it was lost, restored, or took another's place.

extension SQLiteJournal: RenewableJournal {
    /// Forgets what was read of state topics.
    public func forgetStates() throws(JournalFailure) {
        try writing { try $0.forgetStates() }
    }

    /// Keeps records of a state topic, in one transaction that is not waited for.
    public func keep(_ states: [ReadState]) throws(JournalFailure) {
        guard !states.isEmpty else { return }
        try writing { try $0.keep(states) }
    }

    /// Begins anew, in one transaction; then takes nothing more.
    ///
    /// Commands of other processes that write wait meanwhile, ten seconds at most.
    public func renew(
        _ renewal: JournalRenewal,
        begin: (AccountID, _ incarnation: Int64, [StateRecord]) -> (Belief, [NewEntry])
    ) throws(JournalFailure) -> JournalID {
        try writing { try $0.renew(renewal, begin: begin) }
    }
}

extension Writer {
    func forgetStates() throws {
        try withoutWaiting { try database.execute("DELETE FROM reading") }
    }

    func keep(_ states: [ReadState]) throws {
        let put = try database.prepare(
            """
            INSERT INTO reading VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT(account, connection) DO UPDATE
                SET partition = ?3, written_at = ?4, record = ?5
                WHERE partition = ?3 OR written_at <= ?4
            """)
        try withoutWaiting {
            for state in states {
                try put.run(
                    .text(state.account.text), .text(state.connection.text),
                    .integer(Int64(state.partition)), .integer(state.writtenAt),
                    .blob(state.value))
            }
        }
    }

    /// One account is in memory at a time, whatever their number.
    func renew(
        _ renewal: JournalRenewal,
        begin: (AccountID, _ incarnation: Int64, [StateRecord]) -> (Belief, [NewEntry])
    ) throws -> JournalID {
        try refuseWhenOver()
        let id = JournalID(Hex.encode(try Random.bytes(16)))
        var position = head
        var epoch = max(lastEpoch, renewal.epoch)
        try database.transaction {
            try clear(renewal, id: id)
            let select = try database.prepare(
                "SELECT record FROM reading WHERE account = ? AND record IS NOT NULL")
            for (account, incarnation) in renewal.accounts {
                var records: [StateRecord] = []
                try select.each(.text(account.text)) { row in
                    let json = try JSONValue(parsing: row.blob(0))
                    if let record = StateRecord(json: json) { records.append(record) }
                }
                let (belief, entries) = begin(account, incarnation, records)
                epoch = max(epoch, belief.head.epoch)
                try put(belief.head, belief.rows.mapValues { $0 }, of: account)
                for entry in entries {
                    position.number += 1
                    try put(entry, at: position)
                }
            }
            try database.execute(
                """
                DELETE FROM remembered;
                INSERT INTO remembered SELECT account, connection, record FROM reading
                    WHERE record IS NOT NULL AND account NOT IN (SELECT account FROM heads);
                DELETE FROM reading;
                """)
            try putCounter.run(.text("head"), .integer(position.number))
            try putCounter.run(.text("last_epoch"), .integer(epoch))
        }
        (head, lastEpoch, isOver) = (position, epoch, true)
        return id
    }

    /// What was believed and where sinks were is over; what they were given stays, to be looked at.
    private func clear(_ renewal: JournalRenewal, id: JournalID) throws {
        try database.execute(
            """
            DELETE FROM heads; DELETE FROM rows; DELETE FROM marks; DELETE FROM sink_numbers;
            DELETE FROM holds; DELETE FROM parked; DELETE FROM dropped; DELETE FROM places;
            DELETE FROM told; DELETE FROM answered; DELETE FROM unheard;
            """)
        try database.prepare("DELETE FROM entries WHERE position > ?")
            .run(.integer(renewal.kept.number))
        try database.prepare("UPDATE journal SET id = ?").run(.text(id.text))
        for sink in renewal.eventSinks {
            try putPlace.run(.text(sink.text), .integer(head.number))
        }
        let put = try database.prepare("INSERT INTO answered VALUES (?, ?, ?, ?, ?, ?)")
        for (sink, progress) in renewal.answered {
            try put.run(
                .text(sink.text), .text(progress.journal.text),
                .integer(progress.position.number), .text(progress.eventID?.text),
                .integer(progress.epoch), .text(progress.instance))
        }
    }

    /// What still comes of the time before a renewal was not seen.
    func refuseWhenOver() throws {
        guard isOver else { return }
        throw JournalFailure(
            kind: .failed, code: "renewed",
            reason: "the journal has begun anew, and must be opened anew")
    }
}
