internal import ConnectionEvents
internal import JSON
internal import RelayCore
internal import Threading

// Filling state sinks: a compacted topic that is new, or new to this cluster, first gets all that
// is believed, and loses what it holds of our accounts beyond that.

extension Courier {
    /// Records of one run of a filling.
    static let fillingLimit = 500
    /// How long a sink that could not be filled is left alone.
    static let fillingPause: Duration = .seconds(5)
    /// How often a run of a filling is tried before the filling is.
    static let fillingAttempts = 5

    /// Fills the next state sink that waits for it, if one does; nil when none was filled.
    ///
    /// A sink that cannot be filled waits with a back-off, and the others go on without it.
    func fillNext(
        _ filling: inout Filling, _ delivery: inout Delivery, now: Instant
    ) -> SinkName? {
        guard let sink = filling.next(now: now) else { return nil }
        do throws(PublishFailure) {
            if filling.isDoubted(sink), try !route.publisher.isEmpty(sink) {
                filling.filled(sink)
                return nil
            }
            let (place, already) = try fill(sink)
            filling.filled(sink, already)
            delivery.filled(sink, at: place)
            status.withLock { _ = $0.fresh.remove(sink) }
            return sink
        } catch {
            // A refusal holds this sink; whatever else it is, it is of the publisher as a whole.
            let failure = PublishFailure(
                kind: error.kind, code: error.code, reason: "filling \(sink): \(error.reason)")
            note(failure)
            count(failure, sinks: [sink])
            filling.postpone(sink, failure, until: clock.now + Self.fillingPause)
            delivery.failed(failure, sinks: [sink], entries: 0, now: clock.now)
            return nil
        }
    }

    /// Sends a state sink everything that is believed, and takes back what it holds beyond that.
    ///
    /// Accounts of the register without a belief lose what the topic holds of them: their baseline
    /// is to come.
    ///
    /// - Returns: the place at which the sink goes on, and what it has of the entries after it.
    private func fill(
        _ sink: SinkName
    ) throws(PublishFailure) -> (place: JournalPosition, already: FilledAlready) {
        let heads = try PublishFailure.journaling { () throws(JournalFailure) in
            try journal.heads()
        }
        // After the heads: a belief that is still as it was there has no entry beyond this.
        let head = head.withLock { $0 }
        var already = FilledAlready()
        let accounts = heads.keys.sorted()
        let ours = status.withLock { $0.accounts }.union(accounts)
        guard !ours.isEmpty else { return (head, already) }
        var stale = try route.publisher.heldKeys(of: sink) { key in
            StateRecord.split(key: key).map { ours.contains($0.0) } ?? false
        }
        var messages: [OutboundMessage] = []
        for account in accounts {
            let belief = try PublishFailure.journaling { () throws(JournalFailure) in
                try journal.belief(of: account)
            }
            guard let belief else { continue }
            if let before = heads[account] {
                already.note(belief.head, of: account, before: before)
            }
            for (id, row) in belief.rows.sorted(by: { $0.key < $1.key }) {
                let key = StateRecord.key(account, id)
                let record = row.stateRecord(of: account, epoch: belief.head.epoch)
                stale.remove(key)
                messages.append(
                    OutboundMessage(position: head, key: key, value: record.json.serialized()))
            }
            try send(&messages, to: sink, head: head, least: Self.fillingLimit)
        }
        already.until = try PublishFailure.journaling { () throws(JournalFailure) in
            try journal.head()
        }
        messages += stale.sorted().map { OutboundMessage(position: head, key: $0, value: nil) }
        try send(&messages, to: sink, head: head, least: 1)
        let last = Run.Part(sink: sink, messages: [], place: head, eventID: try eventID(at: head))
        try tell(Run(parts: [last]))
        log.note(.info, "sink.filled", "state sink filled from beliefs", ["sink": sink.text])
        return (head, already)
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
            try deliver(messages[start..<end], to: sink, head: head)
        }
        messages = []
    }

    /// Publishes records of a filling; one that is refused alone, twice, is parked.
    private func deliver(
        _ messages: ArraySlice<OutboundMessage>, to sink: SinkName, head: JournalPosition
    ) throws(PublishFailure) {
        var refusals = 0
        var attempts = 0
        while true {
            let failure: PublishFailure
            do throws(PublishFailure) {
                let part = Run.Part(
                    sink: sink, messages: Array(messages), place: head, eventID: nil,
                    isFilling: true)
                return try route.publisher.publish(Run(parts: [part]))
            } catch { failure = error }
            attempts += 1
            switch failure.kind {
            case .refusedRecord where messages.count > 1:
                let middle = messages.startIndex + messages.count / 2
                try deliver(messages[..<middle], to: sink, head: head)
                return try deliver(messages[middle...], to: sink, head: head)
            case .refusedRecord:
                refusals += 1
                guard refusals >= Delivery.refusalLimit, let message = messages.first else {
                    continue
                }
                return try parkFilling(message, of: sink, failure)
            case .again where attempts < Self.fillingAttempts:
                // The transaction after one that was refused may fail without a fault of its own.
                continue
            case .again, .reopen, .refusedSink, .unavailable, .misconfigured, .takenOver, .gone:
                throw failure
            }
        }
    }

    private func eventID(at position: JournalPosition) throws(PublishFailure) -> EventID? {
        try PublishFailure.journaling { () throws(JournalFailure) in
            try journal.eventID(at: position)
        }
    }
}

