import Kafka
import Testing

// What only brokers of Apache Kafka do. They are shared with other tests: every name is unique.
@Suite(.realKafka) struct RealKafkaTests {
    let configuration: KafkaConfiguration
    let admin: KafkaAdmin

    init() throws {
        configuration = KafkaConfiguration(bootstrap: try #require(realBrokers))
            .setting("linger.ms", "0")
        admin = try KafkaAdmin(configuration)
    }

    private func topic(
        partitions: Int = 1, settings: [String: String] = [:]
    ) throws -> String {
        let name = unique("wrapper")
        let refused = try admin.createTopics(
            [KafkaNewTopic(name: name, partitions: partitions, settings: settings)],
            timeout: .seconds(20))
        try #require(refused.isEmpty)
        return name
    }

    private func transactional(_ id: String) throws -> KafkaProducer {
        let producer = try KafkaProducer(configuration.setting("transactional.id", id))
        #expect(
            eventually {
                do { try producer.initTransactions(timeout: .seconds(10)) } catch { return false }
                return true
            })
        return producer
    }

    @Test func `topics are made with their settings, told, refused twice and deleted`() throws {
        let name = try topic(partitions: 3, settings: ["cleanup.policy": "compact"])
        #expect(
            eventually {
                (try? admin.topic(name, timeout: .seconds(10)))?.partitions.count == 3
            })
        let settings = try admin.settings(ofTopic: name, timeout: .seconds(20))
        #expect(settings["cleanup.policy"]?.value == "compact")
        #expect(settings["cleanup.policy"]?.isDefault == false)
        #expect(settings["retention.ms"]?.isDefault == true)
        let again = try admin.createTopics(
            [KafkaNewTopic(name: name, partitions: 3)], timeout: .seconds(20))
        #expect(again[name]?.kind == .alreadyExists)
        #expect(try admin.deleteTopics([name], timeout: .seconds(20)).isEmpty)
        #expect(
            eventually {
                do { _ = try admin.topic(name, timeout: .seconds(5)) } catch let error as KafkaError
                { return error.kind == .unknownTopic } catch {}
                return false
            })
        #expect(try admin.clusterID(timeout: .seconds(10))?.isEmpty == false)
    }

    @Test func `a topic that is missing is unknown to all that ask, and is not made`() throws {
        let name = unique("missing")
        let asked: [() throws -> Void] = [
            { _ = try admin.topic(name, timeout: .seconds(5)) },
            { _ = try admin.settings(ofTopic: name, timeout: .seconds(5)) },
            { _ = try contents(of: name, configuration) },
        ]
        for ask in asked {
            #expect(#expect(throws: KafkaError.self) { try ask() }?.kind == .unknownTopic)
        }
        #expect(try admin.metadata(timeout: .seconds(10)).topics.allSatisfy { $0.name != name })
    }

    @Test func `a committed reader sees what was committed, and nothing aborted or open`() throws {
        let name = try topic(partitions: 2)
        let producer = try transactional(unique("id"))
        for (value, isCommitted) in [("a", true), ("b", false), ("c", true)] {
            try producer.begin()
            for key in 0..<4 {
                try producer.produce(topic: name, key: bytes("\(key)"), value: bytes(value))
            }
            if isCommitted {
                try producer.commit(timeout: .seconds(20))
            } else {
                try producer.flush(timeout: .seconds(20))
                try producer.abort(timeout: .seconds(20))
            }
        }
        let seen = try contents(of: name, configuration).compactMap(\.text)
        #expect(seen.sorted() == ["a", "a", "a", "a", "c", "c", "c", "c"])
        #expect(try contents(of: name, configuration, isolation: .readUncommitted).count == 12)
    }

    @Test func `a reader waits for the end of another's open transaction, and names where`() throws
    {
        let name = try topic()
        let producer = try transactional(unique("id"))
        try producer.begin()
        try producer.produce(topic: name, key: nil, value: bytes("open"))
        try producer.flush(timeout: .seconds(20))
        let consumer = try KafkaConsumer(configuration)
        let error = #expect(throws: KafkaError.self) {
            try consumer.read(topic: name, patience: .seconds(1)) { _ in }
        }
        #expect(error?.kind == .heldBack)
        #expect(error?.reason.contains("partitions 0 of \(name)") == true)
        try producer.commit(timeout: .seconds(20))
        #expect(try contents(of: name, configuration).compactMap(\.text) == ["open"])
    }

    @Test func `a second producer of an id fences the first, which says so from every call`() throws
    {
        let name = try topic()
        let id = unique("id")
        let old = try transactional(id)
        try old.begin()
        try old.produce(topic: name, key: nil, value: bytes("old"))
        try old.flush(timeout: .seconds(20))
        let new = try transactional(id)
        let error = #expect(throws: KafkaError.self) { try old.commit(timeout: .seconds(20)) }
        #expect(error?.kind == .fenced && error?.isFatal == true)
        #expect(#expect(throws: KafkaError.self) { try old.begin() }?.kind == .fenced)
        try new.begin()
        try new.produce(topic: name, key: nil, value: bytes("new"))
        try new.commit(timeout: .seconds(20))
        #expect(try contents(of: name, configuration).compactMap(\.text) == ["new"])
        #expect(old.close() && new.close())
    }

    @Test func `a record larger than the topic takes fails its transaction, by kind`() throws {
        let name = try topic(settings: ["max.message.bytes": "2000"])
        let producer = try transactional(unique("id"))
        try producer.begin()
        try producer.produce(
            topic: name, key: nil, value: (0..<5000).map { _ in UInt8.random(in: 0...255) },
            token: 1)
        let error = #expect(throws: KafkaError.self) { try producer.commit(timeout: .seconds(20)) }
        #expect(error?.requiresAbort == true && error?.kind == .messageTooLarge)
        #expect(producer.poll().first?.error?.kind == .messageTooLarge)
        try producer.abort(timeout: .seconds(20))
        // The next transaction may fail once with a sequence error, the one after it works.
        var attempts = 0
        #expect(
            eventually {
                attempts += 1
                do {
                    try producer.begin()
                    try producer.produce(topic: name, key: nil, value: bytes("ok"))
                    try producer.commit(timeout: .seconds(20))
                    return true
                } catch {
                    try? producer.abort(timeout: .seconds(20))
                    return false
                }
            })
        #expect(attempts <= 2)
        #expect(try contents(of: name, configuration).compactMap(\.text) == ["ok"])
    }

    @Test func `offsets that transactions leave out do not keep a reader from the end`() throws {
        let name = try topic()
        let producer = try transactional(unique("id"))
        for round in 0..<20 {
            try producer.begin()
            try producer.produce(topic: name, key: nil, value: bytes("\(round)"))
            try producer.commit(timeout: .seconds(20))
        }
        let records = try contents(of: name, configuration)
        #expect(records.compactMap(\.text) == (0..<20).map(String.init))
        #expect(records.last?.offset == 38)
    }
}
