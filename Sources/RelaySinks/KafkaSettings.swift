public import Kafka
public import RelayCore

/// What the Kafka side of a pipeline is told: who publishes what, where, and how surely.
public struct KafkaSettings: Sendable {
    /// How surely a record arrives.
    public enum Guarantee: Hashable, Sendable {
        /// Once, for readers of committed records: transactions that carry the place.
        case exactlyOnce
        /// At least once: acknowledged by all replicas, the place written behind.
        case atLeastOnce
    }

    /// What is done about topics.
    public enum TopicPolicy: Hashable, Sendable {
        /// Those that are missing are made; -1 replicas leaves the number to the broker.
        case create(partitions: Int, replicationFactor: Int)
        /// They must be there and fit.
        case check
        /// They are there: the embedded broker made them.
        case trust
    }

    /// The pipeline's name: client id, transactional id, and first part of the progress topic.
    public var name: String
    /// Brokers and everything else that librdkafka is told, asked anew for each client.
    ///
    /// So a password that was exchanged is taken with the next client, without a restart.
    public var client: KafkaConfiguration { makeClient() }
    private let makeClient: @Sendable () -> KafkaConfiguration
    /// The Kafka and state sinks; each one's name is its topic.
    public var sinks: [SinkPlan]
    /// How surely a record arrives.
    public var guarantee: Guarantee
    /// What is done about topics.
    public var topics: TopicPolicy
    /// The journal whose places are written.
    public var journal: JournalID
    /// This process, told apart from every other one.
    public var instance: String

    /// Settings, field by field.
    public init(
        name: String, client: @autoclosure @escaping @Sendable () -> KafkaConfiguration,
        sinks: [SinkPlan], guarantee: Guarantee, topics: TopicPolicy, journal: JournalID,
        instance: String
    ) {
        self.name = name
        makeClient = client
        self.sinks = sinks
        self.guarantee = guarantee
        self.topics = topics
        self.journal = journal
        self.instance = instance
    }

    /// The compacted topic that holds each sink's place.
    public var progressTopic: String { "\(name).progress" }

    /// The transactional id; brokers with rules need `Write` and `Describe` on it.
    public var transactionalID: String { name }

    /// How long a broker waits for a transaction's end before it aborts it.
    public static let transactionTimeout = Duration.seconds(15)

    /// How the producer is set up; the operator's own properties win where they may.
    ///
    /// A linger of 5 ms batches well, is invisible beside polling, and a commit skips it.
    func producerConfiguration() -> KafkaConfiguration {
        var whole = base()
        whole.set("linger.ms", "5")
        // A topic that is missing is told after 5 s, not 30: its neighbours wait meanwhile.
        whole.set("topic.metadata.propagation.max.ms", "5000")
        switch guarantee {
        case .exactlyOnce:
            let seconds = Self.transactionTimeout.components.seconds
            whole.set("transaction.timeout.ms", "\(seconds)000")
        case .atLeastOnce:
            // Time-outs are ours, and a record that fails stops those behind it: order is kept.
            whole.set("message.timeout.ms", "0")
            whole.set("enable.gapless.guarantee", "true")
        }
        for property in client.properties { whole.add(property) }
        if guarantee == .exactlyOnce { whole.set("transactional.id", transactionalID) }
        return whole
    }

    /// How readers and the admin client are set up.
    func readerConfiguration() -> KafkaConfiguration {
        var whole = base()
        for property in client.properties { whole.add(property) }
        return whole
    }

    private func base() -> KafkaConfiguration {
        var whole = KafkaConfiguration()
        whole.set("client.id", name)
        whole.set("socket.keepalive.enable", "true")
        // A broker that is back is found within a second or two.
        whole.set("reconnect.backoff.max.ms", "2000")
        return whole
    }
}
