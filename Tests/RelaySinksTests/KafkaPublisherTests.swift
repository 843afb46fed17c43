import ConnectionEvents
import Foundation
import Kafka
import RelayCore
import RelaySinks
import Testing

// On the broker inside the process, which acknowledges as Kafka does and can be made to refuse.
@Suite struct KafkaPublisherTests {
    @Test func `a run arrives with keys, bytes, headers, tombstones and its place`() throws {
        let pipeline = try Pipeline.embedded()
        let publisher = pipeline.publisher()
        #expect(try publisher.opened().isEmpty)
        try publisher.published(pipeline.run(1...10))
        let events = try pipeline.read(pipeline.events.text)
        #expect(events.count == 10)
        for record in events {
            let position = try #require(Int64(record.text.prefix { $0 != " " }))
            #expect(record.keyText == "acct_\(position % 5)")
            #expect(
                record.headers.contains(KafkaHeader("content-type", "application/cloudevents+json"))
            )
            #expect(record.headers.contains { $0.name == "traceparent" })
            #expect(!record.headers.contains { $0.name == "trax-previous" })
        }
        let states = try pipeline.read(pipeline.state.text)
        #expect(states.count == 10)
        #expect(states.filter { $0.value == nil }.map(\.keyText) == ["acct_2/conn"])
        let progress = try pipeline.publisher(instance: "two").opened()
        #expect(Set(progress.keys) == [pipeline.events, pipeline.state])
        #expect(
            progress[pipeline.state]
                == Progress(
                    journal: pipeline.journal, position: JournalPosition(10),
                    eventID: EventID(String(format: "%032x", 10)), epoch: 1234, instance: "one"))
        publisher.close(within: .seconds(5))
        #expect(pipeline.broker?.close() == true)
    }

    @Test func `a run that only moves the place publishes just that`() throws {
        let pipeline = try Pipeline.embedded()
        let publisher = pipeline.publisher()
        try publisher.opened()
        try publisher.published(
            Run(parts: [
                .init(sink: pipeline.events, messages: [], place: JournalPosition(9), eventID: nil)
            ]))
        #expect(try pipeline.read(pipeline.events.text).isEmpty)
        let progress = try publisher.opened()
        #expect(progress.keys.map(\.self) == [pipeline.events])
        #expect(progress[pipeline.events]?.position == JournalPosition(9))
        #expect(progress[pipeline.events]?.eventID == nil)
    }

    @Test(arguments: [10, 18, 87] as [Int32])
    func `a record that the broker refuses names its sink, and the next run goes on`(
        number: Int32
    ) throws {
        let pipeline = try Pipeline.embedded()
        let mock = try KafkaMockCluster()
        try mock.createTopic(pipeline.events.text, partitions: 1)
        try mock.createTopic(pipeline.progress, partitions: 1)
        var other = pipeline
        other.client = KafkaConfiguration(bootstrap: mock.bootstrap)
        let refused = other.publisher()
        try refused.opened()
        let run = Run(parts: [other.run(1...1).parts[0]])
        let error = try refused.refusal(of: run) {
            try mock.clearErrors(for: .produce)
            try mock.push([number], for: .produce)
        }
        #expect(error?.kind == .refusedRecord(other.events))
        try refused.published(run)
        #expect(try other.positions() == ["acct_1": [1]])
    }

    @Test func `a record too large for the client names its sink`() throws {
        let pipeline = try Pipeline.embedded()
        let publisher = pipeline.publisher()
        try publisher.opened()
        let error = try publisher.refusal(of: pipeline.run(1...3, size: 1_100_000))
        #expect(error?.kind == .refusedRecord(pipeline.events))
        #expect(error?.code == "MSG_SIZE_TOO_LARGE")
    }

    @Test func `a sink that we may not write to is refused, not its records`() throws {
        let mock = try KafkaMockCluster()
        var pipeline = Pipeline(mock.bootstrap)
        pipeline.guarantee = .atLeastOnce
        pipeline.topics = .trust
        for topic in pipeline.plans.map(\.name.text) + [pipeline.progress] {
            try mock.createTopic(topic, partitions: 1)
        }
        let publisher = pipeline.publisher()
        try publisher.opened()
        let run = Run(parts: [pipeline.run(1...1).parts[1]])
        let error = try publisher.refusal(of: run) {
            try mock.clearErrors(for: .produce)
            try mock.push([29], for: .produce)
        }
        #expect(error?.kind == .refusedSink(pipeline.state))
        #expect(error?.reason.contains("Grant") == true)
        try publisher.published(run)
    }

    @Test func `the progress of a sink that is gone is deleted by the next run`() throws {
        let pipeline = try Pipeline.embedded()
        let first = pipeline.publisher()
        try first.opened()
        try first.published(pipeline.run(1...2))
        let second = KafkaPublisher(
            KafkaSettings(
                name: pipeline.name, client: pipeline.client, sinks: [pipeline.plans[0]],
                guarantee: .atLeastOnce, topics: .trust, journal: pipeline.journal,
                instance: "two"), lastEpoch: { 1 })
        #expect(try second.opened().keys.map(\.self) == [pipeline.events])
        try second.published(Run(parts: [pipeline.run(3...3).parts[0]]))
        #expect(try pipeline.publisher().opened().keys.map(\.self) == [pipeline.events])
        let tombstones = try pipeline.read(pipeline.progress).filter { $0.value == nil }
        #expect(tombstones.map(\.keyText) == [pipeline.state.text])
    }

    @Test(arguments: ["no json", #"{"version":2,"journal":"x"}"#, "[]"])
    func `a progress record of another program is a configuration error`(value: String) throws {
        let pipeline = try Pipeline.embedded()
        let producer = try KafkaProducer(pipeline.client)
        try producer.produce(
            topic: pipeline.progress, key: Array("t".utf8), value: Array(value.utf8))
        try producer.flush(timeout: .seconds(20))
        let error = failure { _ = try pipeline.publisher().open() }
        #expect(error?.kind == .misconfigured)
        #expect(error?.reason.contains(pipeline.progress) == true)
    }

    @Test func `who finds another's progress on opening again was taken over`() throws {
        let pipeline = try Pipeline.embedded()
        let (one, two) = (pipeline.publisher(instance: "one"), pipeline.publisher(instance: "two"))
        try one.opened()
        try one.published(pipeline.run(1...1))
        // Another's progress at the first opening is that of our predecessor.
        #expect(try two.opened()[pipeline.events]?.instance == "one")
        #expect(try two.opened()[pipeline.events]?.instance == "one")
        #expect(try one.opened()[pipeline.events]?.instance == "one")
        try two.published(pipeline.run(2...2))
        #expect(try two.opened()[pipeline.events]?.position == JournalPosition(2))
        let error = failure { _ = try one.open() }
        #expect(error?.kind == .takenOver)
        #expect(error?.reason.contains("another relay runs as \(pipeline.name)") == true)
    }

    @Test func `a property that librdkafka refuses is a configuration error`() throws {
        var pipeline = try Pipeline.embedded()
        pipeline.client.set("linger.sm", "5")
        let error = failure { _ = try pipeline.publisher().open() }
        #expect(error?.kind == .misconfigured)
        #expect(error?.reason.contains("linger.sm") == true)
    }

    @Test func `closing from another thread ends a call that waits`() throws {
        var pipeline = Pipeline("127.0.0.1:1")
        pipeline.topics = .trust
        let publisher = pipeline.publisher()
        let thread = Thread {
            Thread.sleep(forTimeInterval: 0.3)
            publisher.close(within: .seconds(5))
        }
        thread.start()
        let start = ContinuousClock.now
        let error = failure { _ = try publisher.open() }
        #expect(error?.kind == .unavailable)
        // Not a speed: its patience is 30 seconds.
        #expect(ContinuousClock.now - start < KafkaPublisher.patience / 2)
    }
}

// Transactions as far as the mock goes: it answers all of them, and can be told to refuse.
@Suite struct KafkaTransactionTests {
    private func pipeline(_ mock: KafkaMockCluster) throws -> Pipeline {
        var pipeline = Pipeline(mock.bootstrap)
        pipeline.topics = .trust
        for topic in pipeline.plans.map(\.name.text) + [pipeline.progress] {
            try mock.createTopic(topic, partitions: 1)
        }
        return pipeline
    }

    @Test(arguments: [47, 90, 48] as [Int32])
    func `a fatal end of a transaction asks to be opened anew, and that heals`(
        number: Int32
    ) throws {
        let mock = try KafkaMockCluster()
        let pipeline = try pipeline(mock)
        let publisher = pipeline.publisher()
        try publisher.opened()
        try publisher.published(pipeline.run(1...3))
        try mock.push([number], for: .endTransaction)
        #expect(failure { try publisher.publish(pipeline.run(4...4)) }?.kind == .reopen)
        #expect(failure { try publisher.publish(pipeline.run(4...4)) }?.kind == .reopen)
        #expect(failure { try publisher.probe() }?.kind == .reopen)
        try publisher.opened()
        try publisher.published(pipeline.run(4...4))
    }

    @Test func `a coordinator that stumbles is asked again within the run`() throws {
        let mock = try KafkaMockCluster()
        let pipeline = try pipeline(mock)
        let publisher = pipeline.publisher()
        try mock.push([51, 15], for: .initProducerID)
        try publisher.opened()
        try mock.push([-195, 14], for: .endTransaction)
        try publisher.published(pipeline.run(1...3))
        #expect(try pipeline.read(pipeline.events.text).count == 3)
    }

    @Test func `a refused record aborts its transaction and names its sink`() throws {
        let mock = try KafkaMockCluster()
        let pipeline = try pipeline(mock)
        let publisher = pipeline.publisher()
        try publisher.opened()
        try mock.push([10], for: .produce)
        let run = Run(parts: [pipeline.run(1...1).parts[0]])
        var kinds: [PublishFailure.Kind] = []
        let isDone = eventually {
            guard let error = failure({ try publisher.publish(run) }) else { return true }
            kinds.append(error.kind)
            if error.kind == .reopen { _ = failure { _ = try publisher.open() } }
            return false
        }
        #expect(isDone)
        // The progress record may be the one that is refused first: it says nothing of a sink.
        #expect(
            kinds.first == .refusedRecord(pipeline.events) || kinds.first == .again
                || kinds.first == .reopen)
    }

    @Test func `an unauthorized partition of a transaction blocks its sink alone`() throws {
        let mock = try KafkaMockCluster()
        let pipeline = try pipeline(mock)
        let publisher = pipeline.publisher()
        try publisher.opened()
        try mock.push([29], for: .addPartitions)
        let run = Run(parts: [pipeline.run(1...1).parts[1]])
        let kind = failure { try publisher.publish(run) }?.kind
        #expect(kind == .refusedSink(pipeline.state) || kind == .unavailable)
    }

    @Test func `a broker that goes away is noticed when idle, and found again`() throws {
        let mock = try KafkaMockCluster()
        let pipeline = try pipeline(mock)
        let publisher = pipeline.publisher()
        try publisher.opened()
        try publisher.published(pipeline.run(1...1))
        try publisher.probe()
        try mock.setBroker(1, isUp: false)
        #expect(eventually { failure { try publisher.probe() }?.kind == .unavailable })
        try mock.setBroker(1, isUp: true)
        #expect(eventually { failure { _ = try publisher.open() } == nil })
        try publisher.published(pipeline.run(2...2))
    }
}
