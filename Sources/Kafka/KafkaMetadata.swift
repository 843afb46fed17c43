internal import CRdkafka

/// What a cluster consists of, as one broker knew it.
public struct KafkaMetadata: Sendable, Hashable {
    /// A broker as it advertises itself.
    public struct Broker: Sendable, Hashable {
        /// Its node id.
        public let id: Int32
        /// The host it wants to be reached at.
        public let host: String
        /// The port it wants to be reached at.
        public let port: Int
    }

    /// A partition and where it lies.
    public struct Partition: Sendable, Hashable {
        /// Its number in the topic, from 0.
        public let id: Int32
        /// The node that leads it; -1 when none does.
        public let leader: Int32
        /// How many copies it has.
        public let replicas: Int
        /// How many of them are in step.
        public let inSync: Int
    }

    /// A topic, or why it cannot be told of.
    public struct Topic: Sendable, Hashable {
        /// Its name.
        public let name: String
        /// Its partitions, by number.
        public let partitions: [Partition]
        /// `unknownTopic`, `unauthorized` or something transient.
        public let error: KafkaError?
    }

    /// The brokers, by id.
    public let brokers: [Broker]
    /// The topics that were asked for.
    public let topics: [Topic]

    init(_ metadata: rd_kafka_metadata_t) {
        brokers = unsafe UnsafeBufferPointer(
            start: metadata.brokers, count: Int(metadata.broker_cnt)
        ).map { broker in
            unsafe Broker(
                id: broker.id, host: broker.host.map { unsafe String(cString: $0) } ?? "",
                port: Int(broker.port))
        }.sorted { $0.id < $1.id }
        topics = unsafe UnsafeBufferPointer(
            start: metadata.topics, count: Int(metadata.topic_cnt)
        ).map { unsafe Topic($0) }
    }
}

extension KafkaMetadata.Topic {
    init(_ topic: rd_kafka_metadata_topic_t) {
        name = unsafe topic.topic.map { unsafe String(cString: $0) } ?? ""
        error = unsafe KafkaError(number: topic.err.rawValue)
        partitions = unsafe UnsafeBufferPointer(
            start: topic.partitions, count: Int(topic.partition_cnt)
        ).map { partition in
            unsafe KafkaMetadata.Partition(
                id: partition.id, leader: partition.leader,
                replicas: Int(partition.replica_cnt), inSync: Int(partition.isr_cnt))
        }.sorted { $0.id < $1.id }
    }
}

extension KafkaHandle {
    /// Asks one broker, blocking at most `timeout`.
    ///
    /// - Parameters:
    ///   - topic: the one to tell of; nil for those that the client uses, or for `all`.
    ///   - all: tell of every topic that the client may see.
    func metadata(
        topic: String?, all: Bool, timeout: Duration
    ) throws(KafkaError) -> KafkaMetadata {
        let (number, found): (Int32, KafkaMetadata?) = try unsafe use {
            (client) throws(KafkaError) in
            var handle: OpaquePointer?
            if let topic {
                unsafe handle = rd_kafka_topic_new(client, topic, nil)
                guard unsafe handle != nil else {
                    let last = rd_kafka_last_error().rawValue
                    return (last == 0 ? Number.invalidArgument : last, nil)
                }
            }
            defer { if let handle = unsafe handle { unsafe rd_kafka_topic_destroy(handle) } }
            var metadata: UnsafePointer<rd_kafka_metadata>?
            let number = unsafe rd_kafka_metadata(
                client, all ? 1 : 0, handle, &metadata, timeout.kafkaMilliseconds
            ).rawValue
            guard number == 0, let metadata = unsafe metadata else { return (number, nil) }
            defer { unsafe rd_kafka_metadata_destroy(metadata) }
            return unsafe (0, KafkaMetadata(metadata.pointee))
        }
        if let found {
            callbacks.succeeded()
            return found
        }
        throw explained(KafkaError(number: number) ?? .timedOut("no metadata came"))
    }
}
