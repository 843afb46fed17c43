import ConnectionEvents
import Testing

@testable import RelayCore

/// Deliveries against a broker that fails in every way it can, and loses acknowledgements.
@Suite struct FaultyPublisherTests {
    @Test(arguments: 1...16)
    func `with the place read back on opening, each record arrives once, in order`(
        seed: UInt64
    ) throws {
        var course = Course(seed: seed, remembers: true)
        try course.run()
        for (sink, expected) in course.expected {
            #expect(course.broker.taken[sink] == expected, "\(sink)")
        }
    }

    @Test(arguments: 1...16)
    func `with the place in the journal alone, no record is skipped, and order is kept`(
        seed: UInt64
    ) throws {
        var course = Course(seed: seed, remembers: false)
        try course.run()
        for (sink, expected) in course.expected {
            var seen = 0
            for position in course.broker.taken[sink] ?? [] {
                let index = try #require(expected.firstIndex(of: position))
                #expect(index <= seen, "\(sink) was given \(position) too early")
                seen = max(seen, index + 1)
            }
            #expect(seen == expected.count, "\(sink)")
        }
    }
}

/// A broker: what it took of each sink, and the places that it remembers.
private struct Broker {
    var taken: [SinkName: [Int64]] = [:]
    var places: [SinkName: JournalPosition] = [:]

    mutating func take(_ run: Run) {
        for part in run.parts {
            taken[part.sink, default: []] += part.messages.map(\.position.number)
            places[part.sink] = part.place
        }
    }
}

/// A journal that grows while a delivery goes on, is killed and starts again.
private struct Course {
    let plans = [
        SinkPlan(name: "events", role: .events(nil)),
        SinkPlan(name: "alerts", role: .events(EventFilter(types: [.failing]))),
        SinkPlan(name: "state", role: .state),
        SinkPlan(name: "kick", role: .events(EventFilter(platforms: ["kick"]))),
    ]
    var broker = Broker()
    private var random: SeededRandom
    private let remembers: Bool
    private var entries: [JournalEntry] = []
    private var delivery: Delivery
    /// What the journal would give a relay that starts anew.
    private var saved: [SinkName: JournalPosition] = [:]
    private var now = Instant.zero
    private var isFaulty = true

    init(seed: UInt64, remembers: Bool) {
        random = SeededRandom(seed: seed)
        self.remembers = remembers
        delivery = Delivery(sinks: plans.map { ($0, .start) }, now: .zero)
    }

    /// The records that each sink must get.
    var expected: [(SinkName, [Int64])] {
        plans.map { plan in
            (plan.name, entries.compactMap { plan.message(of: $0)?.position.number })
        }
    }

    /// Four hundred faulty steps, then as many sound ones as it takes.
    mutating func run() throws {
        for _ in 0..<400 {
            if chance(0.3) { grow() }
            if chance(0.02) { restart() }
            step()
        }
        isFaulty = false
        for _ in 0..<2000 {
            if delivery.isOpen, delivery.lanes.allSatisfy({ $0.place.number == entries.count }) {
                return
            }
            step()
        }
        throw Missed(what: "the end of the journal")
    }

    private mutating func chance(_ share: Double) -> Bool {
        Double.random(in: 0..<1, using: &random) < share
    }

    private mutating func grow() {
        let types: [EventType?] = [.failing, .repaired, .accountBlind, nil]
        for _ in 0..<Int.random(in: 1...30, using: &random) {
            let type = types.randomElement(using: &random) ?? nil
            entries.append(
                entry(
                    Int64(entries.count + 1), type, platform: chance(0.5) ? "kick" : "youtube"))
        }
    }

    /// The process is killed, and another begins with what the journal holds.
    private mutating func restart() {
        delivery = Delivery(sinks: plans.map { ($0, saved[$0.name] ?? .start) }, now: now)
    }

    private mutating func step() {
        now = now + .milliseconds(50)
        switch delivery.next(now: now, head: JournalPosition(Int64(entries.count))) {
        case .open:
            if isFaulty, chance(0.3) {
                fail(.unavailable, sinks: [], entries: 0)
            } else {
                delivery.opened(places: remembers ? broker.places : [:])
            }
        case .publish(let after, let limit, let sinks):
            let first = Int(after.number)
            let read = Array(entries[first..<min(entries.count, first + min(limit, 40))])
            publish(delivery.run(of: read, to: sinks), sinks: sinks, entries: read.count)
        case .park(let after, let sink):
            // This broker takes it the next time, whatever it says.
            delivery.parked(sink, at: after)
        case .wait(let until):
            if let until { now = max(now, min(until, now + .seconds(5))) }
        case .stop:
            Issue.record("stopped")
        }
    }

    private mutating func publish(_ run: Run, sinks: [SinkName], entries: Int) {
        guard isFaulty, chance(0.5) else {
            broker.take(run)
            delivery.published(run)
            // Places are written down now and then.
            if chance(0.5) { for lane in delivery.lanes { saved[lane.plan.name] = lane.place } }
            return
        }
        let sink = sinks.randomElement(using: &random) ?? "events"
        switch Int.random(in: 0..<6, using: &random) {
        case 0: fail(.again, sinks: sinks, entries: entries)
        case 1: fail(.refusedSink(sink), sinks: sinks, entries: entries)
        case 2: fail(.refusedRecord(sink), sinks: sinks, entries: entries)
        case 3: fail(.unavailable, sinks: sinks, entries: entries)
        case 4: fail(.reopen, sinks: sinks, entries: entries)
        default:
            // It went out, and nobody will ever say so.
            broker.take(run)
            fail(.reopen, sinks: sinks, entries: entries)
        }
    }

    private mutating func fail(_ kind: PublishFailure.Kind, sinks: [SinkName], entries: Int) {
        delivery.failed(
            PublishFailure(kind: kind, code: "FAULT", reason: "a fault of the test"), sinks: sinks,
            entries: entries, now: now)
    }
}
