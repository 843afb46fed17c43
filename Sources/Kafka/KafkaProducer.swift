internal import CRdkafka
internal import Threading

/// An idempotent producer, or a transactional one where `transactional.id` is set.
///
/// It acknowledges by all replicas, keeps order over retries and spreads keys as Kafka's own
/// clients do (murmur2). Calls block as long as their `timeout` says: call from threads of your
/// own. Every record produced has exactly one `KafkaDelivery`, collected by `poll`.
///
/// Threads: any, but transactions are one sequence: one thread should run them.
public final class KafkaProducer: Sendable {
    /// Delivery reports held for `poll`; beyond it `produce` says that the queue is full.
    public static let reportLimit = 200_000

    let handle: KafkaHandle
    /// Whether `transactional.id` is set.
    public let isTransactional: Bool

    /// Makes the client and its threads; reaches no broker yet.
    ///
    /// - Parameter log: takes librdkafka's log on its threads.
    public init(
        _ configuration: KafkaConfiguration, log: @escaping KafkaLog = { _ in }
    ) throws(KafkaError) {
        let whole = configuration.surrounded(
            defaults: [],
            fixed: [
                ("enable.idempotence", "true"), ("partitioner", "murmur2_random"),
            ])
        isTransactional = configuration.contains("transactional.id")
        handle = try KafkaHandle(.producer, whole, log: log)
    }

    /// What the client complained of since brokers last answered; nil when there is nothing.
    ///
    /// `unreachable` when all brokers are down, `authentication` when they refuse us. Complaints
    /// arrive in `poll`; `probe` finds out whether they still hold.
    public var trouble: KafkaError? { handle.callbacks.trouble }

    /// The error after which this client is of no more use.
    public var fatalError: KafkaError? {
        do throws(KafkaError) {
            return try unsafe handle.use { (client) throws(KafkaError) in
                unsafe KafkaError(fatalOf: client)
            }
        } catch { return error }
    }

    /// Records and requests not finished yet, and reports not served.
    public var outstanding: Int {
        do throws(KafkaError) {
            return try unsafe handle.use { (client) throws(KafkaError) in
                Int(unsafe rd_kafka_outq_len(client))
            }
        } catch { return 0 }
    }

    /// Puts a record into the queue, copied; the broker's word comes with its delivery.
    ///
    /// - Parameters:
    ///   - key: decides the partition; nil takes any.
    ///   - value: nil is a tombstone, which is not the same as empty.
    ///   - partition: nil lets the key decide.
    ///   - token: comes back in the delivery.
    /// - Throws: `queueFull` (poll and go again), `messageTooLarge` (over `message.max.bytes`),
    ///   or the fatal error of the client.
    public func produce(
        topic: String, key: [UInt8]?, value: [UInt8]?, headers: [KafkaHeader] = [],
        partition: Int32? = nil, token: Int = 0
    ) throws(KafkaError) {
        guard handle.callbacks.uncollected < Self.reportLimit else {
            throw KafkaError(
                code: "_QUEUE_FULL", number: Number.queueFull,
                reason: "\(Self.reportLimit) delivery reports wait to be collected")
        }
        let error: KafkaError? = try unsafe handle.use { (client) throws(KafkaError) in
            let error = unsafe ProducedRecord(
                topic: topic, key: key, value: value, headers: headers, partition: partition,
                token: token
            ).produce(client)
            guard let error, error.isFatal else { return error }
            return unsafe KafkaError(fatalOf: client) ?? error
        }
        if let error { throw error }
    }

    /// Serves callbacks for at most `timeout` (until the first came) and takes the deliveries.
    public func poll(timeout: Duration = .zero) -> [KafkaDelivery] {
        let had = handle.callbacks.uncollected
        do throws(KafkaError) {
            try unsafe handle.use { (client) throws(KafkaError) in
                _ = unsafe rd_kafka_poll(client, had > 0 ? 0 : timeout.kafkaMilliseconds)
            }
        } catch {
            // A closed client reports nothing new; what it had reported is still worth taking.
        }
        return handle.callbacks.collect()
    }

