import Testing
import Threading

@testable import Kafka

@Suite struct KafkaProducerTests {
    @Test func `each record is reported once under its token and can be read back`() throws {
        let mock = try Mock()
        let topic = try mock.topic(partitions: 3)
        let producer = try KafkaProducer(mock.configuration)
        for token in 0..<100 {
            try producer.produce(
                topic: topic, key: bytes("key \(token % 7)"), value: bytes("value \(token)"),
                token: token)
        }
        try producer.flush(timeout: .seconds(20))
        let reports = producer.poll()
        #expect(Set(reports.map(\.token)) == Set(0..<100))
        #expect(reports.count == 100)
        #expect(reports.allSatisfy { $0.error == nil && $0.offset >= 0 && $0.partition >= 0 })
        let records = try contents(of: topic, mock.configuration)
        #expect(Set(records.compactMap(\.text)) == Set((0..<100).map { "value \($0)" }))
        #expect(producer.close())
    }

    @Test func `absent, empty and filled keys, values and headers stay what they are`() throws {
        let mock = try Mock()
        let topic = try mock.topic()
        let producer = try KafkaProducer(mock.configuration)
        let headers = [
            KafkaHeader("content-type", "application/cloudevents+json"),
            KafkaHeader(name: "none", value: nil), KafkaHeader(name: "empty", value: []),
            KafkaHeader(name: "twice", value: [0, 255]), KafkaHeader(name: "twice", value: [1]),
        ]
        try producer.produce(topic: topic, key: nil, value: nil)
        try producer.produce(topic: topic, key: [], value: [], headers: headers)
        try producer.produce(topic: topic, key: [0, 1], value: [0, 2, 0])
        try producer.flush(timeout: .seconds(20))
        let records = try contents(of: topic, mock.configuration)
        try #require(records.count == 3)
        #expect(records[0].key == nil && records[0].value == nil && records[0].headers.isEmpty)
        #expect(records[1].key == [] && records[1].value == [])
        #expect(records[1].headers == headers)
        #expect(records[2].key == [0, 1] && records[2].value == [0, 2, 0])
        #expect(records.map(\.offset) == [0, 1, 2])
        #expect(records.allSatisfy { ($0.milliseconds ?? 0) > 1_600_000_000_000 })
    }

