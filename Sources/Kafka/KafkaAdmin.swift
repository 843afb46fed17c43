internal import CRdkafka
internal import Threading

/// A topic to be made.
public struct KafkaNewTopic: Sendable {
    /// Its name.
    public let name: String
    /// How many partitions; -1 for the broker's default.
    public let partitions: Int
    /// How many copies; -1 for the broker's default.
    public let replicationFactor: Int
    /// Settings of its own, `cleanup.policy` and so on.
    public let settings: [String: String]

    /// Describes a topic; nothing is asked of a broker yet.
    public init(
        name: String, partitions: Int, replicationFactor: Int = -1, settings: [String: String] = [:]
    ) {
        self.name = name
        self.partitions = partitions
        self.replicationFactor = replicationFactor
        self.settings = settings
    }
}

/// One setting of a topic as the broker tells it.
public struct KafkaTopicSetting: Sendable, Hashable {
    /// Its name, `cleanup.policy`.
    public let name: String
    /// Its value; nil when the broker keeps it secret.
    public let value: String?
    /// Whether nobody set it for this topic.
    public let isDefault: Bool
}

/// Looks at a cluster and changes its topics.
///
/// Threads: any. Every call blocks at most its `timeout` and a second. Looking never creates a
/// topic, also where brokers create them by themselves.
public final class KafkaAdmin: Sendable {
    private let handle: KafkaHandle

    /// Makes the client; reaches no broker yet.
    public init(
        _ configuration: KafkaConfiguration, log: @escaping KafkaLog = { _ in }
    ) throws(KafkaError) {
        // A consumer, since only those can be kept from creating topics by asking for them.
        handle = try KafkaHandle(
            .consumer,
            configuration.surrounded(
                defaults: [], fixed: [("allow.auto.create.topics", "false")]),
            log: log)
    }

    /// Tells of brokers and of every topic that we may see.
    public func metadata(timeout: Duration) throws(KafkaError) -> KafkaMetadata {
        try handle.metadata(topic: nil, all: true, timeout: timeout)
    }

    /// Tells of one topic.
    ///
    /// - Throws: `unknownTopic`, `unauthorized`, or that no broker answered.
    public func topic(
        _ name: String, timeout: Duration
    ) throws(KafkaError) -> KafkaMetadata.Topic {
        let topics = try handle.metadata(topic: name, all: false, timeout: timeout).topics
        guard let topic = topics.first(where: { $0.name == name }) else {
            throw KafkaError(number: 3) ?? .timedOut("the answer lacks the topic")
        }
        if let error = topic.error { throw error }
        return topic
    }

    /// The cluster's own id; nil when no broker tells it in time.
    public func clusterID(timeout: Duration) throws(KafkaError) -> String? {
        try unsafe handle.use { (client) throws(KafkaError) in
            guard let text = unsafe rd_kafka_clusterid(client, timeout.kafkaMilliseconds) else {
                return nil
            }
            defer { unsafe rd_kafka_mem_free(client, text) }
            return unsafe String(cString: text)
        }
    }

    /// Makes topics; the error of each that was refused, by name.
    ///
    /// One that exists has the error `alreadyExists`.
    public func createTopics(
        _ topics: [KafkaNewTopic], timeout: Duration
    ) throws(KafkaError) -> [String: KafkaError] {
        var made: [OpaquePointer?] = unsafe []
        defer { unsafe made.forEach { unsafe rd_kafka_NewTopic_destroy($0) } }
        for topic in topics {
            let (pointer, reason) = unsafe withReason { text, room in
                unsafe rd_kafka_NewTopic_new(
                    topic.name, Int32(clamping: topic.partitions),
                    Int32(clamping: topic.replicationFactor), text, room)
            }
            guard let pointer = unsafe pointer else { throw .configuration(reason) }
            unsafe made.append(pointer)
            for (name, value) in topic.settings.sorted(by: { $0.key < $1.key }) {
                _ = unsafe rd_kafka_NewTopic_set_config(pointer, name, value)
            }
        }
        return try unsafe perform(RD_KAFKA_ADMIN_OP_CREATETOPICS, timeout) {
            client, options, queue in
            unsafe rd_kafka_CreateTopics(client, &made, made.count, options, queue)
        } result: { event in
            guard let result = unsafe rd_kafka_event_CreateTopics_result(event) else { return [:] }
            var count = 0
            let list = unsafe rd_kafka_CreateTopics_result_topics(result, &count)
            return unsafe Self.errors(list, count)
        }
    }

    /// Deletes topics; the error of each that was refused, by name.
    public func deleteTopics(
        _ names: [String], timeout: Duration
    ) throws(KafkaError) -> [String: KafkaError] {
        var topics: [OpaquePointer?] = unsafe names.map { unsafe rd_kafka_DeleteTopic_new($0) }
        defer { unsafe topics.forEach { unsafe rd_kafka_DeleteTopic_destroy($0) } }
        return try unsafe perform(RD_KAFKA_ADMIN_OP_DELETETOPICS, timeout) {
            client, options, queue in
            unsafe rd_kafka_DeleteTopics(client, &topics, topics.count, options, queue)
        } result: { event in
            guard let result = unsafe rd_kafka_event_DeleteTopics_result(event) else { return [:] }
            var count = 0
            let list = unsafe rd_kafka_DeleteTopics_result_topics(result, &count)
            return unsafe Self.errors(list, count)
        }
    }

