internal import ConnectionEvents
internal import RelayCore

/// What a simulated disk holds: it outlives the relay's lives.
struct Disk {
    /// The journal's identity.
    var id = JournalID("journal-1")
    var beliefs: [AccountID: Belief] = [:]
    /// Entries that are still there, in order.
    var entries: [JournalEntry] = []
    /// The position of the last entry that is gone from the beginning.
    var base: Int64 = 0
    /// What brokers were told last, and what they remembered when the journal began anew.
    var told: [SinkName: JournalPosition] = [:]
    var answered: [SinkName: Progress] = [:]
    /// Where the head was before the first entry of which a sink's broker was not asked.
    var unheard: [SinkName: JournalPosition] = [:]
    /// Records of a state topic that were read, by key, and those of accounts that are yet to come.
    var kept: [String: ReadState] = [:]
    var remembered: [AccountID: [StateRecord]] = [:]
    var places: [SinkName: JournalPosition] = [:]
    var marks: [AccountID: SealMark] = [:]
    var lastEpoch: Int64 = 0
    /// Records that sinks do not take.
    var parked: [ParkedRecord] = []
    var lastParked: Int64 = 0
    /// Orders about holds that nobody has carried out.
    var orders: [HoldOrder] = []
    var lastOrder: Int64 = 0
    private var numbers: [AccountID: [SinkName: (epoch: Int64, number: Int64)]] = [:]
    /// What a power cut leaves of places and marks: the state at the last commit.
    private var durable = Soft()

    /// What is written without being waited for.
    private struct Soft {
        var places: [SinkName: JournalPosition] = [:]
        var told: [SinkName: JournalPosition] = [:]
        var marks: [AccountID: SealMark] = [:]
    }

    var head: JournalPosition { JournalPosition(base + Int64(entries.count)) }

    var tail: JournalPosition { JournalPosition(base + 1) }

    /// The entry at a position; nil where there is none.
    func entry(at position: Int64) -> JournalEntry? {
        let index = Int(position - base) - 1
        return entries.indices.contains(index) ? entries[index] : nil
    }

    /// The entries after a position that are still there.
    func entries(after position: Int64) -> ArraySlice<JournalEntry> {
        entries.dropFirst(max(0, Int(position - base)))
    }