    @Test func `keys go to the partition that Kafka's own murmur2 gives them`() throws {
        // The hashes that Kafka's own client documents by its tests; it drops the sign.
        let known: [(key: String, hash: Int32)] = [
            ("21", -973_932_308), ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829), ("abc", 479_470_107),
        ]
        let mock = try Mock()
        let topic = try mock.topic(partitions: 7)
        let producer = try KafkaProducer(mock.configuration)
        for (index, (key, _)) in known.enumerated() {
            try producer.produce(topic: topic, key: bytes(key), value: [], token: index)
        }
        for report in try producer.deliveries(known.count) {
            let expected = (known[report.token].hash & 0x7fff_ffff) % 7
            #expect(report.partition == expected, "\(known[report.token].key)")
        }
    }

    @Test func `a record over the client's limit is refused at once, by kind`() throws {
        let mock = try Mock()
        let topic = try mock.topic()
        let producer = try KafkaProducer(mock.configuration)
        let error = #expect(throws: KafkaError.self) {
            try producer.produce(
                topic: topic, key: nil, value: Array(repeating: 1, count: 2_000_000))
        }
        #expect(error?.kind == .messageTooLarge)
        #expect(error?.code == "MSG_SIZE_TOO_LARGE")
        #expect(producer.poll().isEmpty)
    }

    @Test func `a full queue says so and takes records again after polling`() throws {
        let mock = try Mock()
        let topic = try mock.topic()
        let producer = try KafkaProducer(
            mock.configuration.setting("queue.buffering.max.messages", "10")
                .setting("linger.ms", "200"))
        let error = #expect(throws: KafkaError.self) {
            for token in 0..<11 {
                try producer.produce(topic: topic, key: nil, value: [], token: token)
            }
        }
        #expect(error?.kind == .queueFull)
        _ = try producer.deliveries(10)
        try producer.produce(topic: topic, key: nil, value: [], token: 11)
        #expect(try producer.deliveries(1).map(\.token) == [11])
    }

    @Test(arguments: [
        (Int32(10), KafkaError.Kind.messageTooLarge), (87, .invalidRecord), (29, .unauthorized),
        (18, .messageTooLarge),
    ])
    func `a refusal of the broker reaches the record's report, by kind`(
        number: Int32, kind: KafkaError.Kind
    ) throws {
        let mock = try Mock()
        let topic = try mock.topic()
        let producer = try KafkaProducer(mock.configuration)
        try mock.cluster.push([number], for: .produce)
        try producer.produce(topic: topic, key: nil, value: [1], token: 5)
        let report = try producer.deliveries(1)[0]
        #expect(report.token == 5)
        #expect(report.error?.kind == kind)
        #expect(report.error?.number == number)
        #expect(report.offset == -1)
    }

    @Test func `a purge reports what it took out`() throws {
        let mock = try Mock()
        let topic = try mock.topic()
        let producer = try KafkaProducer(mock.configuration.setting("linger.ms", "60000"))
        try producer.produce(topic: topic, key: nil, value: [1], token: 1)
        try producer.purge()
        #expect(try producer.deliveries(1).map(\.error?.kind) == [.purged])
    }

    @Test func `brokers that are down are a complaint until they answer again`() throws {
        let mock = try Mock()
        let topic = try mock.topic()
        let producer = try KafkaProducer(
            mock.configuration.setting("reconnect.backoff.max.ms", "100"))
        try producer.produce(topic: topic, key: nil, value: [1])
        _ = try producer.deliveries(1)
        #expect(producer.trouble == nil)
        try mock.cluster.setBroker(1, isUp: false)
        #expect(
            eventually {
                _ = producer.poll(); return producer.trouble?.kind == .unreachable
            })
        let error = #expect(throws: KafkaError.self) {
            try producer.probe(timeout: .milliseconds(300))
        }
        #expect(error?.kind == .unreachable)
        try mock.cluster.setBroker(1, isUp: true)
        #expect(
            eventually {
                do { try producer.probe(timeout: .seconds(1)) } catch { return false }
                return producer.trouble == nil
            })
        try producer.produce(topic: topic, key: nil, value: [2])
        #expect(try producer.deliveries(1).allSatisfy { $0.error == nil })
    }

    @Test func `librdkafka's log reaches the closure`() throws {
        let lines = Lock<[KafkaLogLine]>([])
        let producer = try KafkaProducer(
            KafkaConfiguration(bootstrap: "127.0.0.1:1"),
            log: { line in lines.signal { $0.append(line) } })
        let line = lines.wait(timeout: .seconds(20)) { $0.first { $0.facility == "FAIL" } }
        #expect(line?.text.contains("127.0.0.1:1") == true)
        #expect(line?.level == 3)
        producer.close()
    }

    @Test func `a closed producer refuses work, twice closed or not`() throws {
        let mock = try Mock()
        let producer = try KafkaProducer(mock.configuration)
        #expect(producer.close())
        #expect(producer.close())
        let error = #expect(throws: KafkaError.self) {
            try producer.produce(topic: "t", key: nil, value: nil)
        }
        #expect(error?.kind == .closed)
        #expect(producer.poll().isEmpty)
    }

    @Test func `closing gives up at its limit while a call blocks inside`() throws {
        let mock = try Mock()
        let topic = try mock.topic()
        let producer = try KafkaProducer(mock.configuration)
        try mock.cluster.setBroker(1, isUp: false)
        try producer.produce(topic: topic, key: nil, value: [1])
        let thread = OSThread(name: "flush") {
            // Longer than the test: it is let go when the broker is back.
            #expect(throws: Never.self) { try producer.flush(timeout: .seconds(120)) }
        }
        #expect(eventually { producer.handle.callsInside > 0 })
        #expect(!producer.close(timeout: .milliseconds(1)))
        try mock.cluster.setBroker(1, isUp: true)
        #expect(thread.join(timeout: .seconds(60)))
        #expect(producer.close(timeout: .seconds(20)))
    }
}

/// Asks until it is so, at most 20 seconds.
func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = ContinuousClock.now + .seconds(20)
    while ContinuousClock.now < deadline {
        if try condition() { return true }
        _ = Lock(()).wait(timeout: .milliseconds(20)) { _ -> Bool? in nil }
    }
    return false
}
