internal import ConnectionEvents
public import RelayCore
internal import Threading

/// A publisher and the sinks that it serves.
public struct Route: Sendable {
    /// Takes the records.
    public var publisher: any Publisher
    /// The sinks, in the pipeline's order.
    public var sinks: [SinkPlan]
    /// `kafka`, `state` or `log` for each: a metric label.
    public var sorts: [SinkName: String]
    /// Whether the other side remembers the places itself (exactly-once), so that the journal's may
    /// lag.
    public var remembersPlaces: Bool

    /// Whether it leads to a broker, which may be away and may remember another journal.
    public var isRemote: Bool { sorts.values.contains { $0 != "log" } }

    /// A route, field by field.
    public init(
        publisher: any Publisher, sinks: [SinkPlan], sorts: [SinkName: String],
        remembersPlaces: Bool
    ) {
        self.publisher = publisher
        self.sinks = sinks
        self.sorts = sorts
        self.remembersPlaces = remembersPlaces
    }
}

/// Carries entries from the journal to one publisher, on a thread of its own.
///
/// It does what the core's ``RelayCore/Delivery`` says and tells it what came of it.
final class Courier: Sendable {
    /// How often places are written to the journal where the other side remembers them as well.
    static let placeAge: Duration = .seconds(1)

    let route: Route
    let journal: any Journal
    let clock: RelayClock
    let log: RelayLog
    let head: Lock<JournalPosition>
    /// Keeps what a sink does not take; nil: nothing is parked, and such a sink waits.
    let parking: (any ParkingDesk)?
    /// Where the journal's head was when nothing of this life was written yet.
    let firstHead: JournalPosition
    /// The pipeline's name.
    let name: String
    /// How the sinks stand.
    let published: Lock<[SinkFigures]>
    /// Whether it has opened once, and what stopped it for good.
    let status: Lock<Status> = Lock(Status())

    struct Status {
        var hasOpened = false
        /// Whether it has opened or failed to once.
        var hasTried = false
        var isStopping = false
        var stopped: PublishFailure?
        /// Why the journal cannot go on as it is.
        var misfit: Misfit?
        /// Sinks that are new to this journal: what the other side remembers of them is of before.
        var fresh: Set<SinkName> = []
        /// Where those of them began that were new at the start.
        var starts: [SinkName: JournalPosition] = [:]
        /// The places that the other side was told last, since the start.
        var told: [SinkName: JournalPosition] = [:]
        /// The accounts of the register, whose keys a state sink may hold.
        var accounts: Set<AccountID> = []
    }

    init(
        name: String, route: Route, journal: any Journal, clock: RelayClock, log: RelayLog,
        head: Lock<JournalPosition>, parking: (any ParkingDesk)? = nil
    ) {
        self.name = name
        self.route = route
        self.journal = journal
        self.clock = clock
        self.log = log
        self.head = head
        self.parking = parking
        firstHead = head.withLock { $0 }
        published = Lock(
            route.sinks.map { SinkFigures(name: $0.name, sort: route.sorts[$0.name] ?? "kafka") })
    }

    /// Asks the thread to end when everything is delivered, or at once.
    func stop() {
        status.signal { $0.isStopping = true }
        head.signal { _ in }
    }

    /// What a courier carries from one step to the next.
    struct Load {
        var delivery: Delivery
        /// State sinks that are yet to be filled.
        var filling = Filling()
        /// Sinks whose place has moved and is not yet in the journal.
        var unsaved: Set<SinkName> = []
        var savedAt: Instant
        /// What is known of parked records.
        var parking = ParkingLoad()
    }

    /// What is to be done after a step.
    enum Next {
        /// The next step, at once.
        case step
        /// Wait until then, or until the journal's head is beyond that one.
        case wait(until: Instant?, beyond: JournalPosition)
        /// Nothing any more.
        case over
    }

    /// Carries until stopped; the calling thread blocks.
    func run() {
        guard var load = begin() else { return }
        while !status.withLock({ $0.isStopping }) {
            switch step(&load) {
            case .step: continue
            case .wait(let until, let head): wait(&load, until: until, beyond: head)
            case .over: return
            }
        }
        save(&load)
        route.publisher.close(within: .seconds(3))
    }

    /// Finds the sinks' places; nil where the journal cannot be read.
    func begin() -> Load? {
        let places: [SinkName: JournalPosition]
        do {
            places = try journal.places()
        } catch {
            fail(PublishFailure(kind: .misconfigured, code: error.code, reason: error.reason))
            return nil
        }
        let start = head.withLock { $0 }
        let delivery = Delivery(
            sinks: route.sinks.map { ($0, places[$0.name] ?? start) }, now: clock.now)
        report(delivery)
        return Load(delivery: delivery, savedAt: clock.now)
    }

