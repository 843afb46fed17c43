import ConnectionEvents
import JSON
import RelayCore
import Threading

/// A journal in memory that fails when told to.
final class FakeJournal: Journal {
    struct Content {
        var id: JournalID
        /// What was read of state topics, and what is left of it.
        var states: [String: ReadState] = [:]
        var remembered: [AccountID: [StateRecord]] = [:]
        var answered: [SinkName: Progress] = [:]
        /// Sinks whose brokers have not told yet, and where the head was when that began.
        var awaited: Set<SinkName> = []
        var unheard: [SinkName: JournalPosition] = [:]
        /// The position before the first entry.
        var base: Int64 = 0
        var beliefs: [AccountID: Belief] = [:]
        var entries: [JournalEntry] = []
        var events: [ConnectionEvent] = []
        var places: [SinkName: JournalPosition] = [:]
        var marks: [AccountID: SealMark] = [:]
        var lastEpoch: Int64 = 0
        var commits = 0
        /// Attempts to link, open or ended.
        var links: [LinkWatch] = []
        /// Thrown by `commit` while set.
        var commitFailure: JournalFailure?
        /// Beliefs that cannot be read.
        var unreadable: Set<AccountID> = []
        /// Thrown by `saveMarks` while set.
        var markFailure: JournalFailure?
        /// Thrown by `setPlaces` while set.
        var placeFailure: JournalFailure?
        /// Thrown by `entries` while set.
        var readFailure: JournalFailure?
    }

    static let full = JournalFailure(
        kind: .full, code: "full", reason: "there is no room on the disk")

    var id: JournalID { content.withLock { $0.id } }
    let content: Lock<Content>
    private let register: FakeRegister

    init(_ register: FakeRegister, id: String = "journal-1") {
        self.register = register
        content = Lock(Content(id: JournalID(id)))
    }

    /// The disk is full, or has room again.
    func fill(_ isFull: Bool) {
        content.withLock { $0.commitFailure = isFull ? Self.full : nil }
    }

    /// All events, oldest first.
    var events: [ConnectionEvent] { content.withLock { $0.events } }

    /// The events of one account, oldest first.
    func events(_ account: String) -> [ConnectionEvent] {
        events.filter { $0.account.text == account }
    }

    /// Types of an account's events, oldest first.
    func types(_ account: String) -> [String] { events(account).map(\.type.name) }

    func belief(_ account: String) -> Belief? {
        content.withLock { content in AccountID(account).flatMap { content.beliefs[$0] } }
    }

    func belief(of account: AccountID) throws(JournalFailure) -> Belief? {
        try content.withLock { (content) throws(JournalFailure) in
            guard !content.unreadable.contains(account) else {
                throw JournalFailure(kind: .unusable, code: "damaged", reason: "is damaged")
            }
            return content.beliefs[account]
        }
    }

    func openLinks(of account: AccountID) throws(JournalFailure) -> [LinkWatch] {
        content.withLock { content in
            content.links.filter { $0.account == account && $0.outcome == nil }
        }
    }

    func remains(of account: AccountID) throws(JournalFailure) -> BeliefRemains {
        content.withLock { content in
            let belief = content.beliefs[account]
            return BeliefRemains(
                head: belief?.head, connections: belief.map { Array($0.rows.keys) } ?? [])
        }
    }

    func heads() throws(JournalFailure) -> [AccountID: BeliefHead] {
        content.withLock { $0.beliefs.mapValues(\.head) }
    }

    func commit(_ batch: JournalBatch) throws(JournalFailure) -> JournalPosition {
        let (head, removals) = try content.withLock {
            (content) throws(JournalFailure) in
            if let failure = content.commitFailure { throw failure }
            content.commits += 1
            if !batch.entries.isEmpty {
                for sink in content.awaited where content.unheard[sink] == nil {
                    content.unheard[sink] = content.head
                }
            }
            for (account, write) in batch.beliefs { content.apply(write, to: account) }
            for entry in batch.entries { content.append(entry) }
            for finding in batch.links { content.note(finding) }
            return (content.head, batch.removals)
        }
        for (account, incarnation) in removals { register.forget(account, incarnation) }
        return head
    }

    func lastEpoch() throws(JournalFailure) -> Int64 { content.withLock { $0.lastEpoch } }

    func head() throws(JournalFailure) -> JournalPosition { content.withLock { $0.head } }

    func tail() throws(JournalFailure) -> JournalPosition {
        content.withLock { $0.entries.first?.position ?? JournalPosition($0.head.number + 1) }
    }

    func entries(
        after position: JournalPosition, limit: Int, bytes: Int
    ) throws(JournalFailure) -> [JournalEntry] {
        try content.withLock { (content) throws(JournalFailure) in
            if let failure = content.readFailure { throw failure }
            return Array(
                content.entries.drop { $0.position <= position }.prefix(limit))
        }
    }

    func eventID(at position: JournalPosition) throws(JournalFailure) -> EventID? {
        content.withLock { $0.entries.first { $0.position == position }?.event?.id }
    }

