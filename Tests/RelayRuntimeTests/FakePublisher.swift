import RelayCore
import Threading

/// A publisher that records what it takes, and fails when told to.
final class FakePublisher: Publisher {
    /// What becomes of the next run.
    enum Fate: Sendable {
        /// Nothing of it is taken.
        case fail(PublishFailure)
        /// It is taken, and the acknowledgement is lost.
        case lose(PublishFailure)
    }

    struct State {
        var records: [SinkName: [OutboundMessage]] = [:]
        var progress: [SinkName: Progress] = [:]
        /// How many records each sink had before the last run to it, and the progress of then.
        var before: [SinkName: (count: Int, progress: Progress?)] = [:]
        var opens = 0
        var runs = 0
        var probes = 0
        var closes = 0
        /// Thrown by everything while set.
        var trouble: PublishFailure?
        /// Fates of the next runs, in order.
        var fates: [Fate] = []
        /// Thrown for this sink alone while set.
        var refusing: (sink: SinkName, failure: PublishFailure)?
        /// Positions of which a sink refuses the record, with all that goes with it.
        var poison: [SinkName: Set<Int64>] = [:]
        /// Sinks that say that nothing was ever written to them.
        var empty: Set<SinkName> = []
        /// While true, runs wait.
        var isHeld = false
        /// Called while a state sink is being filled, before beliefs are read.
        var whileFilling: (@Sendable () -> Void)?
    }

    static let away = PublishFailure(
        kind: .unavailable, code: "_TRANSPORT", reason: "the broker is away")

    let state = Lock(State())
    private let journal: FakeJournal
    private let remembers: Bool

    /// - Parameter remembers: keeps progress records, as exactly-once does.
    init(journal: FakeJournal, remembers: Bool) {
        self.journal = journal
        self.remembers = remembers
    }

    /// The broker goes away, or comes back.
    func leave(_ isAway: Bool) { state.withLock { $0.trouble = isAway ? Self.away : nil } }

    /// Values that a sink has taken, as text, oldest first; a tombstone is "null".
    func values(_ sink: String) -> [String] {
        state.withLock { state in
            (state.records[SinkName(sink)] ?? []).map {
                $0.value.map { String(decoding: $0, as: UTF8.self) } ?? "null"
            }
        }
    }

    /// Positions of a sink's records, in the order in which they were taken.
    func positions(_ sink: String) -> [Int64] {
        state.withLock { ($0.records[SinkName(sink)] ?? []).map(\.position.number) }
    }

    func open() throws(PublishFailure) -> [SinkName: Progress] {
        try state.withLock { (state) throws(PublishFailure) in
            state.opens += 1
            if let trouble = state.trouble { throw trouble }
            return remembers ? state.progress : [:]
        }
    }

    func publish(_ run: Run) throws(PublishFailure) {
        _ = state.wait { $0.isHeld ? nil : true }
        try state.withLock { (state) throws(PublishFailure) in
            state.runs += 1
            if let trouble = state.trouble { throw trouble }
            if let (sink, failure) = state.refusing, run.parts.contains(where: { $0.sink == sink })
            {
                throw failure
            }
            for part in run.parts {
                let poison = state.poison[part.sink] ?? []
                guard part.messages.contains(where: { poison.contains($0.position.number) }) else {
                    continue
                }
                throw PublishFailure(
                    kind: .refusedRecord(part.sink), code: "MSG_SIZE_TOO_LARGE",
                    reason: "too large")
            }
            let fate = state.fates.isEmpty ? nil : state.fates.removeFirst()
            if case .fail(let failure) = fate { throw failure }
            take(run, &state)
            if case .lose(let failure) = fate { throw failure }
        }
    }

    private func take(_ run: Run, _ state: inout State) {
        for part in run.parts {
            state.before[part.sink] = (
                state.records[part.sink]?.count ?? 0, state.progress[part.sink]
            )
            state.records[part.sink, default: []] += part.messages
            guard !part.isFilling else { continue }
            state.progress[part.sink] = Progress(
                journal: journal.id, position: part.place, eventID: part.eventID, epoch: 0,
                instance: "this")
        }
    }

    /// Forgets of each sink the last run to it, which it has acknowledged, and asks to be opened
    /// anew.
    func forget() {
        state.withLock { state in
            for (sink, (count, progress)) in state.before {
                state.records[sink]?.removeSubrange(count...)
                state.progress[sink] = progress
            }
            state.before = [:]
            state.fates = [
                .fail(PublishFailure(kind: .reopen, code: "lost", reason: "the broker was killed"))
            ]
        }
    }

    func heldKeys(
        of sink: SinkName, isOurs: (String) -> Bool
    ) throws(PublishFailure) -> Set<String> {
        let (records, whileFilling) = state.withLock { ($0.records[sink] ?? [], $0.whileFilling) }
        whileFilling?()
        let last = Dictionary(records.map { ($0.key, $0.value) }) { _, later in later }
        return Set(last.filter { $0.value != nil && isOurs($0.key) }.keys)
    }

    func states(
        of sink: SinkName, _ body: (HeldState) throws(PublishFailure) -> Void
    ) throws(PublishFailure) {
        let (records, trouble) = state.withLock { ($0.records[sink] ?? [], $0.trouble) }
        for record in records {
            try body(
                HeldState(
                    key: record.key, value: record.value, partition: 0,
                    writtenAt: record.position.number))
        }
        // It goes away in the midst of it.
        if let trouble { throw trouble }
    }

    func isEmpty(_ sink: SinkName) throws(PublishFailure) -> Bool {
        state.withLock { $0.empty.remove(sink) != nil }
    }

    func probe() throws(PublishFailure) {
        try state.withLock { (state) throws(PublishFailure) in
            state.probes += 1
            if let trouble = state.trouble { throw trouble }
        }
    }

    func close(within limit: Duration) {
        state.signal { state in
            state.closes += 1
            state.isHeld = false
        }
    }
}