    /// Writes a batch as the journal does.
    ///
    /// - Parameter awaited: sinks whose brokers have not told yet.
    mutating func commit(_ batch: JournalBatch, awaited: Set<SinkName>) {
        if !batch.entries.isEmpty {
            for sink in awaited where unheard[sink] == nil { unheard[sink] = head }
        }
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
                remembered[account] = nil
            }
        }
        for entry in batch.entries { append(entry) }
        orders.removeAll { batch.ordersDone.contains($0.number) }
        makeDurable()
    }

    mutating func makeDurable() {
        durable = Soft(places: places, told: told, marks: marks)
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
    mutating func cutPower() {
        (places, told, marks) = (durable.places, durable.told, durable.marks)
    }

    /// Begins anew, as the journal does; the beliefs are made of what was kept.
    mutating func renew(
        _ renewal: JournalRenewal, id: JournalID,
        begin: (AccountID, Int64, [StateRecord]) -> (Belief, [NewEntry])
    ) {
        self.id = id
        // Sinks go on at the head: nobody reads what was before.
        base = head.number
        (entries, beliefs, marks, numbers, told) = ([], [:], [:], [:], [:])
        (orders, parked, answered, places) = ([], [], renewal.answered, [:])
        unheard = [:]
        for sink in renewal.eventSinks { places[sink] = head }
        lastEpoch = max(lastEpoch, renewal.epoch)
        var records: [AccountID: [StateRecord]] = [:]
        for (_, state) in kept.sorted(by: { $0.key < $1.key }) {
            guard let record = state.value.flatMap({ StateRecord(parsing: $0) }) else { continue }
            records[state.account, default: []].append(record)
        }
        for (account, incarnation) in renewal.accounts {
            let (belief, entries) = begin(account, incarnation, records[account] ?? [])
            beliefs[account] = belief
            records[account] = nil
            for entry in entries { append(entry) }
        }
        (remembered, kept) = (records, [:])
        makeDurable()
    }

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
final class SimulatedJournal: RenewableJournal, @unchecked Sendable {
    // @unchecked: a simulation runs on one thread.
    unowned let world: World
    let life: Life
    private var awaited: Set<SinkName> = []

    init(_ world: World, life: Life) {
        self.world = world
        self.life = life
    }

    static let dead = JournalFailure(kind: .failed, code: "dead", reason: "the process is dead")

    var id: JournalID { world.disk.id }

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
        let first = world.disk.head
        world.checks.willCommit(batch)
        world.disk.commit(batch, awaited: awaited)
        for (account, incarnation) in batch.removals {
            world.register.forget(account, incarnation)
        }
        world.checks.committed(batch, entries: world.disk.entries(after: first.number))
        world.tell(batch)
        world.answerHolds(batch)
        guard passage == .alive else { throw Self.dead }
        return world.disk.head
    }

    func lastEpoch() throws(JournalFailure) -> Int64 { world.disk.lastEpoch }

    func head() throws(JournalFailure) -> JournalPosition { world.disk.head }

    func tail() throws(JournalFailure) -> JournalPosition { world.disk.tail }

    func entries(
        after position: JournalPosition, limit: Int, bytes: Int
    ) throws(JournalFailure) -> [JournalEntry] {
        try readable()
        return Array(world.disk.entries(after: position.number).prefix(limit))
    }

    func eventID(at position: JournalPosition) throws(JournalFailure) -> EventID? {
        try readable()
        return world.disk.entry(at: position.number)?.event?.id
    }

    func place(of sink: SinkName) throws(JournalFailure) -> JournalPosition? {
        world.disk.places[sink]
    }

    func setPlaces(_ places: [SinkName: JournalPosition?]) throws(JournalFailure) {
        try setPlaces(places, told: [:])
    }

    func told() throws(JournalFailure) -> [SinkName: JournalPosition] { world.disk.told }

    func answered() throws(JournalFailure) -> [SinkName: Progress] { world.disk.answered }

    func awaitWord(of sinks: Set<SinkName>) { awaited.formUnion(sinks) }

    func unheard() throws(JournalFailure) -> [SinkName: JournalPosition] { world.disk.unheard }

    func heard(_ sinks: Set<SinkName>) throws(JournalFailure) {
        awaited.subtract(sinks)
        guard !world.disk.unheard.isEmpty else { return }
        let passage = life.pass()
        guard passage != .dead else { throw Self.dead }
        try writable()
        for sink in sinks { world.disk.unheard[sink] = nil }
        world.disk.makeDurable()
        guard passage == .alive else { throw Self.dead }
    }

    func remembered(of account: AccountID) throws(JournalFailure) -> [StateRecord] {
        world.disk.remembered[account] ?? []
    }

    func setPlaces(
        _ places: [SinkName: JournalPosition?], told: [SinkName: JournalPosition]
    ) throws(JournalFailure) {
        let passage = life.pass()
        guard passage != .dead else { throw Self.dead }
        try writable()
        for (sink, place) in places {
            world.checks.sinks.placed(sink, place, head: world.disk.head)
            world.disk.places[sink] = place
        }
        world.disk.told.merge(told) { _, new in new }
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

    func readable() throws(JournalFailure) {
        guard life.isAlive else { throw Self.dead }
        guard !world.isTroubled(.unreadable) else {
            throw JournalFailure(kind: .failed, code: "io", reason: "the disk does not answer")
        }
    }

    /// Lets one effect of this life happen.
    func effect(_ body: () -> Void) throws(JournalFailure) {
        let passage = life.pass()
        guard passage != .dead else { throw Self.dead }
        try writable()
        body()
        guard passage == .alive else { throw Self.dead }
    }

    func writable() throws(JournalFailure) {
        guard !world.isTroubled(.full) else {
            throw JournalFailure(kind: .full, code: "full", reason: "there is no room on the disk")
        }
    }
}
