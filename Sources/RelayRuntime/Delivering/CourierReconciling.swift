internal import ConnectionEvents
internal import RelayCore
internal import Threading

// Where the sinks of a courier go on once their broker has told what it remembers.

extension Courier {
    /// What came of comparing a broker's memory with the journal.
    struct Reconciled {
        var places: [SinkName: JournalPosition] = [:]
        /// Places that the broker must be told before anything else.
        var claims: [Run.Part] = []
        /// The oldest entry that is still there.
        var tail: JournalPosition
    }

    /// Where each sink goes on (the table of DESIGN 4).
    ///
    /// A sink that is new to the journal has its place at the head, which progress of before its
    /// removal is not beyond; what is published from then on is, and counts when it is opened anew.
    ///
    /// - Throws: `misconfigured` where what the broker remembers does not fit the journal; what it
    ///   is stands in `status`.
    func reconcile(
        _ progress: [SinkName: Progress], lanes: [Delivery.Lane], head: JournalPosition
    ) throws(PublishFailure) -> Reconciled {
        var result: Reconciled
        var decisions: [SinkName: Reconciliation] = [:]
        do throws(JournalFailure) {
            let isEmpty = head == .start ? try journal.heads().isEmpty : false
            let answered = try journal.answered()
            let toldLast = try journal.told()
            let unheard = try journal.unheard()
            // What this process was told is newer than what it has saved of that.
            let toldNow = status.withLock { $0.told }
            result = Reconciled(tail: try journal.tail())
            for lane in lanes {
                let sink = lane.plan.name
                let told = progress[sink]
                let certain = min(head, unheard[sink] ?? head)
                var known = Reconciliation.Known(
                    journal: journal.id, head: certain, tail: result.tail, isEmpty: isEmpty,
                    place: lane.place, start: start(of: lane),
                    told: toldNow[sink] ?? toldLast[sink], answered: answered[sink])
                if let told { known.eventThere = try journal.eventID(at: told.position) }
                let decision = Reconciliation.decide(progress: told, known: known)
                decisions[sink] = decision
                switch decision {
                case .resume(let place): result.places[sink] = place
                case .claim(let place):
                    result.places[sink] = place
                    // A state sink is filled first, and tells its place then.
                    if lane.plan.role == .state, known.start != nil {
                        status.withLock { _ = $0.fresh.insert(sink) }
                        continue
                    }
                    result.claims.append(try claim(of: sink, place))
                case .restored, .lost, .foreign: break
                }
            }
            if progress.isEmpty, route.remembersPlaces {
                // Nobody has published under this name: who does is said before a state topic is
                // filled, or two that begin together would fill it by turns, in two epochs.
                for lane in lanes where lane.plan.role != .state {
                    guard let place = result.places[lane.plan.name] else { continue }
                    result.claims.append(try claim(of: lane.plan.name, place))
                }
            }
        } catch {
            throw PublishFailure(kind: .unavailable, code: error.code, reason: error.reason)
        }
        if let misfit = Misfit(decisions, progress: progress) {
            status.withLock { $0.misfit = misfit }
            throw failure(misfit)
        }
        return result
    }

    /// What tells the broker a sink's place, and nothing else.
    private func claim(
        of sink: SinkName, _ place: JournalPosition
    ) throws(JournalFailure) -> Run.Part {
        Run.Part(
            sink: sink, messages: [], place: place, eventID: try journal.eventID(at: place))
    }

    /// Where a sink began that is new to the journal; the same however often this is asked.
    private func start(of lane: Delivery.Lane) -> JournalPosition? {
        status.withLock { status in
            let sink = lane.plan.name
            if status.fresh.contains(sink), status.starts[sink] == nil {
                status.starts[sink] = lane.place
            }
            return status.starts[sink]
        }
    }

    /// Nothing is published before it is durable that all sinks' brokers have told, and fit.
    func noteHeard() throws(PublishFailure) {
        guard route.isRemote else { return }
        do throws(JournalFailure) {
            try journal.heard(Set(route.sinks.map(\.name)))
        } catch {
            throw PublishFailure(kind: .unavailable, code: error.code, reason: error.reason)
        }
    }

    /// Publishes, and takes note of the places that the other side has thereby been told.
    func tell(_ run: Run) throws(PublishFailure) {
        try route.publisher.publish(run)
        status.withLock { status in
            for part in run.parts where !part.isFilling { status.told[part.sink] = part.place }
        }
    }

    private func failure(_ misfit: Misfit) -> PublishFailure {
        let told = misfit.progress[misfit.sink]
        let place = "\(misfit.sink) up to position \(told.map { "\($0.position)" } ?? "?")"
        let who = told?.journal.text ?? "?"
        let reason: String
        switch misfit.cause {
        case .lost:
            reason =
                "topic \(name).progress says that journal \(who) has published to \(place), and"
                + " this one (\(journal.id)) is empty: the journal was lost"
        case .restored:
            reason =
                "topic \(name).progress says that this journal (\(journal.id)) has published to"
                + " \(place), but its history ends before that or is another: an older copy of it"
                + " was put back"
        case .foreign:
            reason =
                "topic \(name).progress says that another journal (\(who)) has published to"
                + " \(place); this one is \(journal.id), and is not empty. If another relay runs"
                + " as \(name), leave it or stop it; if the right journal file is elsewhere, put it"
                + " back; else `trax-relay run --take-over` lets this journal take its place:"
                + " every account then gets a new epoch"
        }
        return PublishFailure(kind: .misconfigured, code: "progress_misfit", reason: reason)
    }
}
