internal import ConnectionEvents
public import RelayCore
internal import SQLite
internal import Threading

// Keeping the journal within its bounds.

extension SQLiteJournal: JournalUpkeep {
    /// Takes away some of the oldest entries that every sink has.
    ///
    /// On the writing connection, which a commit then waits for: for one step, some hundred
    /// entries at most, and not for the disk. A power cut may bring them back, which harms nothing.
    public func prune(_ rule: PruningRule) throws(JournalFailure) -> Int {
        let count = try writing { try $0.prune(rule) }
        if count > 0 { noteCommit() }
        return count
    }

    /// How large it is, and what the rule would let go.
    public func size(_ rule: PruningRule) throws(JournalFailure) -> JournalSize {
        let (use, bound) = try writing { writer in
            (try writer.room.use(), try writer.pruning.bound(rule, head: writer.head))
        }
        let head = try head()
        let log = SystemFile.size(of: file.path + "-wal")
        let limit = limits.total
        return try reading { reader in
            let tail = try reader.tail()
            let kept = try reader.firstEntry(decidedAtOrAfter: rule.decidedBefore, head: head)
            return JournalSize(
                file: use.file, used: use.used, log: log, limit: limit,
                entries: head.number - tail.number + 1,
                prunable: max(0, min(bound, kept - 1) - tail.number + 1),
                oldest: try reader.oldestDecision())
        }
    }

    /// Makes sure that a commit would find room, in the file that was opened.
    public func proveRoom() throws(JournalFailure) {
        guard SystemFile.identity(of: file.path) == file.identity else {
            throw .unusable(
                "journal_moved",
                "\(file.path) was taken away or exchanged while the relay runs on it. Nothing more"
                    + " is written: put it back, and start again")
        }
        try writing { try $0.room.prove() }
    }
}

extension Reader {
    /// When the oldest event still there was decided.
    func oldestDecision() throws -> Timestamp? {
        let select = try database.prepare(
            """
            SELECT decided_at FROM entries INDEXED BY events
            WHERE event_key IS NOT NULL ORDER BY position LIMIT 1
            """)
        return try select.first { Timestamp(milliseconds: $0.integer(0)) }
    }

    /// The position of the first entry decided at that time or later, found by halving; one past
    /// the head when there is none.
    func firstEntry(decidedAtOrAfter time: Timestamp, head: JournalPosition) throws -> Int64 {
        let probe = try database.prepare(
            """
            SELECT position, decided_at FROM entries
            WHERE position >= ? AND decided_at IS NOT NULL ORDER BY position LIMIT 1
            """)
        var low = try tail().number
        var high = head.number + 1
        while low < high {
            let middle = low + (high - low) / 2
            let found = try probe.first(.integer(middle)) { ($0.integer(0), $0.integer(1)) }
            if let found, found.1 < time.milliseconds {
                low = found.0 + 1
            } else {
                high = middle
            }
        }
        return low
    }
}
