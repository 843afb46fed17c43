public import Kafka
internal import RelayCore
internal import Threading

/// A topic that a pipeline needs.
public struct NeededTopic: Hashable, Sendable {
    /// What it holds, which decides how it must be kept.
    public enum Role: Hashable, Sendable {
        /// Events, kept for a time: `cleanup.policy=delete`.
        case events
        /// The last state of each key: `cleanup.policy=compact` alone.
        case state
        /// The places of the sinks: `cleanup.policy=compact` alone, one partition.
        case progress
    }

    /// Its name.
    public let name: String
    /// What it holds.
    public let role: Role

    /// The value that `cleanup.policy` must have.
    public var cleanupPolicy: String {
        switch role {
        case .events: "delete"
        case .state, .progress: "compact"
        }
    }

    /// The settings with which it is made.
    ///
    /// Compacted topics get small segments, since only closed ones are compacted, and keep
    /// tombstones for a week, so that a reader who was away still sees them.
    public var settings: [String: String] {
        switch role {
        case .events: ["cleanup.policy": "delete"]
        case .state, .progress:
            [
                "cleanup.policy": "compact", "segment.bytes": "67108864",
                "min.cleanable.dirty.ratio": "0.1", "delete.retention.ms": "604800000",
            ]
        }
    }
}

/// What was found out about one needed topic.
public enum TopicFinding: Hashable, Sendable {
    /// It is there and fits.
    case fits(NeededTopic)
    /// It is there and fits, with something worth knowing.
    case noted(NeededTopic, String)
    /// It is not there, and will be made.
    case missing(NeededTopic)
    /// It cannot be used as it is; the text has the remedy.
    case unfit(NeededTopic, String)
}

/// The topics of a pipeline: looks whether they fit, and makes those that are missing.
public struct Topics: Sendable {
    /// The topics, sinks first.
    public let needed: [NeededTopic]
    private let settings: KafkaSettings

    /// The topics of a pipeline's sinks, and its progress topic.
    public init(_ settings: KafkaSettings) {
        self.settings = settings
        needed =
            settings.sinks.map { sink in
                switch sink.role {
                case .events: NeededTopic(name: sink.name.text, role: .events)
                case .state: NeededTopic(name: sink.name.text, role: .state)
                }
            } + [NeededTopic(name: settings.progressTopic, role: .progress)]
    }

    /// These topics alone.
    init(_ settings: KafkaSettings, needed: [NeededTopic]) {
        self.settings = settings
        self.needed = needed
    }

    /// Looks at every topic and changes nothing.
    ///
    /// - Throws: when the broker cannot be asked at all.
    public func findings(
        _ admin: KafkaAdmin, timeout: Duration
    ) throws(KafkaError) -> [TopicFinding] {
        var found: [TopicFinding] = []
        for topic in needed { found.append(try finding(topic, admin, timeout)) }
        return found
    }

    /// Makes what is missing and refuses what does not fit, all of it in one error.
    ///
    /// - Returns: what is worth knowing, for the log.
    func settle(_ admin: KafkaAdmin, timeout: Duration) throws(PublishFailure) -> [String] {
        let findings: [TopicFinding]
        do throws(KafkaError) {
            findings = try self.findings(admin, timeout: timeout)
        } catch { throw PublishFailure(error, doing: "looking at the topics", settings) }
        var (notes, refusals, missing): ([String], [String], [NeededTopic]) = ([], [], [])
        for finding in findings {
            switch finding {
            case .fits: break
            case .noted(_, let note): notes.append(note)
            case .missing(let topic): missing.append(topic)
            case .unfit(_, let reason): refusals.append(reason)
            }
        }
        guard refusals.isEmpty else {
            throw PublishFailure(
                kind: .misconfigured, code: "topic_unfit",
                reason: refusals.joined(separator: "; "))
        }
        try make(missing, admin, timeout)
        return notes
    }

