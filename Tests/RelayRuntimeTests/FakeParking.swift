import RelayCore
import Threading

/// Parked records in memory; places go to the fake journal.
final class FakeParking: ParkingDesk {
    struct State {
        var records: [ParkedRecord] = []
        var next: Int64 = 1
        var isSeen = false
        /// Thrown by everything while set.
        var failure: JournalFailure?
    }

    let state = Lock(State())
    private let journal: FakeJournal

    init(_ journal: FakeJournal) { self.journal = journal }

    /// Positions of a sink's parked records.
    func positions(_ sink: SinkName) -> [Int64] {
        state.withLock { $0.records.filter { $0.sink == sink }.map(\.message.position.number) }
    }

    /// An operator orders all of them.
    func orderAll(at time: ParkedRecord) {
        state.withLock { state in
            for index in state.records.indices { state.records[index].orderedAt = time.parkedAt }
            state.isSeen = false
        }
    }

    func park(_ record: ParkedRecord, place: JournalPosition?) throws(JournalFailure) {
        try change { state in
            var record = record
            record.number = state.next
            state.next += 1
            state.records.append(record)
        }
        if let place { try journal.setPlaces([record.sink: place]) }
    }

    func look() throws(JournalFailure) -> ParkedSight? {
        try state.withLock { (state) throws(JournalFailure) in
            if let failure = state.failure { throw failure }
            guard !state.isSeen else { return nil }
            state.isSeen = true
            return ParkedSight(
                counts: Dictionary(grouping: state.records, by: \.sink).mapValues(\.count),
                ordered: state.records.filter { $0.orderedAt != nil })
        }
    }

    func sent(_ number: Int64) throws(JournalFailure) {
        try change { $0.records.removeAll { $0.number == number } }
    }

    func refused(_ number: Int64, _ failure: PublishFailure) throws(JournalFailure) {
        try change { state in
            for index in state.records.indices where state.records[index].number == number {
                state.records[index].orderedAt = nil
                state.records[index].code = failure.code
            }
        }
    }

    private func change(_ body: (inout State) -> Void) throws(JournalFailure) {
        try state.withLock { (state) throws(JournalFailure) in
            if let failure = state.failure { throw failure }
            body(&state)
            state.isSeen = false
        }
    }
}
