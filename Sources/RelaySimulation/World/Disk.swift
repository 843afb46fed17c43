internal import ConnectionEvents
internal import RelayCore

/// What a simulated disk holds: it outlives the relay's lives.
struct Disk {
    var beliefs: [AccountID: Belief] = [:]
    var entries: [JournalEntry] = []
    var places: [SinkName: JournalPosition] = [:]
    var marks: [AccountID: SealMark] = [:]
    var lastEpoch: Int64 = 0
    /// Orders about holds that nobody has carried out.
    var orders: [HoldOrder] = []
    var lastOrder: Int64 = 0
    private var numbers: [AccountID: [SinkName: (epoch: Int64, number: Int64)]] = [:]
    /// What a power cut leaves of places and marks: the state at the last commit.
    private var durable: (places: [SinkName: JournalPosition], marks: [AccountID: SealMark]) =
        ([:], [:])

    var head: JournalPosition { JournalPosition(Int64(entries.count)) }

    /// Writes a batch as the journal does.
    mutating func commit(_ batch: JournalBatch) {
        for (account, write) in batch.beliefs {
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
        for entry in batch.entries { append(entry) }
        orders.removeAll { batch.ordersDone.contains($0.number) }
        durable = (places, marks)
    }

    private mutating func append(_ entry: NewEntry) {
        var previous: [SinkName: Int64] = [:]
        if let event = entry.event {
            lastEpoch = max(lastEpoch, event.epoch)
            for sink in entry.numberedBy {
                let known = numbers[entry.account]?[sink]
                previous[sink] = known?.epoch == event.epoch ? known?.number ?? 0 : 0
                numbers[entry.account, default: [:]][sink] = (event.epoch, event.sequence)
            }
        }
        entries.append(
            JournalEntry(
                position: JournalPosition(head.number + 1), account: entry.account,
                event: entry.event.map { EventFacts($0) }, body: entry.event?.serialized(),
                state: entry.state, previousNumbers: previous))
    }

    /// What was written and not waited for is lost.
    mutating func cutPower() { (places, marks) = durable }

    /// Reads every belief as it is stored, as a start does; false where one reads otherwise.
    mutating func reread(_ change: ((inout Belief) -> Void)?) -> Bool {
        for (account, belief) in beliefs {
            guard let head = BeliefHead(json: belief.head.json) else { return false }
            var rows: [ConnectionID: BelievedRow] = [:]
            for (id, row) in belief.rows { rows[id] = BelievedRow(json: row.json) }
            var read = Belief(account: account, head: head, rows: rows)
            change?(&read)
            guard read == belief else { return false }
            beliefs[account] = read
        }
        return true
    }
}

/// The journal of one life, on a disk that may be full, unreadable or slow.
final class SimulatedJournal: Journal, @unchecked Sendable {
    // @unchecked: a simulation runs on one thread.
    private unowned let world: World
    private let life: Life

    init(_ world: World, life: Life) {
        self.world = world
        self.life = life
    }

    static let dead = JournalFailure(kind: .failed, code: "dead", reason: "the process is dead")

    let id = JournalID("journal-1")

    func belief(of account: AccountID) throws(JournalFailure) -> Belief? {
        if world.isTroubled(.unreadable) { world.api.doubt(SimulatedRegister.number(account)) }
        try readable()
        return world.disk.beliefs[account]
    }

    func heads() throws(JournalFailure) -> [AccountID: BeliefHead] {
        try readable()
        return world.disk.beliefs.mapValues(\.head)
    }

    func commit(_ batch: JournalBatch) throws(JournalFailure) -> JournalPosition {
        var batch = batch
        world.sabotage.batch?(&batch)
        guard !world.isTroubled(.full) else {
            for account in batch.accounts { world.api.doubt(SimulatedRegister.number(account)) }
            throw JournalFailure(kind: .full, code: "full", reason: "there is no room on the disk")
        }
        if batch.isAboutHold { world.lightAtHold() }
        let passage = life.pass()
        guard passage != .dead else { throw Self.dead }
        let first = world.disk.entries.count
        world.checks.willCommit(batch)
        world.disk.commit(batch)
        for (account, incarnation) in batch.removals {
            world.register.forget(account, incarnation)
        }
        world.checks.committed(batch, entries: world.disk.entries[first...])
        world.tell(batch)
        world.answerHolds(batch)
        guard passage == .alive else { throw Self.dead }
        return world.disk.head
    }

    func lastEpoch() throws(JournalFailure) -> Int64 { world.disk.lastEpoch }

    func head() throws(JournalFailure) -> JournalPosition { world.disk.head }

    func tail() throws(JournalFailure) -> JournalPosition { JournalPosition(1) }

    func entries(
        after position: JournalPosition, limit: Int, bytes: Int
    ) throws(JournalFailure) -> [JournalEntry] {
        try readable()
        return Array(world.disk.entries.dropFirst(Int(position.number)).prefix(limit))
    }

    func eventID(at position: JournalPosition) throws(JournalFailure) -> EventID? {
        try readable()
        let index = Int(position.number) - 1
        return world.disk.entries.indices.contains(index)
            ? world.disk.entries[index].event?.id : nil
    }

    func place(of sink: SinkName) throws(JournalFailure) -> JournalPosition? {
        world.disk.places[sink]
    }

    func setPlaces(_ places: [SinkName: JournalPosition?]) throws(JournalFailure) {
        let passage = life.pass()
        guard passage != .dead else { throw Self.dead }
        try writable()
        for (sink, place) in places {
            world.checks.sinks.placed(sink, place, head: world.disk.head)
            world.disk.places[sink] = place
        }
        guard passage == .alive else { throw Self.dead }
    }

    func places() throws(JournalFailure) -> [SinkName: JournalPosition] {
        try readable()
        return world.disk.places
    }

    func marks() throws(JournalFailure) -> [AccountID: SealMark] { world.disk.marks }

    func saveMarks(_ marks: [AccountID: SealMark]) throws(JournalFailure) {
        let passage = life.pass()
        guard passage != .dead else { throw Self.dead }
        try writable()
        world.disk.marks.merge(marks) { _, new in new }
        guard passage == .alive else { throw Self.dead }
    }

    private func readable() throws(JournalFailure) {
        guard life.isAlive else { throw Self.dead }
        guard !world.isTroubled(.unreadable) else {
            throw JournalFailure(kind: .failed, code: "io", reason: "the disk does not answer")
        }
    }

    private func writable() throws(JournalFailure) {
        guard !world.isTroubled(.full) else {
            throw JournalFailure(kind: .full, code: "full", reason: "there is no room on the disk")
        }
    }
}

extension JournalBatch {
    /// Whether a hold begins or ends with it.
    var isAboutHold: Bool {
        !ordersDone.isEmpty
            || entries.contains {
                $0.event?.type == .accountHeld || $0.event?.type == .accountReleased
            }
    }

    /// Every account that it is about.
    var accounts: Set<AccountID> {
        Set(beliefs.map(\.account)).union(entries.map(\.account)).union(removals.map(\.account))
    }
}
