import Foundation
import Kafka
import Testing
import Threading

/// The real brokers to test against, as `host:port,…` in the environment; nil without any.
let realBrokers: String? = ProcessInfo.processInfo.environment["KAFKA_TEST_BROKERS"]

extension Trait where Self == ConditionTrait {
    /// Runs only where `KAFKA_TEST_BROKERS` names an Apache Kafka.
    static var realKafka: Self { .enabled(if: realBrokers != nil, "KAFKA_TEST_BROKERS is not set") }
}

/// A name that no other test, run or process uses.
func unique(_ stem: String) -> String {
    "\(stem)-\(String(UInt64.random(in: .min ... .max), radix: 36))"
}

/// A mock cluster and what tests do with it.
struct Mock {
    let cluster: KafkaMockCluster

    init(brokers: Int = 1) throws { cluster = try KafkaMockCluster(brokers: brokers) }

    var configuration: KafkaConfiguration {
        KafkaConfiguration(bootstrap: cluster.bootstrap).setting("linger.ms", "0")
    }

    func topic(partitions: Int = 1) throws -> String {
        let name = unique("topic")
        try cluster.createTopic(name, partitions: partitions)
        return name
    }
}

extension KafkaProducer {
    /// Waits until `count` deliveries came, or fails.
    func deliveries(_ count: Int, limit: Duration = .seconds(30)) throws -> [KafkaDelivery] {
        let deadline = ContinuousClock.now + limit
        var all: [KafkaDelivery] = []
        while all.count < count, ContinuousClock.now < deadline {
            all += poll(timeout: .milliseconds(100))
        }
        try #require(all.count == count)
        return all
    }
}

/// All records of a topic as text, by key and value.
func contents(
    of topic: String, _ configuration: KafkaConfiguration,
    isolation: KafkaConsumer.Isolation = .readCommitted
) throws -> [KafkaRecord] {
    let consumer = try KafkaConsumer(configuration, isolation: isolation)
    defer { consumer.close() }
    var records: [KafkaRecord] = []
    try consumer.read(topic: topic, patience: .seconds(20)) { records.append($0) }
    return records
}

extension KafkaRecord {
    var text: String? { value.map { String(decoding: $0, as: UTF8.self) } }
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