    /// Does the one thing that is to be done next.
    func step(_ load: inout Load) -> Next {
        let now = clock.now
        if !load.unsaved.isEmpty, now - load.savedAt >= Self.placeAge {
            save(&load)
            load.savedAt = now
        }
        if load.delivery.isOpen,
            let filled = fillNext(&load.filling, &load.delivery, now: now)
        {
            load.unsaved.insert(filled)
            save(&load)
        }
        lookAtParked(&load, now: now)
        if load.delivery.isOpen { replayNext(&load, now: now) }
        let head = head.withLock { $0 }
        switch load.delivery.next(now: now, head: head) {
        case .open:
            open(&load.delivery, &load.filling)
        case .publish(let after, let limit, let sinks):
            if let waiting = load.filling.first(of: sinks) {
                load.delivery.failed(waiting, sinks: sinks, entries: 0, now: now)
                break
            }
            publish(&load, after: after, limit: limit, sinks: sinks)
            load.unsaved.formUnion(sinks)
            if !route.remembersPlaces { save(&load) }
        case .park(let after, let sink):
            park(&load, sink, after: after)
        case .wait(let until):
            return .wait(until: until, beyond: head)
        case .stop(let failure):
            save(&load)
            fail(failure)
            return .over
        }
        report(load.delivery)
        return .step
    }

    private func open(_ delivery: inout Delivery, _ filling: inout Filling) {
        let began = clock.now
        do throws(PublishFailure) {
            let progress = try route.publisher.open()
            // What was written meanwhile cannot have been published: nothing was, before.
            let head = status.withLock { $0.hasOpened } ? head.withLock { $0 } : firstHead
            let found = try reconcile(progress, lanes: delivery.lanes, head: head)
            try noteHeard()
            if !found.claims.isEmpty { try tell(Run(parts: found.claims)) }
            delivery.opened(places: found.places)
            filling.begin(
                delivery.lanes, progress: progress, fresh: status.withLock { $0.fresh },
                tail: found.tail)
            notePruned(delivery.lanes, tail: found.tail)
            status.signal { status in
                status.hasOpened = true
                status.hasTried = true
            }
        } catch {
            status.signal { $0.hasTried = true }
            note(error)
            delivery.failed(error, sinks: [], entries: 0, now: clock.now, since: began)
        }
    }

    private func publish(
        _ load: inout Load, after: JournalPosition, limit: Int, sinks: [SinkName]
    ) {
        var size = 0
        let began = clock.now
        do throws(PublishFailure) {
            let entries = try read(after: after, limit: limit)
            guard !entries.isEmpty else {
                throw PublishFailure(
                    kind: .again, code: "journal_gap",
                    reason: "the journal has no entry after position \(after), and its head is"
                        + " beyond")
            }
            size = entries.count
            var run = load.delivery.run(of: entries, to: sinks)
            load.filling.leaveOut(of: &run, entries)
            if run.parts.contains(where: { !$0.messages.isEmpty }) {
                try tell(run)
            }
            load.delivery.published(run)
            noteDelivered(run, entries: entries)
        } catch {
            note(error)
            count(error, sinks: sinks)
            let now = clock.now
            load.delivery.failed(error, sinks: sinks, entries: size, now: now, took: now - began)
            if case .refusedSink(let sink) = error.kind,
                route.sinks.contains(where: { $0.name == sink && $0.role == .state })
            {
                load.filling.doubt(sink, until: now + Self.fillingPause)
            }
        }
    }

    private func read(
        after place: JournalPosition, limit: Int
    ) throws(PublishFailure) -> [JournalEntry] {
        do {
            return try journal.entries(after: place, limit: limit, bytes: Delivery.runBytes)
        } catch {
            // What is damaged stays so, and is not to be published.
            let kind: PublishFailure.Kind = error.kind == .unusable ? .misconfigured : .again
            throw PublishFailure(kind: kind, code: error.code, reason: error.reason)
        }
    }

    /// Waits until then, or until the journal's head is beyond the one that was looked at.
    private func wait(_ load: inout Load, until: Instant?, beyond known: JournalPosition) {
        let most: Duration = parking == nil ? .seconds(1) : Self.lookAge
        let patience = until.map { min(most, max(.zero, $0 - clock.now)) } ?? most
        let woken = head.wait(timeout: patience) { [status] head -> Bool? in
            head > known || status.withLock { $0.isStopping } ? true : nil
        }
        if woken == nil { probe(&load) }
    }

    /// Looks whether the other side is still there, where there was nothing to publish.
    func probe(_ load: inout Load) {
        defer { report(load.delivery) }
        guard load.delivery.isOpen else { return }
        do {
            try route.publisher.probe()
            load.delivery.reached()
        } catch {
            note(error)
            load.delivery.failed(error, sinks: [], entries: 0, now: clock.now)
        }
    }

    private func save(_ load: inout Load) {
        var places: [SinkName: JournalPosition?] = [:]
        for lane in load.delivery.lanes where load.unsaved.contains(lane.plan.name) {
            places.updateValue(lane.place, forKey: lane.plan.name)
        }
        guard !places.isEmpty else { return }
        do {
            try journal.setPlaces(places, told: status.withLock { $0.told })
            load.unsaved = []
        } catch {
            log.note(
                .warning, "places", "the places of sinks could not be written: \(error.reason)",
                ["code": error.code])
        }
    }

    private func fail(_ failure: PublishFailure) {
        route.publisher.close(within: .seconds(3))
        status.signal { $0.stopped = failure }
    }
}