    private func finding(
        _ topic: NeededTopic, _ admin: KafkaAdmin, _ timeout: Duration
    ) throws(KafkaError) -> TopicFinding {
        let partitions: Int
        let replicas: Int
        do throws(KafkaError) {
            let known = try admin.topic(topic.name, timeout: timeout)
            partitions = known.partitions.count
            replicas = known.partitions.map(\.replicas).min() ?? 0
        } catch {
            switch error.kind {
            case .unknownTopic where settings.topics != .check: return .missing(topic)
            case .unknownTopic: return .unfit(topic, missingText(topic))
            case .unauthorized:
                return .unfit(
                    topic, "topic \(topic.name): \(error.reason). Grant Describe and Write on it")
            case .other where error.number == 17:
                return .unfit(
                    topic, "'\(topic.name)' is no name of a topic: use letters, digits, . _ -")
            default: throw error
            }
        }
        do throws(KafkaError) {
            let kept = try admin.settings(ofTopic: topic.name, timeout: timeout)
            if let policy = kept["cleanup.policy"]?.value, policy != topic.cleanupPolicy {
                return .unfit(topic, policyText(topic, policy))
            }
        } catch {
            guard error.kind == .unauthorized else { throw error }
            return .noted(
                topic,
                "the broker does not let us see the settings of topic \(topic.name); "
                    + "cleanup.policy must be \(topic.cleanupPolicy)")
        }
        return counted(topic, partitions, replicas)
    }

    private func counted(_ topic: NeededTopic, _ partitions: Int, _ replicas: Int) -> TopicFinding {
        guard case .create(let wanted, let copies) = settings.topics else { return .fits(topic) }
        var notes: [String] = []
        if topic.role != .progress, partitions != wanted {
            notes.append("has \(partitions) partitions, not \(wanted)")
        }
        if copies > 0, replicas != copies {
            notes.append("has \(replicas) replicas, not \(copies)")
        }
        guard !notes.isEmpty else { return .fits(topic) }
        return .noted(
            topic, "topic \(topic.name) \(notes.joined(separator: " and ")); left as it is")
    }

    private func missingText(_ topic: NeededTopic) -> String {
        let settings = topic.settings.sorted { $0.key < $1.key }
            .map { "--config \($0.key)=\($0.value)" }.joined(separator: " ")
        return "topic \(topic.name) does not exist. Make it (kafka-topics.sh --create --topic "
            + "\(topic.name) --partitions \(topic.role == .progress ? "1" : "6") \(settings)), "
            + "or give kafka.createTopics"
    }

    private func policyText(_ topic: NeededTopic, _ policy: String) -> String {
        let what =
            switch topic.role {
            case .events: "compaction would remove events"
            case .state: "it must keep the last state of each connection for ever"
            case .progress: "it must keep the place of each sink for ever"
            }
        return "topic \(topic.name) has cleanup.policy=\(policy), but \(what). Set it "
            + "(kafka-configs.sh --alter --entity-type topics --entity-name \(topic.name) "
            + "--add-config cleanup.policy=\(topic.cleanupPolicy)), or name another topic"
    }
}

// Making topics.
extension Topics {
    private func make(
        _ missing: [NeededTopic], _ admin: KafkaAdmin, _ timeout: Duration
    ) throws(PublishFailure) {
        guard case .create(let partitions, let replicas) = settings.topics, !missing.isEmpty else {
            return
        }
        let refused: [String: KafkaError]
        do throws(KafkaError) {
            refused = try admin.createTopics(
                missing.map { topic in
                    KafkaNewTopic(
                        name: topic.name, partitions: topic.role == .progress ? 1 : partitions,
                        replicationFactor: replicas, settings: topic.settings)
                }, timeout: timeout)
        } catch { throw PublishFailure(error, doing: "making topics", settings) }
        for (name, error) in refused.sorted(by: { $0.key < $1.key }) {
            switch error.kind {
            case .alreadyExists: continue  // Another relay was quicker.
            case .timedOut, .unreachable, .retriable:
                throw PublishFailure(error, doing: "making topic \(name)", settings)
            default:
                throw PublishFailure(
                    kind: .misconfigured, code: error.code,
                    reason: "topic \(name) cannot be made: \(error.reason). "
                        + "Make it by hand, or change kafka.createTopics")
            }
        }
        try waitFor(missing, admin, timeout)
    }

    /// Waits until brokers tell of the new topics, which takes them a moment.
    private func waitFor(
        _ made: [NeededTopic], _ admin: KafkaAdmin, _ timeout: Duration
    ) throws(PublishFailure) {
        let deadline = ContinuousClock.now + timeout
        for topic in made {
            while true {
                do throws(KafkaError) {
                    let known = try admin.topic(topic.name, timeout: timeout)
                    if known.partitions.allSatisfy({ $0.leader >= 0 }) { break }
                } catch {
                    let isEarly = error.kind == .unknownTopic || error.number == 5
                    guard isEarly, ContinuousClock.now < deadline else {
                        throw PublishFailure(error, doing: "making topic \(topic.name)", settings)
                    }
                }
                guard ContinuousClock.now < deadline else { break }
                _ = Lock(()).wait(timeout: .milliseconds(50)) { _ -> Bool? in nil }
            }
        }
    }
}
