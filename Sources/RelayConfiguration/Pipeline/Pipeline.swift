public import ConnectionEvents
public import RelayCore

/// One pipeline file, checked: every value within its range, every name a legal one.
///
/// Paths are resolved against the file's folder. Secrets are named, not read: `secretProblems` and
/// `SecretReference.resolve` read them.
public struct Pipeline: Hashable, Sendable {
    /// The file as it was named.
    public let file: String
    /// What client ids, transactional ids and the progress topic are named after.
    public let name: String
    /// Where connections are read from.
    public let source: Source
    /// What counts as a change.
    public let detection: Detection
    /// Where the relay keeps what it knows.
    public let journal: Journal
    /// The Kafka cluster.
    public let kafka: Kafka
    /// Where events go, in the order of the file.
    public let sinks: [Sink]
    /// The relay's own HTTP server.
    public let http: HTTP

    /// Where values stand, by path as `kafka.brokers` or `sinks[0].kafka.topic`.
    let places: [String: Place]

    /// The topic that holds how far each topic has got.
    public var progressTopic: String { name + ".progress" }

    /// A problem that showed only when the pipeline was tried, at the place of a key.
    ///
    /// - Parameter path: as `kafka.brokers` or `sinks[0].kafka.topic`; a key that was left out
    /// counts
    ///   as its section, and then as the file.
    public func problem(at path: String, _ message: String) -> ConfigurationProblem {
        var path = path[...]
        while true {
            if let place = places[String(path)] { return place.problem(message) }
            guard let end = path.lastIndex(where: { $0 == "." || $0 == "[" }) else { break }
            path = path[..<end]
        }
        return ConfigurationProblem(file: file, message: message)
    }
}

extension Pipeline {
    /// `source`: the API and how often it is asked.
    public struct Source: Hashable, Sendable {
        /// Address of the API.
        public let baseURL: BaseURL
        /// Path of the accounts file, nil without one.
        public let accounts: String?
        /// Rows asked for in one page.
        public let pageLimit: Int
        /// The longest that one request may take.
        public let requestTimeout: Duration
        /// The longest that one walk may take.
        public let walkTimeout: Duration
        /// Sockets open at once.
        public let maxConnections: Int
        /// Requests of all accounts together.
        public let budget: Rate
        /// Requests of one account.
        public let perAccount: Rate
        /// No account is walked more often.
        public let fastest: Duration
        /// No account waits longer; at least `fastest`.
        public let slowest: Duration
        /// Above one of these a walk fails.
        public let limits: Limits
        /// Where people sign in; nil: nowhere is named.
        public let signIn: SignIn?
    }

    /// `source.signIn`.
    public struct SignIn: Hashable, Sendable {
        /// The OpenID provider.
        public let issuer: Issuer
        /// The relay's client there.
        public let clientID: String

        /// A provider and a client of it.
        public init(issuer: Issuer, clientID: String) {
            self.issuer = issuer
            self.clientID = clientID
        }
    }

    /// `source.limits`.
    public struct Limits: Hashable, Sendable {
        /// Pages of one walk.
        public let pages: Int
        /// Rows of one walk.
        public let rows: Int
        /// Bytes of one page's body.
        public let body: Int
    }

    /// `journal`.
    public struct Journal: Hashable, Sendable {
        /// Path of the SQLite file.
        public let sqlite: String
        /// Path of the key file.
        public let keyFile: String
        /// How long events are kept once every sink has them.
        public let retention: Duration
        /// Bytes that the file and its write-ahead log may take.
        public let maxSize: Int
    }

    /// `kafka`.
    public struct Kafka: Hashable, Sendable {
        /// Where Kafka is; nil where no sink needs it and none was named.
        public let brokers: Brokers?
        /// What was asked for; the embedded broker gives `atLeastOnce` only.
        public let delivery: Delivery
        /// How missing topics are made, nil where they are not.
        public let createTopics: TopicCreation?
        /// Properties handed to librdkafka, in the order of the file.
        public let properties: [KafkaProperty]

        /// What is done: `delivery`, but never exactly-once with the embedded broker.
        public var effectiveDelivery: Delivery { brokers == .embedded ? .atLeastOnce : delivery }
    }

    /// Where Kafka is.
    public enum Brokers: Hashable, Sendable {
        /// A broker within the process, for trying things out.
        case embedded
        /// Bootstrap servers as librdkafka takes them, separated by commas.
        case servers(String)
    }

    /// How events reach Kafka.
    public enum Delivery: String, Hashable, Sendable, CaseIterable {
        /// In transactions with the place reached.
        case exactlyOnce = "exactly-once"
        /// By acknowledgements alone.
        case atLeastOnce = "at-least-once"
    }

    /// `kafka.createTopics`.
    public struct TopicCreation: Hashable, Sendable {
        /// Partitions of a new topic.
        public let partitions: Int
        /// Replicas of a new topic, -1 for the broker's default.
        public let replicationFactor: Int
    }

    /// `http`.
    public struct HTTP: Hashable, Sendable {
        /// Where to listen; its port is never nil.
        public let listen: HostAndPort
        /// What requests must bear, nil where nothing.
        public let token: SecretReference?
    }
}

extension Pipeline {
    /// One entry of `sinks`.
    public struct Sink: Hashable, Sendable {
        /// What kind of sink it is.
        public enum Kind: Hashable, Sendable {
            /// Events to a topic.
            case kafka
            /// Last states to a compacted topic.
            case state
            /// Events to standard output.
            case log
        }

        /// What kind of sink it is.
        public let kind: Kind
        /// Its topic or name, its identity in the journal; `log` for the log sink.
        public let name: SinkName
        /// How its events lie in their records; of other sinks always structured.
        public let format: EventFormat
        /// Which events pass; of a state sink always everything.
        public let when: When
        /// Its key's path, as `sinks[0].kafka`, for `Pipeline.problem(at:_:)`.
        public let path: String

        /// The topic of a Kafka or state sink, nil of the log sink.
        public var topic: String? { kind == .log ? nil : name.text }
    }

    /// `when`: which events pass a sink; nil in a field lets all through.
    public struct When: Hashable, Sendable {
        /// Types that pass.
        public let types: Set<EventType>?
        /// Platforms of the connection that pass; with a list here no `account.*` passes.
        public let platforms: Set<String>?
        /// Accounts that pass.
        public let accounts: Set<AccountID>?
        /// Kinds that pass.
        public let kinds: Set<EventKind>?

        /// Everything passes.
        public static let always = When(types: nil, platforms: nil, accounts: nil, kinds: nil)

        /// Whether nothing is held back, so that the sink sees every number.
        public var isEverything: Bool { self == .always }
    }
}
