import ConnectionEvents
import Foundation
import Kafka
import RelayCore
import RelaySinks
import Testing

let environment = ProcessInfo.processInfo.environment

/// The real brokers to test against, as `host:port,…` in the environment; nil without any.
let realBrokers: String? = environment["KAFKA_TEST_BROKERS"]

extension Trait where Self == ConditionTrait {
    /// Runs only where `KAFKA_TEST_BROKERS` names an Apache Kafka.
    static var realKafka: Self { .enabled(if: realBrokers != nil, "KAFKA_TEST_BROKERS is not set") }

    /// Runs only where `KAFKA_TEST_TOOL` is a program that starts, kills and pauses brokers.
    static var kafkaTool: Self {
        .enabled(if: environment["KAFKA_TEST_TOOL"] != nil, "KAFKA_TEST_TOOL is not set")
    }
}

/// A name that no other test, run or process uses.
func unique(_ stem: String) -> String {
    "\(stem)-\(String(UInt64.random(in: .min ... .max), radix: 36))"
}

/// One pipeline with an event sink and a state sink.
struct Pipeline {
    var name = unique("pipeline")
    /// The broker inside the process, which lives as long as the pipeline.
    var broker: EmbeddedBroker?
    var client: KafkaConfiguration
    var guarantee = KafkaSettings.Guarantee.exactlyOnce
    var topics = KafkaSettings.TopicPolicy.create(partitions: 3, replicationFactor: -1)
    var journal = JournalID("0123456789abcdef0123456789abcdef")
    var events: SinkName { SinkName("\(name).events") }
    var state: SinkName { SinkName("\(name).state") }
    var progress: String { "\(name).progress" }
    var plans: [SinkPlan] {
        [SinkPlan(name: events, role: .events(nil)), SinkPlan(name: state, role: .state)]
    }

    init(_ bootstrap: String) { client = KafkaConfiguration(bootstrap: bootstrap) }

    /// A pipeline on a broker in this process, which has its topics.
    static func embedded() throws -> Pipeline {
        var pipeline = Pipeline("")
        let broker = try EmbeddedBroker(
            sinkTopics: pipeline.plans.map(\.name.text), name: pipeline.name, partitions: 3)
        pipeline.client = KafkaConfiguration(bootstrap: broker.bootstrap)
        pipeline.guarantee = .atLeastOnce
        pipeline.topics = .trust
        pipeline.broker = broker
        return pipeline
    }

    func publisher(
        instance: String = "one", notes: @escaping @Sendable (String) -> Void = { _ in }
    ) -> KafkaPublisher {
        KafkaPublisher(
            KafkaSettings(
                name: name, client: client, sinks: plans, guarantee: guarantee, topics: topics,
                journal: journal, instance: instance),
            lastEpoch: { 1234 }, note: notes)
    }

    /// A run of the journal's entries in this range.
    func run(_ range: ClosedRange<Int64>, size: Int = 0) -> Run {
        var delivery = Delivery(sinks: plans.map { ($0, .start) }, now: Instant(nanoseconds: 0))
        delivery.opened(places: [:])
        return delivery.run(
            of: range.map { entry($0, size: size) }, to: plans.map(\.name))
    }

    /// All committed values of a topic with key, in order of each partition.
    func read(_ topic: String) throws -> [KafkaRecord] {
        let consumer = try KafkaConsumer(client)
        defer { consumer.close() }
        var records: [KafkaRecord] = []
        try consumer.read(topic: topic, patience: .seconds(20)) { records.append($0) }
        return records
    }

    /// The positions in the events topic, by key, in order.
    func positions() throws -> [String: [Int64]] {
        Dictionary(grouping: try read(events.text), by: \.keyText)
            .mapValues { $0.compactMap { Int64($0.text.prefix { $0 != " " }) } }
    }
}

/// The entry at a position: an event of one of five accounts, with a state record.
func entry(_ position: Int64, size: Int = 0) -> JournalEntry {
    guard let account = AccountID("acct_\(position % 5)") else { fatalError("no account id") }
    let id = EventID(String(format: "%032x", position))
    return JournalEntry(
        position: JournalPosition(position), account: account,
        event: EventFacts(
            id: id, type: .failing, kind: .change, lane: .raw, platform: "youtube", epoch: 1,
            sequence: position, decidedAt: Timestamp(milliseconds: 0)),
        body: Array("\(position) \(noise(size))".utf8),
        state: StateWrite(
            key: "\(account)/conn", value: position % 7 == 0 ? nil : Array("{}".utf8)),
        previousNumbers: [:])
}

/// Text that does not compress.
func noise(_ size: Int) -> String {
    String((0..<size).map { _ in Character(UnicodeScalar(UInt8.random(in: 33...126))) })
}

extension KafkaRecord {
    var text: String { String(decoding: value ?? [], as: UTF8.self) }
    var keyText: String { String(decoding: key ?? [], as: UTF8.self) }
}

/// Asks until it is so, at most 30 seconds.
func eventually(_ limit: Double = 30, _ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = Date() + limit
    while Date() < deadline {
        if try condition() { return true }
        Thread.sleep(forTimeInterval: 0.02)
    }
    return false
}

/// The failure that a call ends with.
func failure(_ call: () throws -> Void) -> PublishFailure? {
    do {
        try call()
        return nil
    } catch { return error as? PublishFailure }
}

extension KafkaPublisher {
    /// Opens it, again while the broker is slow to answer, as ``RelayCore/Publisher`` asks.
    @discardableResult
    func opened() throws -> [SinkName: RelayCore.Progress] {
        var progress: [SinkName: RelayCore.Progress] = [:]
        try patiently { progress = try open() }
        return progress
    }

    /// Publishes a run as the relay does: opens anew where it is asked to or the broker is slow to
    /// answer, and sends nothing again that went through.
    func published(_ run: Run) throws {
        try patiently {
            do { try publish(run) } catch let failure as PublishFailure {
                guard Self.slow.contains(failure.kind) else { throw failure }
                let progress = try open()
                let hasGone = run.parts.allSatisfy { part in
                    progress[part.sink].map { $0.position >= part.place } ?? false
                }
                if !hasGone { throw failure }
            }
        }
    }

    /// Why the broker refuses a run, and not that it is slow: then it is sent again, as above.
    ///
    /// - Parameter prepare: runs before each time.
    func refusal(of run: Run, _ prepare: () throws -> Void = {}) throws -> PublishFailure? {
        var refusal: PublishFailure?
        _ = try eventually(60) {
            try prepare()
            refusal = failure { try publish(run) }
            guard let kind = refusal?.kind, Self.slow.contains(kind) else { return true }
            try opened()
            return false
        }
        return refusal
    }

    /// What a run ends with under a broker that takes its time.
    private static let slow: [PublishFailure.Kind] = [.again, .unavailable, .reopen]

    private func patiently(_ call: () throws -> Void) throws {
        var last: PublishFailure?
        let isOver = try eventually(60) {
            do {
                try call()
                return true
            } catch let failure as PublishFailure
                where Self.slow.contains(failure.kind)
            {
                last = failure
                return false
            }
        }
        if !isOver, let last { throw last }
    }
}
