internal import CRdkafka
internal import Threading

/// A Kafka cluster inside this process, for trying out and for tests: librdkafka's mock.
///
/// It listens on random loopback ports, keeps about 5 MB of records per partition in memory, does
/// not fence producers and shows records of open and aborted transactions. It creates topics on
/// first use with four partitions; admin requests to it time out.
///
/// Threads: any. The mock API has no ABI promise (`rdkafka_mock.h`).
public final class KafkaMockCluster: Sendable {
    /// The requests whose answers can be spoilt, by Kafka's API key.
    public enum Request: Int16, Sendable {
        /// Records written.
        case produce = 0
        /// Records read.
        case fetch = 1
        /// What topics and brokers there are.
        case metadata = 3
        /// Which broker coordinates a transactional id or a group.
        case findCoordinator = 10
        /// A producer's id and epoch.
        case initProducerID = 22
        /// A partition joining a transaction.
        case addPartitions = 24
        /// Commit or abort.
        case endTransaction = 26
    }

    private let handle: KafkaHandle
    private let cluster: Handed
    /// The brokers' addresses, `127.0.0.1:40123,…`.
    public let bootstrap: String

    /// Starts the brokers, which have the ids 1 to `brokers`.
    public init(brokers: Int = 1, log: @escaping KafkaLog = { _ in }) throws(KafkaError) {
        // The mock hangs on a client of its own, which has no brokers to look for.
        handle = try KafkaHandle(.producer, KafkaConfiguration(), log: log)
        let made: Handed? = try unsafe handle.use { (client) throws(KafkaError) in
            unsafe rd_kafka_mock_cluster_new(client, Int32(clamping: brokers)).map {
                unsafe Handed($0)
            }
        }
        guard let made else { throw .configuration("the mock cluster cannot listen on loopback") }
        cluster = made
        bootstrap = unsafe String(cString: rd_kafka_mock_cluster_bootstraps(made.pointer))
    }

    deinit { close(timeout: nil) }

    /// Makes a topic; clients then find it as any other.
    public func createTopic(
        _ name: String, partitions: Int, replicationFactor: Int = 1
    ) throws(KafkaError) {
        try unsafe change { cluster in
            unsafe rd_kafka_mock_topic_create(
                cluster, name, Int32(clamping: partitions), Int32(clamping: replicationFactor)
            ).rawValue
        }
    }

    /// Answers the next requests of a kind with these error numbers, one each.
    ///
    /// -195 closes the connection instead of answering.
    public func push(_ errors: [Int32], for request: Request) throws(KafkaError) {
        let codes = errors.map { rd_kafka_resp_err_t($0) }
        try unsafe change { cluster in
            unsafe codes.withUnsafeBufferPointer { list in
                unsafe rd_kafka_mock_push_request_errors_array(
                    cluster, request.rawValue, list.count, list.baseAddress)
            }
            return 0
        }
    }

    /// Takes back errors that were pushed and not used.
    public func clearErrors(for request: Request) throws(KafkaError) {
        try unsafe change { cluster in
            unsafe rd_kafka_mock_clear_request_errors(cluster, request.rawValue)
            return 0
        }
    }

    /// Makes metadata of a topic show an error; 0 takes it back.
    public func setError(_ number: Int32, ofTopic name: String) throws(KafkaError) {
        try unsafe change { cluster in
            unsafe rd_kafka_mock_topic_set_error(cluster, name, rd_kafka_resp_err_t(number))
            return 0
        }
    }

    /// Makes a broker close its connections and refuse new ones, or take them again.
    public func setBroker(_ id: Int32, isUp: Bool) throws(KafkaError) {
        try unsafe change { cluster in
            let set = unsafe isUp ? rd_kafka_mock_broker_set_up : rd_kafka_mock_broker_set_down
            return unsafe set(cluster, id).rawValue
        }
    }

    /// Delays every answer of a broker.
    public func setDelay(_ delay: Duration, ofBroker id: Int32) throws(KafkaError) {
        try unsafe change { cluster in
            unsafe rd_kafka_mock_broker_set_rtt(cluster, id, delay.kafkaMilliseconds).rawValue
        }
    }

    /// Stops the brokers; false when that hangs, and then they are left.
    @discardableResult
    public func close(timeout: Duration?) -> Bool {
        let cluster = self.cluster
        return handle.close(timeout: timeout) {
            unsafe rd_kafka_mock_cluster_destroy(cluster.pointer)
        }
    }

    private func change(_ call: (OpaquePointer) -> Int32) throws(KafkaError) {
        let number = try unsafe handle.use { (_) throws(KafkaError) in unsafe call(cluster.pointer)
        }
        if let error = KafkaError(number: number) { throw error }
    }
}
