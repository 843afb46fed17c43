internal import ConnectionEvents
internal import RelayCore
internal import RelayRuntime

/// Keeps a simulated disk within its bounds, as the relay's own upkeep asks.
final class SimulatedUpkeep: JournalUpkeep, @unchecked Sendable {
    // @unchecked: a simulation runs on one thread.
    private unowned let world: World
    private let journal: SimulatedJournal

    init(_ world: World, life: Life) {
        self.world = world
        journal = SimulatedJournal(world, life: life)
    }

    func prune(_ rule: PruningRule) throws(JournalFailure) -> Int {
        try journal.readable()
        let count = world.disk.count(by: rule, greed: world.sabotage.greed)
        // Nothing to prune takes no effect.
        guard count > 0 else { return 0 }
        try journal.effect {
            world.checks.sinks.pruning(count)
            world.disk.prune(count)
            world.tell("pruned: all entries up to \(world.disk.base)")
        }
        return count
    }

    func size(_ rule: PruningRule) throws(JournalFailure) -> JournalSize {
        try journal.readable()
        let disk = world.disk
        return JournalSize(
            file: 0, used: 0, log: 0, limit: .max, entries: Int64(disk.entries.count),
            prunable: 0, oldest: disk.entries.first?.event?.decidedAt)
    }

    func proveRoom() throws(JournalFailure) { try journal.writable() }
}

extension Disk {
    /// The most entries that go in one step.
    static let pruningStep = 200

    /// How many of the oldest entries a rule and the places let go; never the newest one.
    ///
    /// - Parameter greed: how many more a faulty disk takes.
    func count(by rule: PruningRule, greed: Int) -> Int {
        let least = places.values.min()?.number ?? .max
        let most = min(rule.through.number, least, head.number - 1) - base
        guard most > 0 else { return 0 }
        let count = entries.prefix(min(Self.pruningStep, Int(most))).prefix { entry in
            entry.event.map { $0.decidedAt < rule.decidedBefore } ?? true
        }.count
        return count > 0 ? min(count + greed, entries.count - 1) : 0
    }

    /// Takes that many of the oldest entries away.
    mutating func prune(_ count: Int) {
        entries.removeFirst(count)
        base += Int64(count)
        makeDurable()
    }
}

extension World {
    /// The relay looks after its journal: once a second, or so.
    func keepBounds() {
        relay?.keepBounds()
        agenda.add(.keepBounds(life: life.number), at: clock.now + dice.milliseconds(1000, 4000))
    }
}
