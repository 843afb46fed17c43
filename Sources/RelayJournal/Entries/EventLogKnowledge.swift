internal import ConnectionEvents
public import RelayCore

extension EventLog {
    /// What the journal knows of a sink, to be compared with what its broker remembers.
    ///
    /// - Parameter position: the one that the broker remembers; nil when it remembers none.
    public func knowledge(
        of sink: SinkName, at position: JournalPosition?, journal: JournalID
    ) throws(JournalFailure) -> Reconciliation.Known {
        let head = try head()
        return try readers.withReader { reader in
            let place = try reader.places()[sink]
            var known = Reconciliation.Known(
                journal: journal, head: head, tail: try reader.tail(), isEmpty: head == .start,
                place: place ?? head, isFresh: place == nil, told: try reader.told()[sink],
                answered: try reader.answered()[sink])
            if let position { known.eventThere = try reader.eventID(at: position) }
            return known
        }
    }
}
