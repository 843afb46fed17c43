internal import ConnectionEvents
internal import RelayCore
internal import Threading

// What a courier tells: figures, log lines, and where its sinks go on.

extension Courier {
    /// Where each sink goes on (the table of DESIGN 4).
    ///
    /// A sink that is new to the journal has its place at the head, which progress of before its
    /// removal is not beyond; what is published from then on is, and counts when it is opened anew.
    ///
    /// - Throws: `misconfigured` with the remedy where what the broker remembers does not fit the
    ///   journal.
    static func reconcile(
        _ progress: [SinkName: Progress], lanes: [Delivery.Lane], journal: any Journal,
        head: JournalPosition, name: String
    ) throws(PublishFailure) -> [SinkName: JournalPosition] {
        var places: [SinkName: JournalPosition] = [:]
        do {
            let isEmpty = try head == .start && journal.heads().isEmpty
            for lane in lanes {
                let sink = lane.plan.name
                let known = progress[sink]
                var eventThere: EventID?
                if let known { eventThere = try journal.eventID(at: known.position) }
                let decision = Reconciliation.decide(
                    progress: known, journal: journal.id, head: head, place: lane.place,
                    isEmpty: isEmpty, eventThere: eventThere)
                switch decision {
                case .resume(let place): places[sink] = place
                case .restored, .lost, .foreign:
                    throw misfit(
                        decision, sink: sink, progress: known, journal: journal.id, name: name)
                }
            }
        } catch let failure as JournalFailure {
            throw PublishFailure(kind: .unavailable, code: failure.code, reason: failure.reason)
        } catch let failure as PublishFailure {
            throw failure
        } catch {
            throw PublishFailure(kind: .unavailable, code: "unknown", reason: "\(error)")
        }
        return places
    }

    private static func misfit(
        _ decision: Reconciliation, sink: SinkName, progress: Progress?, journal: JournalID,
        name: String
    ) -> PublishFailure {
        let position = progress.map { String($0.position.number) } ?? "?"
        let other = progress?.journal.text ?? "?"
        let what: String
        switch decision {
        case .restored:
            what =
                "topic \(name).progress says that this journal (\(journal)) has published"
                + " to \(sink) up to position \(position), but its history ends before that"
                + " or is another:"
                + " was a backup restored? Put the newest journal file back"
        case .lost, .foreign, .resume:
            what =
                "topic \(name).progress says that another journal (\(other)) has published to"
                + " \(sink) up to position \(position); this one is \(journal). Was the journal"
                + " file lost or exchanged? Put it back"
        }
        return PublishFailure(
            kind: .misconfigured, code: "progress_misfit",
            reason: what
                + ", or give the pipeline another `name`: consumers then see a new epoch for every"
                + " account")
    }

    func report(_ delivery: Delivery) {
        let recovered = published.withLock { figures -> [SinkName] in
            var recovered: [SinkName] = []
            for index in figures.indices {
                guard
                    let lane = delivery.lanes.first(where: { $0.plan.name == figures[index].name })
                else { continue }
                figures[index].place = lane.place
                if figures[index].failingSince != nil, lane.failingSince == nil {
                    recovered.append(lane.plan.name)
                }
                figures[index].failingSince = lane.failingSince
                figures[index].failure = lane.failure
            }
            return recovered
        }
        for sink in recovered {
            log.note(.info, "sink.recovered", "sink takes records again", ["sink": sink.text])
        }
    }

    func noteDelivered(_ run: Run, entries: [JournalEntry]) {
        let wall = clock.wall
        let decided = Dictionary(
            entries.compactMap { entry in entry.event.map { (entry.position, $0.decidedAt) } },
            uniquingKeysWith: { first, _ in first })
        published.withLock { figures in
            for part in run.parts {
                guard let index = figures.firstIndex(where: { $0.name == part.sink }) else {
                    continue
                }
                figures[index].records += part.messages.count
                for message in part.messages {
                    guard let at = decided[message.position] else { continue }
                    figures[index].delay.add(wall.since(at))
                }
            }
        }
    }

    func note(_ failure: PublishFailure) {
        log.note(
            .warning, "sink.\(failure.code)", "delivery failed: \(failure.reason)",
            ["code": failure.code])
    }

    func count(_ failure: PublishFailure, sinks: [SinkName]) {
        var sinks = sinks
        switch failure.kind {
        case .refusedSink(let sink), .refusedRecord(let sink): sinks = [sink]
        case .again, .reopen, .unavailable, .misconfigured, .takenOver: break
        }
        published.withLock { figures in
            for index in figures.indices where sinks.contains(figures[index].name) {
                figures[index].failures[failure.code, default: 0] += 1
            }
        }
    }
}
