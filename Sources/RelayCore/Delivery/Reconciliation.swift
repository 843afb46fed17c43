public import ConnectionEvents

/// Where a sink goes on, from what its broker remembers and what the journal knows.
public enum Reconciliation: Hashable, Sendable {
    /// Go on after this place.
    case resume(JournalPosition)
    /// The journal is older than what was published, or its history is another: a restored backup.
    case restored
    /// The journal is empty, and another journal has published before: it was lost.
    case lost
    /// Another journal has published under this name.
    case foreign

    /// Decides for one sink (the table of DESIGN 4).
    ///
    /// - Parameters:
    ///   - progress: what the broker remembers; nil for a new sink, a new cluster, an embedded
    ///     broker.
    ///   - place: the sink's place in the journal.
    ///   - isEmpty: whether the journal holds neither belief nor event.
    ///   - eventThere: the id of the journal's event at the progress's position; nil when there is
    ///     no event there, or it was pruned.
    ///   - tail: the position of the oldest entry still there, which tells these two apart; nil
    ///     when it is not known.
    public static func decide(
        progress: Progress?, journal: JournalID, head: JournalPosition, place: JournalPosition,
        isEmpty: Bool, eventThere: EventID?, tail: JournalPosition? = nil
    ) -> Reconciliation {
        guard let progress else { return .resume(place) }
        guard progress.journal == journal else { return isEmpty ? .lost : .foreign }
        guard progress.position <= head else { return .restored }
        let isKept = progress.position > .start && tail.map { $0 <= progress.position } ?? false
        if eventThere != nil || isKept, eventThere != progress.eventID { return .restored }
        return .resume(max(progress.position, place))
    }
}