    /// The settings of a topic, by name.
    ///
    /// - Throws: `unauthorized` when we may not see them, `unknownTopic`.
    public func settings(
        ofTopic name: String, timeout: Duration
    ) throws(KafkaError) -> [String: KafkaTopicSetting] {
        var resources: [OpaquePointer?] = unsafe [
            rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name)
        ]
        defer { unsafe resources.forEach { unsafe rd_kafka_ConfigResource_destroy($0) } }
        let found: [Described] = try unsafe perform(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, timeout) {
            client, options, queue in
            unsafe rd_kafka_DescribeConfigs(client, &resources, resources.count, options, queue)
        } result: { event in
            guard let result = unsafe rd_kafka_event_DescribeConfigs_result(event) else {
                return []
            }
            var count = 0
            let list = unsafe rd_kafka_DescribeConfigs_result_resources(result, &count)
            return unsafe UnsafeBufferPointer(start: list, count: count).compactMap { resource in
                unsafe resource.map { unsafe Described($0) }
            }
        }
        guard let described = found.first else { throw .timedOut("the answer lacks the topic") }
        if let error = described.error { throw error }
        return described.settings
    }

    /// Destroys the client; false when that hangs, and then it is left.
    @discardableResult
    public func close(timeout: Duration = .seconds(10)) -> Bool { handle.close(timeout: timeout) }
}

extension KafkaAdmin {
    /// One resource of a DescribeConfigs answer.
    private struct Described {
        let error: KafkaError?
        var settings: [String: KafkaTopicSetting] = [:]

        init(_ resource: OpaquePointer) {
            let said = unsafe rd_kafka_ConfigResource_error_string(resource)
            error = unsafe KafkaError(
                number: rd_kafka_ConfigResource_error(resource).rawValue,
                reason: said.map { unsafe String(cString: $0) })
            var count = 0
            let list = unsafe rd_kafka_ConfigResource_configs(resource, &count)
            for index in 0..<count {
                guard let entry = unsafe list?[index] else { continue }
                guard let label = unsafe rd_kafka_ConfigEntry_name(entry) else { continue }
                let name = unsafe String(cString: label)
                let value = unsafe rd_kafka_ConfigEntry_value(entry)
                settings[name] = unsafe KafkaTopicSetting(
                    name: name, value: value.map { unsafe String(cString: $0) },
                    isDefault: rd_kafka_ConfigEntry_is_default(entry) == 1)
            }
        }
    }

    private static func errors(
        _ list: UnsafeMutablePointer<OpaquePointer?>?, _ count: Int
    ) -> [String: KafkaError] {
        var errors: [String: KafkaError] = [:]
        for index in 0..<count {
            guard let topic = unsafe list?[index] else { continue }
            let name = unsafe String(cString: rd_kafka_topic_result_name(topic))
            let said = unsafe rd_kafka_topic_result_error_string(topic)
            errors[name] = unsafe KafkaError(
                number: rd_kafka_topic_result_error(topic).rawValue,
                reason: said.map { unsafe String(cString: $0) })
        }
        return errors
    }

    /// Sends an admin request with a queue of its own and waits for its one answer.
    private func perform<Answer>(
        _ operation: rd_kafka_admin_op_t, _ timeout: Duration,
        request: (OpaquePointer, OpaquePointer, OpaquePointer) -> Void,
        result: (OpaquePointer) -> Answer
    ) throws(KafkaError) -> Answer {
        let milliseconds = max(1, timeout.kafkaMilliseconds)
        let (answer, error): (Answer?, KafkaError?) = try unsafe handle.use {
            (client) throws(KafkaError) in
            guard let options = unsafe rd_kafka_AdminOptions_new(client, operation),
                let queue = unsafe rd_kafka_queue_new(client)
            else { preconditionFailure("no memory") }
            defer {
                unsafe rd_kafka_queue_destroy(queue)
                unsafe rd_kafka_AdminOptions_destroy(options)
            }
            let (_, _) = unsafe withReason { text, room in
                unsafe rd_kafka_AdminOptions_set_request_timeout(
                    options, milliseconds, text, room)
            }
            // Only requests that change something know it: the broker answers once it is done.
            (_, _) = unsafe withReason { text, room in
                unsafe rd_kafka_AdminOptions_set_operation_timeout(
                    options, milliseconds, text, room)
            }
            unsafe request(client, options, queue)
            // librdkafka answers by itself when the time is over; the second is for its threads.
            guard let event = unsafe rd_kafka_queue_poll(queue, milliseconds + 1000) else {
                return (nil, .timedOut("no answer to an admin request"))
            }
            defer { unsafe rd_kafka_event_destroy(event) }
            let said = unsafe rd_kafka_event_error_string(event)
            let number = unsafe rd_kafka_event_error(event).rawValue
            if number != 0 {
                let reason = unsafe said.map { unsafe String(cString: $0) }
                return (nil, KafkaError(number: number, reason: reason))
            }
            return unsafe (result(event), nil)
        }
        if let answer {
            handle.callbacks.succeeded()
            return answer
        }
        throw handle.explained(error ?? .timedOut("no answer to an admin request"))
    }
}
