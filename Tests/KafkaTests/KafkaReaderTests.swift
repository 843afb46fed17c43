import Kafka
import Testing
import Threading

@Suite struct KafkaConsumerTests {
    @Test func `a topic is read to its end once, all partitions, in order`() throws {
        let mock = try Mock()
        let topic = try mock.topic(partitions: 4)
        let producer = try KafkaProducer(mock.configuration)
        for index in 0..<2000 {
            try producer.produce(
                topic: topic, key: bytes("\(index % 50)"), value: bytes("\(index)"))
        }
        try producer.flush(timeout: .seconds(30))
        let records = try contents(of: topic, mock.configuration)
        #expect(records.count == 2000)
        for (_, ofOne) in Dictionary(grouping: records, by: \.partition) {
            #expect(ofOne.map(\.offset) == Array(0..<Int64(ofOne.count)))
        }
    }

    @Test func `an empty topic ends at once and one that is missing is unknown`() throws {
        let mock = try Mock()
        let topic = try mock.topic(partitions: 2)
        #expect(try contents(of: topic, mock.configuration).isEmpty)
        let admin = try KafkaAdmin(mock.configuration)
        try mock.cluster.setError(3, ofTopic: topic)
        let error = #expect(throws: KafkaError.self) {
            _ = try admin.topic(topic, timeout: .seconds(5))
        }
        #expect(error?.kind == .unknownTopic)
    }

    @Test func `the same reader reads a topic again and sees what came since`() throws {
        let mock = try Mock()
        let topic = try mock.topic()
        let producer = try KafkaProducer(mock.configuration)
        let consumer = try KafkaConsumer(mock.configuration)
        for round in 1...3 {
            try producer.produce(topic: topic, key: nil, value: [UInt8(round)])
            try producer.flush(timeout: .seconds(20))
            var count = 0
            try consumer.read(topic: topic, patience: .seconds(20)) { _ in count += 1 }
            #expect(count == round)
        }
        #expect(consumer.close())
    }

    @Test func `what the taker throws ends the reading`() throws {
        struct Enough: Error {}
        let mock = try Mock()
        let topic = try mock.topic()
        let producer = try KafkaProducer(mock.configuration)
        for _ in 0..<10 { try producer.produce(topic: topic, key: nil, value: []) }
        try producer.flush(timeout: .seconds(20))
        let consumer = try KafkaConsumer(mock.configuration)
        #expect(throws: Enough.self) {
            try consumer.read(topic: topic, patience: .seconds(20)) { _ in throw Enough() }
        }
        #expect(consumer.close())
    }

    @Test func `a follower starts at an offset and gets what comes, with the ends between`() throws
    {
        let mock = try Mock()
        let topic = try mock.topic()
        let producer = try KafkaProducer(mock.configuration)
        for index: UInt8 in 0..<5 { try producer.produce(topic: topic, key: nil, value: [index]) }
        try producer.flush(timeout: .seconds(20))
        let consumer = try KafkaConsumer(mock.configuration)
        try consumer.start(topic: topic, partition: 0, at: .offset(3))
        var seen: [UInt8] = []
        var end: Int64?
        while end == nil {
            switch try #require(try consumer.next(timeout: .seconds(20))) {
            case .record(let record): seen += record.value ?? []
            case .end(_, _, let offset): end = offset
            }
        }
        #expect(seen == [3, 4])
        #expect(end == 5)
        try producer.produce(topic: topic, key: nil, value: [5])
        try producer.flush(timeout: .seconds(20))
        guard case .record(let record) = try consumer.next(timeout: .seconds(20)) else {
            Issue.record("no record")
            return
        }
        #expect(record.value == [5])
        try consumer.stop(topic: topic, partition: 0)
        #expect(consumer.close())
    }

    @Test func `a reader without brokers gives up in time and says why`() throws {
        let consumer = try KafkaConsumer(KafkaConfiguration(bootstrap: "127.0.0.1:1"))
        let error = #expect(throws: KafkaError.self) {
            try consumer.read(topic: "t", patience: .milliseconds(500)) { _ in }
        }
        #expect(error?.kind == .unreachable)
        #expect(consumer.close())
    }
}

@Suite struct KafkaAdminMockTests {
    @Test func `brokers, topics and partitions are told`() throws {
        let mock = try Mock(brokers: 3)
        let topic = try mock.topic(partitions: 5)
        let admin = try KafkaAdmin(mock.configuration)
        let metadata = try admin.metadata(timeout: .seconds(20))
        #expect(metadata.brokers.map(\.id) == [1, 2, 3])
        #expect(metadata.brokers.allSatisfy { mock.cluster.bootstrap.contains(":\($0.port)") })
        #expect(metadata.topics.map(\.name) == [topic])
        let one = try admin.topic(topic, timeout: .seconds(20))
        #expect(one.partitions.map(\.id) == [0, 1, 2, 3, 4])
        #expect(one.partitions.allSatisfy { (1...3).contains($0.leader) })
        #expect(admin.close())
    }

    @Test func `without brokers every question ends in time and says why`() throws {
        let admin = try KafkaAdmin(KafkaConfiguration(bootstrap: "127.0.0.1:1"))
        let asked: [() throws -> Void] = [
            { _ = try admin.metadata(timeout: .milliseconds(300)) },
            { _ = try admin.topic("t", timeout: .milliseconds(300)) },
            { _ = try admin.settings(ofTopic: "t", timeout: .milliseconds(300)) },
            {
                _ = try admin.createTopics(
                    [KafkaNewTopic(name: "t", partitions: 1)], timeout: .milliseconds(300))
            },
        ]
        for ask in asked {
            let error = #expect(throws: KafkaError.self) { try ask() }
            #expect(error?.kind == .unreachable)
        }
        #expect(admin.close())
    }
}
