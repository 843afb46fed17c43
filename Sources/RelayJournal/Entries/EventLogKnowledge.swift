public import ConnectionEvents
public import RelayCore
internal import SQLite

extension EventLog {
    /// Whether an account is in the register, is believed anything of, or has events left.
    public func knows(_ account: AccountID) throws(JournalFailure) -> Bool {
        try readers.withReader { reader in
            try reader.database.prepare(
                """
                SELECT EXISTS(SELECT 1 FROM accounts WHERE id = ?1)
                    OR EXISTS(SELECT 1 FROM heads WHERE account = ?1)
                    OR EXISTS(SELECT 1 FROM entries INDEXED BY events
                        WHERE event_key IS NOT NULL AND account_key = ?2 AND account = ?1)
                """
            ).first(.text(account.text), .integer(EntryKey.number(of: account))) { $0.flag(0) }
                ?? false
        }
    }

    /// What the journal knows of a sink, to be compared with what its broker remembers.
    ///
    /// - Parameter position: the one that the broker remembers; nil when it remembers none.
    public func knowledge(
        of sink: SinkName, at position: JournalPosition?, journal: JournalID
    ) throws(JournalFailure) -> Reconciliation.Known {
        let head = try head()
        return try readers.withReader { reader in
            let place = try reader.places()[sink]
            let certain = try reader.unheard()[sink] ?? head
            var known = Reconciliation.Known(
                journal: journal, head: certain, tail: try reader.tail(), isEmpty: head == .start,
                place: place ?? head, start: place == nil ? head : nil,
                told: try reader.told()[sink],
                answered: try reader.answered()[sink])
            if let position { known.eventThere = try reader.eventID(at: position) }
            return known
        }
    }
}
