import ConnectionEvents
import RelayCore
import Threading

/// A journal in memory that fails when told to.
final class FakeJournal: Journal {
    struct Content {
        var beliefs: [AccountID: Belief] = [:]
        var entries: [JournalEntry] = []
        var events: [ConnectionEvent] = []
        var places: [SinkName: JournalPosition] = [:]
        var marks: [AccountID: SealMark] = [:]
        var lastEpoch: Int64 = 0
        var commits = 0
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

    let id: JournalID
    let content = Lock(Content())
    private let register: FakeRegister

    init(_ register: FakeRegister, id: String = "journal-1") {
        self.register = register
        self.id = JournalID(id)
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

    func heads() throws(JournalFailure) -> [AccountID: BeliefHead] {
        content.withLock { $0.beliefs.mapValues(\.head) }
    }

    func commit(_ batch: JournalBatch) throws(JournalFailure) -> JournalPosition {
        let (head, removals) = try content.withLock {
            (content) throws(JournalFailure) in
            if let failure = content.commitFailure { throw failure }
            content.commits += 1
            for (account, write) in batch.beliefs { content.apply(write, to: account) }
            for entry in batch.entries { content.append(entry) }
            return (content.head, batch.removals)
        }
        for (account, incarnation) in removals { register.forget(account, incarnation) }
        return head
    }

    func lastEpoch() throws(JournalFailure) -> Int64 { content.withLock { $0.lastEpoch } }

    func head() throws(JournalFailure) -> JournalPosition { content.withLock { $0.head } }

    func tail() throws(JournalFailure) -> JournalPosition { JournalPosition(1) }

    func entries(
        after position: JournalPosition, limit: Int, bytes: Int
    ) throws(JournalFailure) -> [JournalEntry] {
        try content.withLock { (content) throws(JournalFailure) in
            if let failure = content.readFailure { throw failure }
            return Array(content.entries.dropFirst(Int(position.number)).prefix(limit))
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

extension FakeJournal.Content {
    var head: JournalPosition { JournalPosition(Int64(entries.count)) }

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

    mutating func append(_ entry: NewEntry) {
        if let event = entry.event {
            events.append(event)
            lastEpoch = max(lastEpoch, event.epoch)
        }
        entries.append(
            JournalEntry(
                position: JournalPosition(Int64(entries.count + 1)), account: entry.account,
                event: entry.event.map { EventFacts($0) }, body: entry.event?.serialized(),
                state: entry.state,
                previousNumbers: Dictionary(
                    uniqueKeysWithValues: entry.numberedBy.map { ($0, Int64(0)) })))
    }
}