/// Which state sinks wait to be filled.
struct Filling {
    private struct Wait {
        /// Not before; nil: now.
        var until: Instant?
        /// Only if nothing was ever written to it.
        var isDoubted: Bool
    }

    private var waiting: [SinkName: Wait] = [:]
    /// What sinks were told when they were filled, until they have come so far.
    var already: [SinkName: FilledAlready] = [:]
    private var failures: [SinkName: PublishFailure] = [:]

    /// After opening: sinks that the other side remembers nothing of, that are new to the journal,
    /// or that lack entries which were pruned; and those whose topic turns out to be empty, since
    /// it was made anew meanwhile.
    mutating func begin(
        _ lanes: [Delivery.Lane], progress: [SinkName: Progress], fresh: Set<SinkName>,
        tail: JournalPosition
    ) {
        for lane in lanes where lane.plan.role == .state {
            let name = lane.plan.name
            let isNew =
                progress[name] == nil || fresh.contains(name)
                || lane.place.number + 1 < tail.number
            waiting[name] = Wait(
                until: nil, isDoubted: !isNew && waiting[name]?.isDoubted ?? true)
        }
    }

    /// A state sink has refused: its topic may have been deleted, and be made anew.
    mutating func doubt(_ sink: SinkName, until: Instant) {
        if waiting[sink] == nil { waiting[sink] = Wait(until: until, isDoubted: true) }
    }

    /// Whether a sink is filled only if nothing was ever written to it.
    func isDoubted(_ sink: SinkName) -> Bool { waiting[sink]?.isDoubted ?? false }

    /// The next one that may be filled now.
    func next(now: Instant) -> SinkName? {
        waiting.keys.sorted().first { sink in
            waiting[sink]?.until.map { $0 <= now } ?? true
        }
    }

    /// Why one of these sinks takes no entries yet; nil when all of them may.
    func first(of sinks: [SinkName]) -> PublishFailure? {
        guard let sink = sinks.first(where: { waiting.keys.contains($0) }) else { return nil }
        let failure = failures[sink]
        return PublishFailure(
            kind: .refusedSink(sink), code: failure?.code ?? "filling",
            reason: failure?.reason ?? "\(sink) is being filled")
    }

    mutating func filled(_ sink: SinkName, _ already: FilledAlready? = nil) {
        waiting.removeValue(forKey: sink)
        failures[sink] = nil
        if let already, !already.accounts.isEmpty { self.already[sink] = already }
    }

    mutating func postpone(_ sink: SinkName, _ failure: PublishFailure, until: Instant) {
        waiting[sink]?.until = until
        failures[sink] = failure
    }
}
