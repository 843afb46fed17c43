internal import ConnectionEvents
internal import RelayCore

/// A broker and a pipe, with what they have taken; they outlive the relay's lives.
struct Broker {
    /// What every sink has taken, in order.
    var records: [SinkName: [OutboundMessage]] = [:]
    /// What the broker remembers of each sink's place, written with the records.
    var progress: [SinkName: Progress] = [:]
    /// Troubles under way, by the number of their happening.
    var troubles: [Int: BrokerTrouble] = [:]

    func isTroubled(_ trouble: BrokerTrouble) -> Bool { troubles.values.contains(trouble) }

    /// Takes one of a trouble that lasts so many runs.
    mutating func takes(_ kind: (BrokerTrouble) -> BrokerTrouble??) -> Bool {
        for (id, trouble) in troubles.sorted(by: { $0.key < $1.key }) {
            guard let left = kind(trouble) else { continue }
            troubles[id] = left
            return true
        }
        return false
    }
}

/// A publisher of one life: transactional as Kafka is, or a pipe that takes line by line.
final class SimulatedPublisher: Publisher, @unchecked Sendable {
    // @unchecked: a simulation runs on one thread.
    private unowned let world: World
    private let life: Life
    private let isTransactional: Bool
    private var isOpen = false

    init(_ world: World, life: Life, isTransactional: Bool) {
        self.world = world
        self.life = life
        self.isTransactional = isTransactional
    }

    private static let dead = PublishFailure(
        kind: .unavailable, code: "dead", reason: "the process is dead")
    private static let away = PublishFailure(
        kind: .unavailable, code: "_TRANSPORT", reason: "the broker is away")

    func open() throws(PublishFailure) -> [SinkName: Progress] {
        guard life.pass() == .alive else { throw Self.dead }
        guard isTransactional else {
            isOpen = true
            return [:]
        }
        if world.broker.isTroubled(.away) { throw Self.away }
        isOpen = true
        return world.sabotage.isForgetful ? [:] : world.broker.progress
    }

    func heldKeys(
        of sink: SinkName, isOurs: (String) -> Bool
    ) throws(PublishFailure) -> Set<String> {
        if world.broker.isTroubled(.away) { throw Self.away }
        return Set(world.checks.sinks.states.keys.filter(isOurs))
    }

    func states(
        of sink: SinkName, _ body: (HeldState) throws(PublishFailure) -> Void
    ) throws(PublishFailure) {
        for (key, value) in world.checks.sinks.states.sorted(by: { $0.key < $1.key }) {
            guard life.pass() == .alive else { throw Self.dead }
            if world.broker.isTroubled(.away) { throw Self.away }
            guard world.sabotage.state?(key) ?? true else { continue }
            try body(HeldState(key: key, value: value, partition: 0, writtenAt: 0))
        }
    }

    func publish(_ run: Run) throws(PublishFailure) {
        let passage = life.pass()
        guard passage != .dead else { throw Self.dead }
        world.checks.sinks.offered(run, isOpen: isOpen)
        guard let run = world.sabotage.run.map({ $0(run) }) ?? run else { return }
        if isTransactional { try transact(run) } else { try write(run) }
        guard passage == .alive else { throw Self.dead }
    }

    private func transact(_ run: Run) throws(PublishFailure) {
        if world.broker.isTroubled(.away) {
            isOpen = false
            throw Self.away
        }
        if world.broker.isTroubled(.queueFull) {
            throw PublishFailure(kind: .again, code: "_QUEUE_FULL", reason: "the queue is full")
        }
        let isFenced = world.broker.takes { trouble in
            guard case .fenced(let left) = trouble else { return nil }
            return left > 1 ? .fenced(left - 1) : .some(nil)
        }
        if isFenced {
            isOpen = false
            throw PublishFailure(kind: .reopen, code: "_FENCED", reason: "another handle is open")
        }
        if world.broker.isTroubled(.refusesSink),
            let part = run.parts.first(where: { $0.sink == World.alerts && !$0.messages.isEmpty })
        {
            throw PublishFailure(
                kind: .refusedSink(part.sink), code: "TOPIC_AUTHORIZATION_FAILED", reason: "no")
        }
        if world.broker.isTroubled(.refusesRecords),
            let part = run.parts.first(where: {
                $0.messages.contains { $0.position.number % 7 == 3 }
            })
        {
            throw PublishFailure(
                kind: .refusedRecord(part.sink), code: "MSG_SIZE_TOO_LARGE", reason: "too large")
        }
        take(run)
        let isUnheard = world.broker.takes { trouble in
            guard case .lostAcknowledgements(let left) = trouble else { return nil }
            return left > 1 ? .lostAcknowledgements(left - 1) : .some(nil)
        }
        if isUnheard {
            isOpen = false
            throw PublishFailure(kind: .reopen, code: "_TIMED_OUT", reason: "no answer in time")
        }
    }

    private func take(_ run: Run) {
        for part in run.parts {
            world.broker.records[part.sink, default: []] += part.messages
            if !part.isFilling {
                world.broker.progress[part.sink] = Progress(
                    journal: world.disk.id, position: part.place, eventID: part.eventID,
                    epoch: world.disk.lastEpoch, instance: "life \(life.number)")
            }
            world.checks.sinks.took(part, transaction: true)
        }
    }

    private func write(_ run: Run) throws(PublishFailure) {
        let isBroken = world.broker.takes { trouble in
            guard case .breaksPipe(let left) = trouble else { return nil }
            return left > 1 ? .breaksPipe(left - 1) : .some(nil)
        }
        for part in run.parts {
            var part = part
            if isBroken { part.messages.removeLast(part.messages.count / 2) }
            world.broker.records[part.sink, default: []] += part.messages
            world.checks.sinks.took(part, transaction: false)
        }
        if isBroken {
            isOpen = false
            throw PublishFailure(kind: .unavailable, code: "EPIPE", reason: "nobody reads")
        }
    }

    func probe() throws(PublishFailure) {
        guard life.isAlive else { throw Self.dead }
        if isTransactional, world.broker.isTroubled(.away) {
            isOpen = false
            throw Self.away
        }
    }

    func close(within limit: Duration) { isOpen = false }
}
