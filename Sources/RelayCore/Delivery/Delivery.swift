internal import ConnectionEvents

/// Takes the journal's entries to the sinks of one publisher, in order, until they are acknowledged.
///
/// A machine: `next` says what to do, and what came of it is told by `opened`, `published` and
/// `failed`. A sink's place moves only with an acknowledgement, so a crash anywhere repeats an
/// attempt and loses nothing. Sinks at the same place share a run; a sink in trouble goes alone, and
/// the others go on without it.
public struct Delivery: Sendable {
    /// One sink's way.
    public struct Lane: Hashable, Sendable {
        /// The sink.
        public internal(set) var plan: SinkPlan
        /// Everything up to here is acknowledged.
        public internal(set) var place: JournalPosition
        /// When it may be tried again; nil: now.
        public internal(set) var blockedUntil: Instant?
        /// Since when it fails; nil: it does not.
        public internal(set) var failingSince: Instant?
        /// Why it failed last; nil: it does not.
        public internal(set) var failure: PublishFailure?
        /// How many entries its next run may have.
        public internal(set) var limit: Int
        /// Failures in a row, for the back-off.
        var failures = 0
    }

    /// What to do next.
    public enum Step: Hashable, Sendable {
        /// Open the publisher, then `opened` or `failed`.
        case open
        /// Read that many entries after a place, and publish them to these sinks.
        case publish(after: JournalPosition, limit: Int, sinks: [SinkName])
        /// Wait until then, or until the journal grows.
        case wait(until: Instant?)
        /// Nothing helps but an operator.
        case stop(PublishFailure)
    }

    /// The most entries of a run.
    public static let runLimit = 500
    /// About the most bytes of a run.
    public static let runBytes = 1 << 20

    /// The sinks' ways, in the pipeline's order.
    public private(set) var lanes: [Lane]
    private enum State: Hashable {
        /// Not open; may be opened at that instant.
        case closed(at: Instant)
        /// Open.
        case open
        /// Over for good.
        case stopped(PublishFailure)
    }
    private var state: State
    private var openFailures = 0
    private var turn = 0

    /// A delivery that begins closed, each sink at its place in the journal.
    public init(sinks: [(plan: SinkPlan, place: JournalPosition)], now: Instant) {
        lanes = sinks.map { Lane(plan: $0.plan, place: $0.place, limit: Self.runLimit) }
        state = .closed(at: now)
    }

    /// Whether it is open.
    public var isOpen: Bool { state == .open }

    /// The position up to which every sink has everything.
    public var slowestPlace: JournalPosition? { lanes.map(\.place).min() }

    /// What to do next, with the journal's head where it is.
    public mutating func next(now: Instant, head: JournalPosition) -> Step {
        switch state {
        case .stopped(let failure): return .stop(failure)
        case .closed(let at): return at <= now ? .open : .wait(until: at)
        case .open: break
        }
        let waiting = lanes.filter { $0.place < head }
        let ready = waiting.filter { $0.blockedUntil.map { $0 <= now } ?? true }
        guard !ready.isEmpty else {
            return .wait(until: waiting.compactMap(\.blockedUntil).min())
        }
        // Healthy sinks that stand together go together; one that fails goes alone. Groups take turns.
        var groups: [[Lane]] = []
        for lane in ready {
            let mate = groups.firstIndex {
                lane.failures == 0 && $0[0].failures == 0 && $0[0].place == lane.place
            }
            if let mate { groups[mate].append(lane) } else { groups.append([lane]) }
        }
        turn += 1
        let group = groups[turn % groups.count]
        return .publish(
            after: group[0].place, limit: group.map(\.limit).min() ?? Self.runLimit,
            sinks: group.map(\.plan.name))
    }

    /// What the entries read for a step mean for its sinks.
    public func run(of entries: [JournalEntry], to sinks: [SinkName]) -> Run {
        guard let last = entries.last else { return Run(parts: []) }
        return Run(
            parts: lanes.filter { sinks.contains($0.plan.name) }.map { lane in
                Run.Part(
                    sink: lane.plan.name,
                    messages: entries.compactMap { lane.plan.message(of: $0) },
                    place: last.position, eventID: last.event?.id)
            })
    }

    /// The publisher is open, and each sink's place is settled.
    public mutating func opened(places: [SinkName: JournalPosition]) {
        state = .open
        openFailures = 0
        for index in lanes.indices {
            lanes[index].failures = 0
            lanes[index].blockedUntil = nil
            lanes[index].failingSince = nil
            lanes[index].failure = nil
            if let place = places[lanes[index].plan.name] { lanes[index].place = place }
        }
    }

    /// The other side was reached while there was nothing to publish.
    public mutating func reached() {
        for index in lanes.indices where lanes[index].blockedUntil == nil {
            lanes[index].failures = 0
            lanes[index].failingSince = nil
            lanes[index].failure = nil
        }
    }

    /// A run is acknowledged.
    public mutating func published(_ run: Run) {
        for part in run.parts {
            guard let index = lanes.firstIndex(where: { $0.plan.name == part.sink }) else {
                continue
            }
            lanes[index].place = part.place
            lanes[index].failures = 0
            lanes[index].blockedUntil = nil
            lanes[index].failingSince = nil
            lanes[index].failure = nil
            lanes[index].limit = min(Self.runLimit, lanes[index].limit * 2)
        }
    }

    /// Opening failed, or a run of that many entries to these sinks did.
    public mutating func failed(
        _ failure: PublishFailure, sinks: [SinkName], entries: Int, now: Instant
    ) {
        switch failure.kind {
        case .misconfigured, .takenOver:
            state = .stopped(failure)
            for lane in lanes { fail(lane.plan.name, failure, now: now) }
        case .reopen, .unavailable:
            for lane in lanes { fail(lane.plan.name, failure, now: now) }
            state = .closed(at: now + Self.backOff(openFailures))
            openFailures += 1
        case .again:
            for sink in sinks {
                fail(sink, failure, now: now)
                block(sink, now: now)
            }
        case .refusedSink(let sink):
            fail(sink, failure, now: now)
            block(sink, now: now)
        case .refusedRecord(let sink):
            fail(sink, failure, now: now)
            guard let index = lanes.firstIndex(where: { $0.plan.name == sink }) else { return }
            if entries > 1 {
                lanes[index].limit = max(1, entries / 2)
            } else {
                block(sink, now: now)
            }
        }
    }

    private mutating func fail(_ sink: SinkName, _ failure: PublishFailure, now: Instant) {
        guard let index = lanes.firstIndex(where: { $0.plan.name == sink }) else { return }
        lanes[index].failure = failure
        lanes[index].failures += 1
        lanes[index].failingSince = lanes[index].failingSince ?? now
    }

    private mutating func block(_ sink: SinkName, now: Instant) {
        guard let index = lanes.firstIndex(where: { $0.plan.name == sink }) else { return }
        lanes[index].blockedUntil = now + Self.backOff(lanes[index].failures - 1)
    }

    /// 100 ms, doubling to 5 s.
    private static func backOff(_ failures: Int) -> Duration {
        .milliseconds(min(5000, 100 << min(max(failures, 0), 6)))
    }
}
