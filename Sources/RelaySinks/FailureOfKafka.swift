public import Kafka
public import RelayCore

extension PublishFailure {
    /// A failure of the broker or its client, told with what was being done and a remedy.
    init(_ kind: Kind, _ error: KafkaError, doing: String, _ settings: KafkaSettings) {
        self.init(
            kind: kind, code: error.code,
            reason: "\(doing): \(error.reason)\(Self.remedy(error, settings))")
    }

    /// A failure before or beside any run: what an operator can mend at the broker is waited for.
    public init(_ error: KafkaError, doing: String, _ settings: KafkaSettings) {
        let kind: Kind = error.kind == .configuration ? .misconfigured : .unavailable
        self.init(kind, error, doing: doing, settings)
    }

    private static func remedy(_ error: KafkaError, _ settings: KafkaSettings) -> String {
        switch error.kind {
        case .unreachable:
            let brokers = settings.client["bootstrap.servers"] ?? ""
            return ". Check kafka.brokers (\(brokers)) and that the broker runs"
        case .authentication:
            let mechanism =
                settings.client["sasl.mechanism"] ?? settings.client["sasl.mechanisms"] ?? ""
            if mechanism.hasPrefix("SCRAM"), !KafkaLibrary.hasWorkingSCRAM {
                return ". librdkafka \(KafkaLibrary.version) cannot use SCRAM with Kafka 4 "
                    + "(it repeats its nonce): put librdkafka 2.6.1 or newer in front of it with "
                    + "LD_LIBRARY_PATH, or use another mechanism"
            }
            return ". Check the sasl.* and ssl.* entries of kafka.properties"
        case .unauthorized:
            return ". Grant it: Write and Describe on the sinks' topics and on "
                + "\(settings.progressTopic), Read on the latter and on state topics, and Write on "
                + "the transactional id "
                + settings.transactionalID
        case .heldBack:
            guard let held = error.heldAt else { return "" }
            let brokers = settings.client["bootstrap.servers"] ?? ""
            let seconds = KafkaSettings.transactionTimeout.components.seconds
            return ". The broker ends it after its time-out (ours: \(seconds) s); if it stays, it"
                + " hangs, and nothing but this ends it: kafka-transactions.sh --bootstrap-server"
                + " \(brokers) abort --topic \(held.topic) --partition \(held.partition)"
                + " --start-offset \(held.offset)"
        default:
            // CONCURRENT_TRANSACTIONS: the coordinator is still at the last one's end.
            guard error.number == 51 else { return "" }
            return ". The broker cannot end our last transaction yet: a partition of it has no"
                + " leader, or fewer replicas in step than min.insync.replicas. Bring its brokers"
                + " back; delivery then goes on by itself"
        }
    }
}
