internal import ConnectionEvents
internal import JSON
internal import RelayCore
internal import Threading

// Records that a sink does not take: parking them, and sending them again when an operator says so.

extension Courier {
    /// How often it is looked whether an operator ordered something.
    static let lookAge: Duration = .milliseconds(500)
    /// How long a record that could not be sent again is left alone.
    static let replayPause: Duration = .seconds(2)

    /// Parks the record after a sink's place, which the sink has refused.
    ///
    /// The journal takes the record and the sink's place past it at once. What the broker remembers
    /// stays behind until the next run; after a crash between the two the further place counts.
    func park(_ load: inout Load, _ sink: SinkName, after: JournalPosition) {
        guard let lane = load.delivery.lanes.first(where: { $0.plan.name == sink }) else { return }
        do {
            guard let parking else {
                throw PublishFailure(
                    kind: .again, code: "no_parking",
                    reason: "\(sink) refuses a record, and this journal parks none")
            }
            guard let entry = try journal.entries(after: after, limit: 1, bytes: 1).first,
                let message = lane.plan.message(of: entry)
            else {
                throw PublishFailure(
                    kind: .again, code: "journal_gap",
                    reason: "the record after position \(after) that \(sink) refuses is gone")
            }
            let record = ParkedRecord(
                sink: sink, message: message, account: entry.account,
                event: lane.plan.role == .state ? nil : entry.event,
                code: lane.failure?.code ?? "refused", reason: lane.failure?.reason ?? "refused",
                parkedAt: clock.wall)
            try parking.park(record, place: entry.position)
            load.delivery.parked(sink, at: entry.position)
            load.parking.lookedAt = nil
            alarm(record)
        } catch {
            let failure = Self.failure(error)
            note(failure)
            count(failure, sinks: [sink])
            load.delivery.couldNotPark(sink, failure, now: clock.now)
        }
    }

    /// Parks a record of a filling; the sink's place is the filling's matter.
    func parkFilling(
        _ message: OutboundMessage, of sink: SinkName, _ failure: PublishFailure
    ) throws(PublishFailure) {
        guard let parking, let (account, _) = StateRecord.split(key: message.key) else {
            throw failure
        }
        let record = ParkedRecord(
            sink: sink, message: message, account: account, event: nil, code: failure.code,
            reason: failure.reason, parkedAt: clock.wall)
        do throws(JournalFailure) {
            try parking.park(record, place: nil)
        } catch { throw Self.failure(error) }
        alarm(record)
    }

    /// The alarm.
    func alarm(_ record: ParkedRecord) {
        log.note(
            .error, "sink.parked",
            "record parked: \(record.reason). See 'trax-relay parked list'",
            [
                "sink": record.sink.text, "account": record.account.text, "code": record.code,
                "event": record.event?.id.text ?? "-",
                "position": record.message.position.description,
            ])
    }

    /// Looks what is parked and ordered, where the last look is long enough ago.
    func lookAtParked(_ load: inout Load, now: Instant) {
        guard let parking else { return }
        if let lookedAt = load.parking.lookedAt, now - lookedAt < Self.lookAge { return }
        load.parking.lookedAt = now
        do throws(JournalFailure) {
            guard let sight = try parking.look() else { return }
            let mine = Set(route.sinks.map(\.name))
            load.parking.ordered = sight.ordered.filter {
                mine.contains($0.sink) && !load.parking.sent.contains($0.number)
            }
            published.withLock { figures in
                for index in figures.indices {
                    figures[index].parked = sight.counts[figures[index].name] ?? 0
                }
            }
        } catch {
            log.note(
                .warning, "parked", "parked records could not be looked at: \(error.reason)",
                ["code": error.code])
        }
    }

    /// Sends the oldest record that is ordered, alone and marked.
    ///
    /// What was sent leaves the journal after the broker has it: a crash between the two sends it
    /// once more, with the same id and the same mark.
    func replayNext(_ load: inout Load, now: Instant) {
        guard let parking else { return }
        while let number = load.parking.sent.first, settle(number, parking) {
            load.parking.sent.removeFirst()
        }
        guard let record = load.parking.ordered.first,
            load.parking.pausedUntil.map({ $0 <= now }) ?? true
        else { return }
        do throws(PublishFailure) {
            let part = Run.Part(
                sink: record.sink, messages: [try replay(of: record)],
                place: record.message.position, eventID: nil, isFilling: true)
            try route.publisher.publish(Run(parts: [part]))
        } catch {
            return couldNotReplay(&load, record, error, parking)
        }
        log.note(
            .info, "sink.replayed", "parked record sent again",
            ["sink": record.sink.text, "account": record.account.text])
        load.parking.ordered.removeFirst()
        if !settle(record.number, parking) { load.parking.sent.append(record.number) }
    }

    private func couldNotReplay(
        _ load: inout Load, _ record: ParkedRecord, _ failure: PublishFailure,
        _ parking: any ParkingDesk
    ) {
        note(failure)
        count(failure, sinks: [record.sink])
        switch failure.kind {
        case .refusedRecord:
            load.parking.ordered.removeFirst()
            do throws(JournalFailure) {
                try parking.refused(record.number, failure)
            } catch {
                log.note(
                    .warning, "parked", "a parked record stays ordered: \(error.reason)",
                    ["code": error.code])
            }
        case .again, .refusedSink:
            load.parking.pausedUntil = clock.now + Self.replayPause
        case .reopen, .unavailable, .misconfigured, .takenOver, .gone:
            load.parking.pausedUntil = clock.now + Self.replayPause
            load.delivery.failed(failure, sinks: [], entries: 0, now: clock.now)
        }
    }

    /// Whether the journal knows now that it was sent.
    private func settle(_ number: Int64, _ parking: any ParkingDesk) -> Bool {
        do throws(JournalFailure) {
            try parking.sent(number)
            return true
        } catch {
            log.note(
                .warning, "parked", "a record that was sent is still parked: \(error.reason)",
                ["code": error.code])
            return false
        }
    }

    /// The record as it is sent again: an event as it was, a state record as it is believed now.
    private func replay(of record: ParkedRecord) throws(PublishFailure) -> OutboundMessage {
        var message = record.message
        let isState = route.sinks.contains { $0.name == record.sink && $0.role == .state }
        if isState, let (account, connection) = StateRecord.split(key: message.key) {
            let belief: Belief?
            do throws(JournalFailure) {
                belief = try journal.belief(of: account)
            } catch { throw Self.failure(error) }
            message.value = belief.flatMap { belief in
                belief.rows[connection]?.stateRecord(of: account, epoch: belief.head.epoch)
                    .json.serialized()
            }
        }
        message.headers.append(.init("trax-replay", clock.wall.description))
        return message
    }

    private static func failure(_ error: any Error) -> PublishFailure {
        switch error {
        case let failure as PublishFailure: failure
        case let failure as JournalFailure:
            PublishFailure(kind: .again, code: failure.code, reason: failure.reason)
        default: PublishFailure(kind: .again, code: "unknown", reason: "\(error)")
        }
    }
}

/// What a courier knows of parked records.
struct ParkingLoad {
    /// When it looked last; nil: look now.
    var lookedAt: Instant?
    /// To be sent again, oldest first.
    var ordered: [ParkedRecord] = []
    /// Sent, but still in the journal: at most as many as were ordered while it failed.
    var sent: [Int64] = []
    /// No record is sent again before.
    var pausedUntil: Instant?
}
