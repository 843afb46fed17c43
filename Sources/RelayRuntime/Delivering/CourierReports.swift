internal import ConnectionEvents
internal import RelayCore
internal import Threading

// What a courier tells: figures and log lines.

extension Courier {
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
        case .again, .reopen, .unavailable, .misconfigured, .takenOver, .gone: break
        }
        published.withLock { figures in
            for index in figures.indices where sinks.contains(figures[index].name) {
                figures[index].failures[failure.code, default: 0] += 1
            }
        }
    }
}
