internal import ConnectionEvents
internal import RelayCore

/// The parked records of a simulated disk, and the orders about them.
final class SimulatedParking: ParkingDesk, @unchecked Sendable {
    // @unchecked: a simulation runs on one thread.
    private unowned let world: World
    private let life: Life
    private let journal: SimulatedJournal

    init(_ world: World, life: Life) {
        self.world = world
        self.life = life
        journal = SimulatedJournal(world, life: life)
    }

    func park(_ record: ParkedRecord, place: JournalPosition?) throws(JournalFailure) {
        try journal.effect {
            world.checks.sinks.parked(record, place: place)
            world.tell("parked: position \(record.message.position) of \(record.sink)")
            if !world.sabotage.isLosingParked { world.disk.park(record) }
            if let place { world.disk.places[record.sink] = place }
            world.disk.makeDurable()
        }
    }

    func look() throws(JournalFailure) -> ParkedSight? {
        try journal.readable()
        var counts: [SinkName: Int] = [:]
        for record in world.disk.parked { counts[record.sink, default: 0] += 1 }
        return ParkedSight(
            counts: counts, ordered: world.disk.parked.filter { $0.orderedAt != nil })
    }

    func sent(_ number: Int64) throws(JournalFailure) {
        try journal.effect {
            world.checks.sinks.unparked(number)
            world.disk.parked.removeAll { $0.number == number }
            world.disk.makeDurable()
        }
    }

    func refused(_ number: Int64, _ failure: PublishFailure) throws(JournalFailure) {
        try journal.effect {
            let index = world.disk.parked.firstIndex { $0.number == number }
            guard let index else { return }
            world.disk.parked[index].orderedAt = nil
            world.disk.makeDurable()
        }
    }
}

extension Disk {
    /// Keeps a record that a sink does not take; a state record takes an older one's place.
    mutating func park(_ record: ParkedRecord) {
        if record.event == nil {
            parked.removeAll {
                $0.sink == record.sink && $0.event == nil && $0.message.key == record.message.key
            }
        }
        lastParked += 1
        var record = record
        record.number = lastParked
        parked.append(record)
    }
}

extension World {
    /// The operator wants every parked record to be sent again.
    func retryParked() {
        guard !isTroubled(.full) else { return }
        for index in disk.parked.indices where disk.parked[index].orderedAt == nil {
            tell("operator: has record \(disk.parked[index].number) sent again")
            disk.parked[index].orderedAt = clock.wall
        }
    }
}
