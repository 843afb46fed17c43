internal import ConnectionEvents

/// Takes the journal's entries to the sinks of one publisher, in order, until they are
/// acknowledged.
///
/// A machine: `next` says what to do, and what came of it is told by `opened`, `published` and
/// `failed`. A sink's place moves only with an acknowledgement, so a crash anywhere repeats an
/// attempt and loses nothing. Sinks at the same place share a run; a sink in trouble goes alone,
/// and the others go on without it.
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
        /// Failures of its own in a row, for the back-off.
        var failures = 0
        /// How often the record after its place was refused, alone.
        var refusals = 0
    }

    /// What to do next.
    public enum Step: Hashable, Sendable {
        /// Open the publisher, then `opened` or `failed`.
        case open
        /// Read that many entries after a place, and publish them to these sinks.
        case publish(after: JournalPosition, limit: Int, sinks: [SinkName])
        /// Park the record after a place, which a sink does not take, then `parked` or
        /// `couldNotPark`.
        case park(after: JournalPosition, sink: SinkName)
        /// Wait until then, or until the journal grows.
        case wait(until: Instant?)
        /// Nothing helps but an operator.
        case stop(PublishFailure)
    }

    /// The most entries of a run.
    public static let runLimit = 500
    /// A sink that took nothing is tried again after so long at the latest.
    public static let longestPause = Duration.seconds(15)
    /// About the most bytes of a run.
    public static let runBytes = 1 << 20

    /// The sinks' ways, in the pipeline's order.
    public internal(set) var lanes: [Lane]
    private enum State: Hashable {
        /// Not open; may be opened at that instant.
        case closed(at: Instant)
        /// Open.
        case open
        /// Over for good.
        case stopped(PublishFailure)
    }
    private var state: State
    /// How often the publisher was closed since the other side last took something.
    private var closings = 0
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
        if let lane = refusing(now: now) {
            return .park(after: lane.place, sink: lane.plan.name)
        }
        let waiting = lanes.filter { $0.place < head }
        let ready = waiting.filter { $0.blockedUntil.map { $0 <= now } ?? true }
        guard !ready.isEmpty else {
            return .wait(until: waiting.compactMap(\.blockedUntil).min())
        }
        // Healthy sinks that stand together go together; one that fails goes alone. Groups take
        // turns.
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
    ///
    /// What failed before counts as failing until something is published, or the other side is
    /// reached: a broker that opens and then takes nothing is no recovery.
    public mutating func opened(places: [SinkName: JournalPosition]) {
        state = .open
        for index in lanes.indices {
            guard let place = places[lanes[index].plan.name] else { continue }
            if place != lanes[index].place { lanes[index].refusals = 0 }
            lanes[index].place = place
        }
    }

    /// The other side was reached while there was nothing to publish.
    public mutating func reached() {
        closings = 0
        for index in lanes.indices where lanes[index].failures == 0 { recover(index) }
    }

    /// A run is acknowledged.
    public mutating func published(_ run: Run) {
        for part in run.parts {
            closings = 0
            guard let index = lanes.firstIndex(where: { $0.plan.name == part.sink }) else {
                continue
            }
            lanes[index].place = part.place
            lanes[index].limit = min(Self.runLimit, lanes[index].limit * 2)
            recover(index)
        }
    }

    /// A state sink has all that is believed, as of a place.
    public mutating func filled(_ sink: SinkName, at place: JournalPosition) {
        guard let index = lanes.firstIndex(where: { $0.plan.name == sink }) else { return }
        lanes[index].place = place
        recover(index)
    }

    /// Opening failed, or a run of that many entries to these sinks did.
    ///
    /// - Parameters:
    ///   - began: when the attempt at opening began; failing counts from there.
    ///   - took: how long the attempt kept the other sinks waiting.
    public mutating func failed(
        _ failure: PublishFailure, sinks: [SinkName], entries: Int, now: Instant,
        since began: Instant? = nil, took: Duration = .zero
    ) {
        if case .stopped = state { return }
        if let began {
            for index in lanes.indices {
                lanes[index].failingSince = lanes[index].failingSince ?? began
            }
        }
        switch failure.kind {
        case .misconfigured, .takenOver, .gone:
            noteEverywhere(failure, now: now)
            state = .stopped(failure)
        case .reopen, .unavailable:
            close(failure, now: now)
        case .again, .refusedSink, .refusedRecord:
            guard isOpen else { return close(failure, now: now) }
            hold(failure, sinks: sinks, entries: entries, now: now, took: took)
        }
    }

    /// The whole publisher is in trouble: it is opened anew, the later the more often in a row.
    private mutating func close(_ failure: PublishFailure, now: Instant) {
        noteEverywhere(failure, now: now)
        state = .closed(at: now + Self.backOff(closings))
        closings += 1
    }

    /// Some sinks are in trouble: they wait, or go on with smaller runs; the others go on.
    private mutating func hold(
        _ failure: PublishFailure, sinks: [SinkName], entries: Int, now: Instant, took: Duration
    ) {
        var named = sinks
        var (isHalved, isAlone) = (false, false)
        var leastPause = Duration.zero
        switch failure.kind {
        case .refusedSink(let sink):
            named = [sink]
            // One that takes nothing costs the others a fifth of the time, as a rule.
            leastPause = min(took * 4, Self.longestPause)
        case .refusedRecord(let sink):
            named = [sink]
            isHalved = entries > 1
            isAlone = entries == 1 && sinks.count == 1
        case .again, .reopen, .unavailable, .misconfigured, .takenOver, .gone:
            break
        }
        if !lanes.contains(where: { named.contains($0.plan.name) }) { named = sinks }
        for index in lanes.indices where named.contains(lanes[index].plan.name) {
            note(failure, of: index, now: now)
            lanes[index].failures += 1
            if isHalved {
                lanes[index].limit = max(1, entries / 2)
            } else if isAlone {
                noteRefusal(index)
                lanes[index].blockedUntil =
                    lanes[index].refusals < Self.refusalLimit ? now + Self.backOff(0) : nil
            } else {
                let pause = max(Self.backOff(lanes[index].failures - 1), leastPause)
                lanes[index].blockedUntil = now + pause
            }
        }
    }

    private mutating func noteEverywhere(_ failure: PublishFailure, now: Instant) {
        for index in lanes.indices { note(failure, of: index, now: now) }
    }

    mutating func note(_ failure: PublishFailure, of index: Int, now: Instant) {
        lanes[index].failure = failure
        lanes[index].failingSince = lanes[index].failingSince ?? now
    }

    mutating func recover(_ index: Int) {
        lanes[index].failures = 0
        lanes[index].refusals = 0
        lanes[index].blockedUntil = nil
        lanes[index].failingSince = nil
        lanes[index].failure = nil
    }

    /// 100 ms, doubling to 5 s.
    static func backOff(_ failures: Int) -> Duration {
        .milliseconds(min(5000, 100 << min(max(failures, 0), 6)))
    }
}
