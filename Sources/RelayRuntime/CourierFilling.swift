internal import ConnectionEvents
internal import JSON
internal import RelayCore
internal import Threading

// Filling state sinks: a compacted topic that is new, or new to this cluster, first gets all that is
// believed, and loses what it holds of our accounts beyond that.

extension Courier {
    /// Records of one run of a filling.
    static let fillingLimit = 500

    /// Fills the state sinks that the other side remembers nothing of.
    ///
    /// Beliefs are read one by one while the judge goes on writing, so a record may be newer than the
    /// place; the entries after it are delivered again, and the last word is the newest.
    func fillStates(
        _ lanes: [Delivery.Lane], progress: [SinkName: Progress], head: JournalPosition
    ) throws(PublishFailure) -> [SinkName: JournalPosition] {
        let fresh = lanes.filter { $0.plan.role == .state && progress[$0.plan.name] == nil }
        var places: [SinkName: JournalPosition] = [:]
        guard !fresh.isEmpty else { return places }
        let accounts = try reading { () throws(JournalFailure) in
            try journal.heads().keys.sorted()
        }
        guard !accounts.isEmpty else { return places }
        for lane in fresh {
            try fill(lane.plan.name, accounts: accounts, head: head)
            places[lane.plan.name] = head
        }
        return places
    }

    private func fill(
        _ sink: SinkName, accounts: [AccountID], head: JournalPosition
    ) throws(PublishFailure) {
        let ours = Set(accounts)
        var stale = try route.publisher.heldKeys(of: sink) { key in
            StateRecord.split(key: key).map { ours.contains($0.0) } ?? false
        }
        var messages: [OutboundMessage] = []
        for account in accounts {
            let belief = try reading { () throws(JournalFailure) in
                try journal.belief(of: account)
            }
            guard let belief else { continue }
            for (id, row) in belief.rows.sorted(by: { $0.key < $1.key }) {
                let key = StateRecord.key(account, id)
                let record = row.stateRecord(of: account, epoch: belief.head.epoch)
                stale.remove(key)
                messages.append(
                    OutboundMessage(position: head, key: key, value: record.json.serialized()))
            }
            try send(&messages, to: sink, head: head, least: Self.fillingLimit)
        }
        messages += stale.sorted().map { OutboundMessage(position: head, key: $0, value: nil) }
        try send(&messages, to: sink, head: head, least: 1)
        let last = Run.Part(sink: sink, messages: [], place: head, eventID: try eventID(at: head))
        try route.publisher.publish(Run(parts: [last]))
        log.note(.info, "sink.filled", "state sink filled from beliefs", ["sink": sink.text])
    }

    /// Sends what has gathered, if it is enough for a run.
    private func send(
        _ messages: inout [OutboundMessage], to sink: SinkName, head: JournalPosition, least: Int
    ) throws(PublishFailure) {
        guard messages.count >= least else { return }
        guard !status.withLock({ $0.isStopping }) else {
            throw PublishFailure(kind: .again, code: "stopping", reason: "the relay stops")
        }
        for start in stride(from: 0, to: messages.count, by: Self.fillingLimit) {
            let end = min(start + Self.fillingLimit, messages.count)
            try route.publisher.publish(
                Run(parts: [
                    Run.Part(
                        sink: sink, messages: Array(messages[start..<end]), place: head,
                        eventID: nil, isFilling: true)
                ]))
        }
        messages = []
    }

    private func eventID(at position: JournalPosition) throws(PublishFailure) -> EventID? {
        try reading { () throws(JournalFailure) in try journal.eventID(at: position) }
    }

    private func reading<Result>(
        _ body: () throws(JournalFailure) -> Result
    ) throws(PublishFailure) -> Result {
        do throws(JournalFailure) {
            return try body()
        } catch {
            throw PublishFailure(kind: .unavailable, code: error.code, reason: error.reason)
        }
    }
}
