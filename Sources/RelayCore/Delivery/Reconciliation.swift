public import ConnectionEvents

/// Where a sink goes on, from what its broker remembers and what the journal knows.
public enum Reconciliation: Hashable, Sendable {
    /// Go on after this place.
    case resume(JournalPosition)
    /// Go on after this place, which what the broker remembers does not tell: write it there first.
    case claim(JournalPosition)
    /// The journal is older than what was published, or its history is another: a restored backup.
    case restored
    /// The journal is empty, and another journal has published before: it was lost.
    case lost
    /// Another journal has published under this name.
    case foreign

    /// What a journal knows of one sink.
    public struct Known: Sendable {
        /// The journal.
        public var journal: JournalID
        /// Its newest position of those that are this history for certain: what was decided before
        /// the broker had told is not.
        public var head: JournalPosition
        /// The position of its oldest entry; one past the head when there is none.
        public var tail: JournalPosition
        /// Whether it holds neither belief nor event.
        public var isEmpty: Bool
        /// The sink's place.
        public var place: JournalPosition
        /// Where the sink began, if it is new to the journal; nil: it is not.
        ///
        /// What a broker remembers of before that is of another sink of that name.
        public var start: JournalPosition?
        /// The place that a broker was told last; nil when none was.
        ///
        /// What it remembers is never less, unless it is another broker, or has forgotten.
        public var told: JournalPosition?
        /// The id of the event at the position that the broker remembers; nil when there is none.
        public var eventThere: EventID?
        /// What the broker remembered when the journal was renewed because of it.
        public var answered: Progress?

        /// What is known, field by field.
        public init(
            journal: JournalID, head: JournalPosition, tail: JournalPosition, isEmpty: Bool,
            place: JournalPosition, start: JournalPosition? = nil,
            told: JournalPosition? = nil, eventThere: EventID? = nil,
            answered: Progress? = nil
        ) {
            self.journal = journal
            self.head = head
            self.tail = tail
            self.isEmpty = isEmpty
            self.place = place
            self.start = start
            self.told = told
            self.eventThere = eventThere
            self.answered = answered
        }
    }

    /// Decides for one sink (the table of DESIGN 4).
    ///
    /// - Parameter progress: what the broker remembers; nil for a new sink, a new cluster, an
    ///   embedded broker.
    public static func decide(progress: Progress?, known: Known) -> Reconciliation {
        guard let progress else { return .resume(known.place) }
        // A renewed journal has taken the place of the one named there, up to that very record.
        if let answered = known.answered, progress.isSamePlace(as: answered) {
            return .claim(known.place)
        }
        guard progress.journal == known.journal else { return known.isEmpty ? .lost : .foreign }
        guard progress.position <= known.head else { return .restored }
        let isKept = progress.position > .start && known.tail <= progress.position
        if known.eventThere != nil || isKept, known.eventThere != progress.eventID {
            return .restored
        }
        if let start = known.start, progress.position < start { return .claim(start) }
        // A cluster of before, which has not seen what another one was given meanwhile; or a broker
        // that forgot what it had acknowledged.
        if let told = known.told, progress.position < told { return .resume(progress.position) }
        return .resume(max(progress.position, known.place))
    }
}

/// Why a journal cannot go on as it is: what its broker remembers is not of it.
public struct Misfit: Hashable, Sendable {
    /// What must have happened.
    public enum Cause: Hashable, Sendable {
        /// The journal was lost, and this one is empty.
        case lost
        /// The journal is an older copy, or has another history.
        case restored
        /// This journal is another's, and not empty: only an operator can say which one counts.
        case foreign
    }

    /// What must have happened.
    public var cause: Cause
    /// The sink that told.
    public var sink: SinkName
    /// What the broker remembers of all sinks.
    public var progress: [SinkName: Progress]

    /// A misfit, field by field.
    public init(cause: Cause, sink: SinkName, progress: [SinkName: Progress]) {
        self.cause = cause
        self.sink = sink
        self.progress = progress
    }

    /// What `account.resynced` gives as its reason once beliefs are read anew.
    public var reason: ResyncReason { cause == .lost ? .loss : .restore }

    /// The gravest of what was decided for several sinks; nil when each may go on.
    ///
    /// What only an operator can decide comes before what the relay mends itself.
    public init?(_ decisions: [SinkName: Reconciliation], progress: [SinkName: Progress]) {
        let order: [(Reconciliation, Cause)] = [
            (.foreign, .foreign), (.restored, .restored), (.lost, .lost),
        ]
        for (decision, cause) in order {
            guard let sink = decisions.filter({ $0.value == decision }).keys.min() else { continue }
            self.init(cause: cause, sink: sink, progress: progress)
            return
        }
        return nil
    }
}