    func place(of sink: SinkName) throws(JournalFailure) -> JournalPosition? {
        content.withLock { $0.places[sink] }
    }

    func setPlaces(_ places: [SinkName: JournalPosition?]) throws(JournalFailure) {
        try content.withLock { (content) throws(JournalFailure) in
            if let failure = content.placeFailure { throw failure }
            for (sink, place) in places { content.places[sink] = place }
        }
    }

    func places() throws(JournalFailure) -> [SinkName: JournalPosition] {
        content.withLock { $0.places }
    }

    func marks() throws(JournalFailure) -> [AccountID: SealMark] { content.withLock { $0.marks } }

    func saveMarks(_ marks: [AccountID: SealMark]) throws(JournalFailure) {
        try content.withLock { (content) throws(JournalFailure) in
            if let failure = content.markFailure { throw failure }
            content.marks.merge(marks) { _, new in new }
        }
    }
}

extension FakeJournal: RenewableJournal {
    func awaitWord(of sinks: Set<SinkName>) { content.withLock { $0.awaited.formUnion(sinks) } }

    func unheard() throws(JournalFailure) -> [SinkName: JournalPosition] {
        content.withLock { $0.unheard }
    }

    func heard(_ sinks: Set<SinkName>) throws(JournalFailure) {
        try content.withLock { (content) throws(JournalFailure) in
            let isMarked = sinks.contains { content.unheard[$0] != nil }
            if isMarked, let failure = content.placeFailure { throw failure }
            content.awaited.subtract(sinks)
            for sink in sinks { content.unheard[sink] = nil }
        }
    }

    func answered() throws(JournalFailure) -> [SinkName: Progress] {
        content.withLock { $0.answered }
    }

    func remembered(of account: AccountID) throws(JournalFailure) -> [StateRecord] {
        content.withLock { $0.beliefs[account] == nil ? $0.remembered[account] ?? [] : [] }
    }

    func forgetStates() throws(JournalFailure) { content.withLock { $0.states = [:] } }

    func keep(_ states: [ReadState]) throws(JournalFailure) {
        content.withLock { content in
            for state in states {
                content.states[StateRecord.key(state.account, state.connection)] = state
            }
        }
    }

    func renew(
        _ renewal: JournalRenewal,
        begin: (AccountID, _ incarnation: Int64, [StateRecord]) -> (Belief, [NewEntry])
    ) throws(JournalFailure) -> JournalID {
        try content.withLock { (content) throws(JournalFailure) in
            if let failure = content.commitFailure { throw failure }
            let head = content.head
            content.base = head.number
            content.id = JournalID(content.id.text + "+")
            content.entries.removeAll { $0.position > renewal.kept }
            content.beliefs = [:]
            content.marks = [:]
            content.places = [:]
            for sink in renewal.eventSinks { content.places[sink] = head }
            content.answered = renewal.answered
            content.unheard = [:]
            var read: [AccountID: [StateRecord]] = [:]
            for state in content.states.values {
                guard let value = state.value,
                    let record = (try? JSONValue(parsing: value)).flatMap({ StateRecord(json: $0) })
                else { continue }
                read[state.account, default: []].append(record)
            }
            for (account, incarnation) in renewal.accounts {
                let (belief, entries) = begin(account, incarnation, read[account] ?? [])
                content.beliefs[account] = belief
                content.lastEpoch = max(content.lastEpoch, belief.head.epoch)
                for entry in entries { content.append(entry) }
                read[account] = nil
            }
            content.remembered = read
            return content.id
        }
    }
}

extension FakeJournal.Content {
    var head: JournalPosition { max(entries.last?.position ?? .start, JournalPosition(base)) }

    mutating func apply(_ write: BeliefWrite, to account: AccountID) {
        switch write {
        case .drop:
            beliefs[account] = nil
            marks[account] = nil
        case .update(let head, let rows):
            lastEpoch = max(lastEpoch, head.epoch)
            var belief = beliefs[account] ?? Belief(account: account, head: head, rows: [:])
            belief.head = head
            for (id, row) in rows { belief.rows[id] = row }
            beliefs[account] = belief
        }
    }

    mutating func note(_ finding: LinkFinding) {
        guard
            let place = links.firstIndex(where: {
                $0.number == finding.number && $0.outcome == nil
            })
        else { return }
        links[place].connection = finding.connection ?? links[place].connection
        links[place].outcome = finding.outcome
    }

    mutating func append(_ entry: NewEntry) {
        if let event = entry.event {
            events.append(event)
            lastEpoch = max(lastEpoch, event.epoch)
        }
        entries.append(
            JournalEntry(
                position: JournalPosition(head.number + 1), account: entry.account,
                event: entry.event.map { EventFacts($0) }, body: entry.event?.serialized(),
                state: entry.state,
                previousNumbers: Dictionary(
                    uniqueKeysWithValues: entry.numberedBy.map { ($0, Int64(0)) })))
    }
}