    /// Sends what is queued and waits for all deliveries; they are then there for `poll`.
    ///
    /// - Throws: `timedOut`, retriable, when some have not come; the fatal error of the client.
    public func flush(timeout: Duration) throws(KafkaError) {
        let (number, fatal): (Int32, KafkaError?) = try unsafe handle.use {
            (client) throws(KafkaError) in
            let number = unsafe rd_kafka_flush(client, timeout.kafkaMilliseconds).rawValue
            return unsafe (number, number == 0 ? nil : KafkaError(fatalOf: client))
        }
        if let fatal { throw fatal }
        guard number != 0 else { return }
        throw handle.explained(.timedOut("not all records were acknowledged in time"))
    }

    /// Takes all records out of queue and flight; each is reported as `purged`.
    ///
    /// Those in flight may be written none the less.
    public func purge() throws(KafkaError) {
        let number = try unsafe handle.use { (client) throws(KafkaError) in
            let number = unsafe rd_kafka_purge(
                client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT
            ).rawValue
            _ = unsafe rd_kafka_poll(client, 0)
            return number
        }
        if let error = KafkaError(number: number) { throw error }
    }

    /// Asks a broker for the topics in use, to find out whether brokers answer again.
    public func probe(timeout: Duration) throws(KafkaError) {
        _ = try handle.metadata(topic: nil, all: false, timeout: timeout)
    }

    /// Asks a broker whether a topic is there, may be seen, and has a leader for each partition.
    ///
    /// - Throws: `unknownTopic`, `unauthorized`, or with the number 5 that a leader is missing.
    public func find(topic: String, timeout: Duration) throws(KafkaError) {
        let found = try handle.metadata(topic: topic, all: false, timeout: timeout)
        guard let topic = found.topics.first(where: { $0.name == topic }) else {
            throw .timedOut("the answer lacks the topic \(topic)")
        }
        if let error = topic.error { throw error }
        if let orphan = topic.partitions.first(where: { $0.leader < 0 }) {
            throw KafkaError(
                code: "LEADER_NOT_AVAILABLE", number: Number.leaderNotAvailable,
                reason: "partition \(orphan.id) of \(topic.name) has no leader", isRetriable: true)
        }
    }

    /// Destroys the client, unsent records with it; false when that hangs, and then it is left.
    ///
    /// Later calls throw `closed`.
    @discardableResult
    public func close(timeout: Duration = .seconds(10)) -> Bool { handle.close(timeout: timeout) }
}

// Transactions: `init` once, then `begin`, records, `commit` or `abort`, again and again.
extension KafkaProducer {
    /// Ends what an older client of the same id left open, fences that one, and gets an epoch.
    ///
    /// May be called again after a retriable error, and then goes on.
    public func initTransactions(timeout: Duration) throws(KafkaError) {
        try unsafe transactionCall { client in
            unsafe rd_kafka_init_transactions(client, timeout.kafkaMilliseconds)
        }
    }

    /// Begins a transaction, locally.
    public func begin() throws(KafkaError) {
        try unsafe transactionCall { client in unsafe rd_kafka_begin_transaction(client) }
    }

    /// Sends all records and commits them.
    ///
    /// - Throws: retriable: call it again, nothing else. `requiresAbort`: `abort`. `isFatal`: make
    ///   a new client, and read back whether it went through.
    public func commit(timeout: Duration) throws(KafkaError) {
        try unsafe transactionCall { client in
            unsafe rd_kafka_commit_transaction(client, timeout.kafkaMilliseconds)
        }
    }

    /// Takes unsent records out of the queue and aborts the transaction.
    ///
    /// - Throws: as `commit`.
    public func abort(timeout: Duration) throws(KafkaError) {
        try unsafe transactionCall { client in
            unsafe rd_kafka_abort_transaction(client, timeout.kafkaMilliseconds)
        }
    }

    private func transactionCall(
        _ call: (OpaquePointer) -> OpaquePointer?
    ) throws(KafkaError) {
        let error: KafkaError? = try unsafe handle.use { (client) throws(KafkaError) in
            guard let error = unsafe KafkaError(consuming: call(client)) else { return nil }
            guard error.number == Number.fatal else { return error }
            return unsafe KafkaError(fatalOf: client) ?? error
        }
        guard let error else {
            handle.callbacks.succeeded()
            return
        }
        throw handle.explained(error)
    }
}
