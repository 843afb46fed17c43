public import Kafka
internal import RelayCore

/// A broker inside this process, for trying the relay out: no durability, nothing to install.
///
/// It keeps about 5 MB a partition, and neither fences nor hides aborted records: whoever uses it
/// publishes at least once. It can be read from outside (`kcat -b` its address) while the process
/// runs.
public final class EmbeddedBroker: Sendable {
    private let cluster: KafkaMockCluster
    /// The address to read from, `127.0.0.1:40123`.
    public var bootstrap: String { cluster.bootstrap }

    /// Starts the broker and makes a pipeline's topics.
    ///
    /// - Parameters:
    ///   - sinkTopics: topics of Kafka and state sinks.
    ///   - name: the pipeline's name, for its progress topic.
    ///   - partitions: of each sink's topic; the progress topic has one.
    public init(
        sinkTopics: [String], name: String, partitions: Int, log: @escaping KafkaLog = { _ in }
    ) throws(KafkaError) {
        cluster = try KafkaMockCluster(brokers: 1, log: log)
        for topic in Set(sinkTopics).sorted() {
            try cluster.createTopic(topic, partitions: partitions)
        }
        try cluster.createTopic("\(name).progress", partitions: 1)
    }

    /// Stops the broker; its records are gone.
    @discardableResult
    public func close(within limit: Duration = .seconds(5)) -> Bool {
        cluster.close(timeout: limit)
    }
}
