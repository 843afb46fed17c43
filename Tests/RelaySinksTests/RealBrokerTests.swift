import Foundation
import Kafka
import RelayCore
import RelaySinks
import Testing

// On an Apache Kafka that other tests use at the same time: every name is unique.
@Suite(.realKafka) struct RealBrokerTests {
    let pipeline: Pipeline
    let admin: KafkaAdmin

    init() throws {
        pipeline = Pipeline(try #require(realBrokers))
        admin = try KafkaAdmin(pipeline.client)
    }

    private func make(_ topic: String, _ policy: String, partitions: Int = 3) throws {
        let refused = try admin.createTopics(
            [
                KafkaNewTopic(
                    name: topic, partitions: partitions, settings: ["cleanup.policy": policy])
            ], timeout: .seconds(20))
        try #require(refused.isEmpty)
    }

    @Test func `missing topics are made as the contract says, and then fit`() throws {
        let publisher = pipeline.publisher()
        try publisher.opened()
        let events = try admin.settings(ofTopic: pipeline.events.text, timeout: .seconds(20))
        #expect(events["cleanup.policy"]?.value == "delete")
        for topic in [pipeline.state.text, pipeline.progress] {
            let settings = try admin.settings(ofTopic: topic, timeout: .seconds(20))
            #expect(settings["cleanup.policy"]?.value == "compact")
            #expect(settings["segment.bytes"]?.value == "67108864")
            #expect(settings["min.cleanable.dirty.ratio"]?.value == "0.1")
            #expect(settings["delete.retention.ms"]?.value == "604800000")
        }
        let counts = try [pipeline.events.text, pipeline.state.text, pipeline.progress].map {
            try admin.topic($0, timeout: .seconds(20)).partitions.count
        }
        #expect(counts == [3, 3, 1])
        var checking = pipeline
        checking.topics = .check
        try checking.publisher().opened()
    }

    @Test func `topics that do not fit are refused, all at once, with the remedy`() throws {
        try make(pipeline.events.text, "compact")
        try make(pipeline.state.text, "compact,delete")
        let error = failure { try pipeline.publisher().opened() }
        #expect(error?.kind == .misconfigured)
        for part in [pipeline.events.text, pipeline.state.text, "cleanup.policy=delete"] {
            #expect(error?.reason.contains(part) == true)
        }
    }

    @Test func `missing topics are refused where none may be made, and nothing is made`() throws {
        var checking = pipeline
        checking.topics = .check
        let error = failure { try checking.publisher().opened() }
        #expect(error?.kind == .misconfigured)
        #expect(error?.reason.contains("kafka-topics.sh --create") == true)
        let all = try admin.metadata(timeout: .seconds(10)).topics.map(\.name)
        #expect(!all.contains { $0.hasPrefix(pipeline.name) })
    }

    @Test func `another number of partitions is only noted`() throws {
        try make(pipeline.events.text, "delete", partitions: 2)
        let notes = Notes()
        try pipeline.publisher(notes: { notes.add($0) }).opened()
        #expect(notes.all == ["topic \(pipeline.events) has 2 partitions, not 3; left as it is"])
    }

    @Test func `more replicas than brokers is a configuration error`() throws {
        var greedy = pipeline
        greedy.topics = .create(partitions: 1, replicationFactor: 100)
        let error = failure { try greedy.publisher().opened() }
        #expect(error?.kind == .misconfigured)
    }

    @Test func `runs arrive once, in order, and the place with them`() throws {
        let publisher = pipeline.publisher()
        try publisher.opened()
        for start in stride(from: Int64(1), to: 200, by: 20) {
            try publisher.published(pipeline.run(start...start + 19))
        }
        #expect(try publisher.opened()[pipeline.events]?.position == JournalPosition(200))
        for (key, positions) in try pipeline.positions() {
            #expect(positions == (1...200).filter { key == "acct_\($0 % 5)" })
        }
        #expect(try pipeline.read(pipeline.state.text).count == 200)
    }

    @Test func `of two with one name the older one is taken over once the newer has published`()
        throws
    {
        let (old, new) = (pipeline.publisher(instance: "old"), pipeline.publisher(instance: "new"))
        try old.opened()
        try old.published(pipeline.run(1...5))
        #expect(try new.opened()[pipeline.events]?.position == JournalPosition(5))
        // Fenced, but nothing of another is there: as after a long sleep, it goes on.
        #expect(failure { try old.publish(pipeline.run(6...6)) }?.kind == .reopen)
        #expect(try old.opened()[pipeline.events]?.position == JournalPosition(5))
        try old.published(pipeline.run(6...6))
        #expect(failure { try new.publish(pipeline.run(6...6)) }?.kind == .reopen)
        #expect(failure { try new.opened() }?.kind == .takenOver)
        #expect(try pipeline.positions().values.flatMap(\.self).sorted() == Array(1...6))
    }

    @Test func `a record too large is refused alone, its neighbours go on`() throws {
        try make(pipeline.events.text, "delete", partitions: 1)
        let publisher = pipeline.publisher()
        try publisher.opened()
        var run = pipeline.run(1...3)
        // Larger than the broker's message.max.bytes (1 MiB), smaller than the client's limit.
        run.parts[0].messages[1].value = Array("2 \(noise(1_060_000))".utf8)
        var client = pipeline
        client.client.set("message.max.bytes", "2000000")
        let sender = client.publisher()
        try sender.opened()
        let refused = failure { try sender.publish(run) }
        #expect(refused?.kind == .refusedRecord(pipeline.events))
        var alone = run
        alone.parts = [run.parts[0]]
        alone.parts[0].messages = [run.parts[0].messages[1]]
        var failures: [PublishFailure.Kind] = []
        for _ in 0..<3 {
            if let kind = failure({ try sender.publish(alone) })?.kind { failures.append(kind) }
        }
        #expect(failures.contains(.refusedRecord(pipeline.events)))
        #expect(failures.count == 3)
        run.parts[0].messages.remove(at: 1)
        #expect(eventually { failure { try sender.published(run) } == nil })
        let all = try pipeline.read(pipeline.events.text).map(\.text)
        #expect(all.map { $0.prefix(2) } == ["1 ", "3 "])
        #expect(try pipeline.read(pipeline.state.text).count == 3)
    }

    @Test func `a topic that was deleted blocks its sink, and the others go on`() throws {
        let publisher = pipeline.publisher()
        try publisher.opened()
        try publisher.published(pipeline.run(1...5))
        #expect(
            try admin.deleteTopics([pipeline.state.text], timeout: .seconds(20)).isEmpty)
        let parts = pipeline.run(6...10).parts
        #expect(
            eventually(60) {
                let error = failure { try publisher.publish(Run(parts: [parts[1]])) }
                if error?.kind == .reopen || error?.kind == .unavailable {
                    _ = failure { try publisher.opened() }
                }
                return error?.kind == .refusedSink(pipeline.state)
            })
        try publisher.published(Run(parts: [parts[0]]))
        #expect(try pipeline.positions().values.flatMap(\.self).sorted() == Array(1...10))
    }

    @Test func `at least once also tells its place`() throws {
        var lax = pipeline
        lax.guarantee = .atLeastOnce
        let publisher = lax.publisher()
        try publisher.opened()
        try publisher.published(lax.run(1...50))
        #expect(try publisher.opened()[lax.state]?.position == JournalPosition(50))
        #expect(try lax.positions().values.flatMap(\.self).sorted() == Array(1...50))
    }

    @Test func `what a state topic holds is read back, tombstones too, even when it is closed`()
        throws
    {
        let publisher = pipeline.publisher()
        try publisher.opened()
        try publisher.published(pipeline.run(1...7))
        publisher.close(within: .seconds(5))
        var held: [HeldState] = []
        try publisher.states(of: pipeline.state) { held.append($0) }
        #expect(held.count == 7)
        #expect(held.filter { $0.value == nil }.map(\.key) == ["acct_2/conn"])
        #expect(held.allSatisfy { $0.writtenAt > 1_700_000_000_000 })
        let keys = try publisher.heldKeys(of: pipeline.state) { $0 != "acct_0/conn" }
        #expect(keys == ["acct_1/conn", "acct_3/conn", "acct_4/conn"])
    }
}

/// Collects notes from any thread.
final class Notes: @unchecked Sendable {
    // @unchecked: behind its lock.
    private let lock = NSLock()
    private var notes: [String] = []

    func add(_ note: String) { lock.withLock { notes.append(note) } }

    var all: [String] { lock.withLock { notes } }
}
