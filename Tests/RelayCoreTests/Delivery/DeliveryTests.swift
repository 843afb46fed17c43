import ConnectionEvents
import Testing

@testable public import RelayCore

/// Who is given what, and what follows from a failure.
@Suite struct DeliveryTests {
    private static let sinks = [
        SinkPlan(name: "events", role: .events(nil)),
        SinkPlan(name: "alerts", role: .events(EventFilter(types: [.failing]))),
        SinkPlan(name: "state", role: .state),
    ]
    private let entries = (1...40).map { entry(Int64($0), $0 % 4 == 0 ? .failing : .linked) }
    private let head = JournalPosition(40)

    private func open(_ places: [Int64] = [0, 0, 0]) -> Delivery {
        var delivery = Delivery(
            sinks: zip(Self.sinks, places).map { ($0, JournalPosition($1)) }, now: .zero)
        delivery.opened(places: [:])
        return delivery
    }

    private func failure(_ kind: PublishFailure.Kind) -> PublishFailure {
        PublishFailure(kind: kind, code: "X", reason: "because")
    }

    /// The next run; the instant does not matter.
    private func publish(_ delivery: inout Delivery, at now: Instant = .zero) -> Delivery.Step {
        delivery.next(now: now, head: head)
    }

    /// Takes the next run and says that it is acknowledged.
    private func succeed(_ delivery: inout Delivery, at now: Instant = .zero) -> [SinkName] {
        guard case .publish(let after, let limit, let sinks) = publish(&delivery, at: now) else {
            return []
        }
        let first = Int(after.number)
        let read = Array(entries[first..<min(entries.count, first + limit)])
        delivery.published(delivery.run(of: read, to: sinks))
        return sinks
    }

    @Test func `a delivery opens first, and then publishes to all that stand together`() {
        var delivery = Delivery(sinks: Self.sinks.map { ($0, .start) }, now: .zero)
        #expect(!delivery.isOpen)
        #expect(publish(&delivery) == .open)
        delivery.opened(places: [:])
        #expect(delivery.isOpen)
        #expect(
            publish(&delivery)
                == .publish(after: .start, limit: 500, sinks: ["events", "alerts", "state"]))
        #expect(delivery.slowestPlace == .start)
    }

    @Test func `nothing to publish is nothing to do until the journal grows`() {
        var delivery = open([40, 40, 40])
        #expect(publish(&delivery) == .wait(until: nil))
        #expect(delivery.next(now: .zero, head: JournalPosition(41)) != .wait(until: nil))
    }

    @Test func `sinks at other places go in turns`() {
        var delivery = open([0, 10, 0])
        var seen: Set<[SinkName]> = []
        for _ in 0..<2 {
            guard case .publish(let after, _, let sinks) = publish(&delivery) else { continue }
            #expect(after == (sinks == ["alerts"] ? JournalPosition(10) : .start))
            seen.insert(sinks)
        }
        #expect(seen == [["events", "state"], ["alerts"]])
    }

    @Test func `a place moves with an acknowledgement, and with nothing else`() {
        var delivery = open()
        _ = publish(&delivery)
        _ = publish(&delivery)
        #expect(delivery.lanes.map(\.place.number) == [0, 0, 0])
        for kind in [
            PublishFailure.Kind.again, .refusedSink("state"), .refusedRecord("events"), .reopen,
            .unavailable,
        ] {
            delivery.failed(failure(kind), sinks: ["events"], entries: 40, now: .zero)
            delivery.opened(places: [:])
            #expect(delivery.lanes.map(\.place.number) == [0, 0, 0])
        }
        delivery = open()
        #expect(succeed(&delivery) == ["events", "alerts", "state"])
        #expect(delivery.lanes.map(\.place.number) == [40, 40, 40])
    }

    @Test func `a run gives each sink its records, and the place after all of them`() {
        let delivery = open()
        let run = delivery.run(of: Array(entries[0..<7]), to: ["alerts", "state"])
        #expect(run.parts.map(\.sink) == ["alerts", "state"])
        #expect(run.parts[0].messages.map(\.position.number) == [4])
        #expect(run.parts[1].messages.map(\.position.number) == Array(1...7))
        #expect(run.parts.map(\.place.number) == [7, 7])
        #expect(run.parts.map(\.eventID) == [entries[6].event?.id, entries[6].event?.id])
        #expect(delivery.run(of: [], to: ["alerts"]).parts.isEmpty)
        let quiet = entry(8, nil)
        #expect(delivery.run(of: [quiet], to: ["alerts"]).parts.map(\.eventID) == [nil])
        #expect(delivery.run(of: [quiet], to: ["alerts"]).parts.map(\.messages) == [[]])
    }

    @Test func `a sink that refuses goes alone, and the others go on without it`() {
        var delivery = open()
        delivery.failed(
            failure(.refusedSink("alerts")), sinks: ["events", "alerts", "state"], entries: 40,
            now: .zero)
        #expect(delivery.lanes[1].failure == failure(.refusedSink("alerts")))
        #expect(delivery.lanes[1].failingSince == .zero)
        #expect(delivery.lanes[0].failure == nil)
        #expect(succeed(&delivery) == ["events", "state"])
        #expect(publish(&delivery) == .wait(until: .seconds(0.1)))
        #expect(succeed(&delivery, at: .seconds(0.1)) == ["alerts"])
        #expect(delivery.lanes[1].failure == nil)
        #expect(delivery.lanes[1].failingSince == nil)
    }

    @Test func `a sink that keeps refusing is tried ever less often, up to 5 s`() {
        var delivery = open()
        var now = Instant.zero
        var waits: [Duration] = []
        for _ in 0..<9 {
            delivery.failed(
                failure(.refusedSink("alerts")), sinks: ["alerts"], entries: 9, now: now)
            let until = delivery.lanes[1].blockedUntil ?? .never
            waits.append(until - now)
            now = until
        }
        #expect(
            waits == [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000].map { .milliseconds($0) })
        #expect(delivery.lanes[1].failingSince == .zero, "since the first")
    }

    @Test func `what may be tried again holds the sinks of that run only`() {
        var delivery = open([0, 10, 0])
        delivery.failed(failure(.again), sinks: ["events", "state"], entries: 9, now: .zero)
        #expect(succeed(&delivery) == ["alerts"])
        #expect(publish(&delivery) == .wait(until: .seconds(0.1)))
        let later = Instant.seconds(0.1)
        #expect(succeed(&delivery, at: later).count == 1, "each on its own after trouble")
        #expect(succeed(&delivery, at: later).count == 1)
    }

    @Test func `a refused record halves the sink's run until it stands alone, then waits`() {
        var delivery = open()
        var size = 40
        for limit in [20, 10, 5, 2, 1] {
            delivery.failed(
                failure(.refusedRecord("events")), sinks: ["events", "alerts", "state"],
                entries: size, now: .zero)
            #expect(delivery.lanes[0].limit == limit)
            #expect(delivery.lanes[0].blockedUntil == nil, "at once")
            size = limit
        }
        #expect(delivery.lanes[1].limit == 500)
        delivery.failed(
            failure(.refusedRecord("events")), sinks: ["events"], entries: 1, now: .zero)
        #expect(delivery.lanes[0].blockedUntil != nil)
        #expect(succeed(&delivery) == ["alerts", "state"])
    }

    @Test(arguments: [SinkName("events"), "alerts", "state"])
    func `a sink in trouble goes alone, whatever its place in the pipeline`(sink: SinkName) {
        var delivery = open()
        delivery.failed(failure(.refusedRecord(sink)), sinks: [sink], entries: 40, now: .zero)
        var groups: Set<[SinkName]> = []
        for _ in 0..<2 {
            guard case .publish(_, let limit, let sinks) = publish(&delivery) else { continue }
            #expect(limit == (sinks == [sink] ? 20 : 500))
            groups.insert(sinks)
        }
        #expect(groups == [[sink], delivery.lanes.map(\.plan.name).filter { $0 != sink }])
    }

    @Test func `a record refused alone, twice, is to be parked, and its sink goes on behind it`() {
        var delivery = open()
        let refused = failure(.refusedRecord("events"))
        let all: [SinkName] = ["events", "alerts", "state"]
        // With others, or in a run of several, says nothing yet.
        delivery.failed(refused, sinks: all, entries: 1, now: .zero)
        delivery.failed(refused, sinks: ["events"], entries: 2, now: .zero)
        delivery.failed(refused, sinks: ["events"], entries: 1, now: .zero)
        // What the abort before it caused is no refusal.
        delivery.failed(failure(.again), sinks: ["events"], entries: 1, now: .zero)
        #expect(succeed(&delivery) == ["alerts", "state"])
        delivery.failed(refused, sinks: ["events"], entries: 1, now: .seconds(9))
        let park = Delivery.Step.park(after: .start, sink: "events")
        #expect(publish(&delivery, at: .seconds(9)) == park)
        delivery.couldNotPark("events", failure(.again), now: .seconds(9))
        guard case .wait(let until?) = publish(&delivery, at: .seconds(9)) else {
            Issue.record("tried again at once")
            return
        }
        #expect(publish(&delivery, at: until) != park, "it may take it by now")
        delivery.failed(refused, sinks: ["events"], entries: 1, now: until)
        #expect(publish(&delivery, at: until) == park)
        delivery.parked("events", at: JournalPosition(1))
        #expect(delivery.lanes[0].failure == nil)
        #expect(succeed(&delivery, at: until) == ["events"])
        #expect(delivery.lanes[0].place > JournalPosition(1))
        delivery.failed(refused, sinks: ["events"], entries: 1, now: .zero)
        #expect(publish(&delivery) != park, "counted anew for each record")
    }

    @Test func `any other refusal parks nothing, however often`() {
        var delivery = open()
        for _ in 0..<9 {
            for kind in [PublishFailure.Kind.refusedSink("events"), .again] {
                delivery.failed(failure(kind), sinks: ["events"], entries: 1, now: .zero)
            }
        }
        #expect(delivery.lanes[0].refusals == 0)
    }

    @Test func `a sink that takes nothing keeps the others waiting a fifth of the time at most`() {
        var delivery = open()
        delivery.failed(
            failure(.refusedSink("alerts")), sinks: ["alerts"], entries: 1, now: .zero,
            took: .seconds(3))
        #expect(delivery.lanes[1].blockedUntil == .seconds(12))
        #expect(succeed(&delivery) == ["events", "state"])
    }

    @Test func `after a refused record runs grow again, doubling`() {
        var delivery = open()
        delivery.failed(
            failure(.refusedRecord("events")), sinks: ["events"], entries: 2, now: .zero)
        var places: [Int64] = []
        while delivery.lanes[0].place < head {
            _ = succeed(&delivery)
            if places.last != delivery.lanes[0].place.number {
                places.append(delivery.lanes[0].place.number)
            }
        }
        #expect(places.filter { $0 > 0 } == [1, 3, 7, 15, 31, 40])
    }

    @Test(arguments: [PublishFailure.Kind.reopen, .unavailable])
    func `a publisher in trouble is opened anew, the later the more often in a row`(
        kind: PublishFailure.Kind
    ) {
        var delivery = open()
        var now = Instant.zero
        var waits: [Duration] = []
        for round in 0..<9 {
            // It opens, and then takes nothing: that is no recovery.
            if round % 2 == 0 { delivery.opened(places: [:]) }
            delivery.failed(failure(kind), sinks: ["events"], entries: 9, now: now)
            #expect(!delivery.isOpen)
            guard case .wait(let until?) = publish(&delivery, at: now) else {
                Issue.record("opened at once")
                return
            }
            waits.append(until - now)
            now = until
            #expect(publish(&delivery, at: now) == .open)
        }
        #expect(
            waits == [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000].map { .milliseconds($0) })
        #expect(delivery.lanes.map(\.failingSince) == [.zero, .zero, .zero])
        delivery.opened(places: [:])
        _ = succeed(&delivery)
        #expect(delivery.lanes.map(\.failure) == [nil, nil, nil])
        delivery.failed(failure(kind), sinks: [], entries: 0, now: now)
        #expect(publish(&delivery, at: now) == .wait(until: now + .milliseconds(100)))
    }

    @Test func `what failed is failing until something is taken, or the other side is reached`() {
        var delivery = open([40, 40, 40])
        delivery.failed(failure(.unavailable), sinks: [], entries: 0, now: .zero)
        delivery.opened(places: [:])
        #expect(delivery.lanes[0].failingSince == .zero)
        delivery.reached()
        #expect(delivery.lanes.map(\.failingSince) == [nil, nil, nil])
        delivery.failed(failure(.refusedSink("state")), sinks: ["state"], entries: 1, now: .zero)
        delivery.reached()
        #expect(delivery.lanes[2].failingSince == .zero, "its own trouble is not the broker's")
    }

    @Test(arguments: [PublishFailure.Kind.again, .refusedSink("events"), .refusedRecord("events")])
    func `whatever an opening fails with, it is not tried again at once`(
        kind: PublishFailure.Kind
    ) {
        var delivery = Delivery(sinks: Self.sinks.map { ($0, .start) }, now: .zero)
        delivery.failed(failure(kind), sinks: [], entries: 0, now: .zero)
        #expect(publish(&delivery) == .wait(until: .seconds(0.1)))
    }

    @Test func `a refusal in the name of an unknown sink holds the sinks of the run`() {
        var delivery = open()
        for kind in [PublishFailure.Kind.refusedSink("?"), .refusedRecord("?")] {
            delivery.failed(
                failure(kind), sinks: ["events", "alerts", "state"], entries: 1, now: .zero)
        }
        #expect(publish(&delivery) != .publish(after: .start, limit: 500, sinks: ["events"]))
        guard case .wait = publish(&delivery) else {
            Issue.record("tried again at once")
            return
        }
    }

    @Test(arguments: [PublishFailure.Kind.takenOver, .misconfigured, .gone])
    func `what only an operator can mend stops the delivery for good`(kind: PublishFailure.Kind) {
        var delivery = open()
        delivery.failed(failure(kind), sinks: ["events"], entries: 9, now: .zero)
        #expect(publish(&delivery) == .stop(failure(kind)))
        delivery.failed(failure(.reopen), sinks: [], entries: 0, now: .zero)
        #expect(publish(&delivery, at: .seconds(99)) == .stop(failure(kind)))
        #expect(delivery.lanes.map(\.failure) == Array(repeating: failure(kind), count: 3))
    }

    @Test func `an opening that fails counts as failing since it began`() {
        var delivery = Delivery(sinks: Self.sinks.map { ($0, .start) }, now: .zero)
        delivery.failed(
            failure(.unavailable), sinks: [], entries: 0, now: .seconds(9), since: .seconds(4))
        #expect(delivery.lanes.map(\.failingSince) == Array(repeating: .seconds(4), count: 3))
        delivery.failed(
            failure(.unavailable), sinks: [], entries: 0, now: .seconds(20), since: .seconds(15))
        #expect(delivery.lanes[0].failingSince == .seconds(4), "since the first")
    }

    @Test func `a state sink that is filled goes on from there, and is no longer in trouble`() {
        var delivery = open([0, 0, 0])
        delivery.failed(failure(.refusedSink("state")), sinks: ["state"], entries: 1, now: .zero)
        delivery.filled("state", at: head)
        delivery.filled("unknown", at: head)
        #expect(delivery.lanes.map(\.place.number) == [0, 0, 40])
        #expect(delivery.lanes[2].failure == nil)
        #expect(succeed(&delivery) == ["events", "alerts"])
    }

    @Test func `opening settles the places that the other side remembers`() {
        var delivery = open([5, 6, 7])
        delivery.opened(places: ["events": JournalPosition(9), "other": JournalPosition(1)])
        #expect(delivery.lanes.map(\.place.number) == [9, 6, 7])
        #expect(delivery.slowestPlace == JournalPosition(6))
    }
}

extension SinkName: ExpressibleByStringLiteral {
    /// The sink of that name.
    public init(stringLiteral text: String) { self.init(text) }
}

/// An entry at that place, of account `acct` unless its number says another.
func entry(
    _ number: Int64, _ type: EventType?, account: String = "acct", platform: String? = "youtube",
    kind: EventKind = .change, previous: [SinkName: Int64] = [:]
) -> JournalEntry {
    guard let account = AccountID(account) else { preconditionFailure("no id: \(account)") }
    return JournalEntry(
        position: JournalPosition(number), account: account,
        event: type.map { type in
            EventFacts(
                id: EventID("00000000000000000000000000000000".dropLast(4) + "\(1000 + number)"),
                type: type, kind: kind, lane: .raw, platform: platform, epoch: 1,
                sequence: number, decidedAt: Story.noon)
        },
        body: type.map { Array("\($0) \(number)".utf8) },
        state: type?.isAboutAccount == true
            ? nil : StateWrite(key: "\(account)/\(number)", value: number % 3 == 0 ? nil : [1]),
        previousNumbers: previous)
}
