/// librdkafka's properties in the order in which they are set, later ones winning.
///
/// Names and values are those of librdkafka's `CONFIGURATION.md`. Values of secret properties are
/// kept from every description and error.
public struct KafkaConfiguration: Sendable {
    /// One property; prints its value only if it is no secret.
    public struct Property: Sendable, CustomStringConvertible, CustomReflectable {
        /// librdkafka's name, `sasl.password`.
        public let name: String
        /// The value, which only librdkafka should read.
        let value: String
        /// Whether the value is kept from descriptions.
        public let isSecret: Bool

        /// `name=value`, or `name=[redacted]`.
        public var description: String { "\(name)=\(isSecret ? "[redacted]" : value)" }

        /// Shows no child, so that `dump` has no value either.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// The properties in the order in which they are set.
    public private(set) var properties: [Property] = []

    /// Properties whose values are always secret, whoever sets them.
    public static let secretNames: Set<String> = [
        "sasl.password", "ssl.key.password", "ssl.key.pem", "ssl.keystore.password",
        "sasl.oauthbearer.client.secret", "sasl.oauthbearer.config",
    ]

    /// No property at all.
    public init() {}

    /// No property but the brokers to ask first.
    ///
    /// - Parameter bootstrap: `host:port`, several separated by commas.
    public init(bootstrap: String) {
        set("bootstrap.servers", bootstrap)
    }

    /// Adds a property; whether librdkafka takes it is known when a client is made.
    public mutating func set(_ name: String, _ value: String, isSecret: Bool = false) {
        let secret = isSecret || Self.secretNames.contains(name)
        properties.append(Property(name: name, value: value, isSecret: secret))
    }

    /// Adds a property of another configuration, secret or not.
    public mutating func add(_ property: Property) { properties.append(property) }

    /// The same with one property more.
    public func setting(_ name: String, _ value: String) -> KafkaConfiguration {
        var copy = self
        copy.set(name, value)
        return copy
    }

    /// Whether a property is set.
    public func contains(_ name: String) -> Bool { properties.contains { $0.name == name } }

    /// The value that counts, unless it is a secret.
    public subscript(name: String) -> String? {
        guard let property = properties.last(where: { $0.name == name }) else { return nil }
        return property.isSecret ? nil : property.value
    }

    /// Asks librdkafka whether it takes each property alone; the errors, one per refused property.
    ///
    /// Contradictions between properties, and files that cannot be read, show only when a client
    /// is made.
    public func refusals() -> [KafkaError] {
        let conf = Conf()
        return properties.compactMap { conf.set($0) }
    }

    /// Puts defaults before and fixed properties behind the caller's.
    func surrounded(
        defaults: [(String, String)], fixed: [(String, String)]
    ) -> KafkaConfiguration {
        var whole = self
        whole.properties = []
        for (name, value) in defaults { whole.set(name, value) }
        whole.properties += properties
        for (name, value) in fixed { whole.set(name, value) }
        return whole
    }
}

extension KafkaConfiguration: CustomStringConvertible, CustomReflectable {
    /// All properties, secrets left out.
    public var description: String { properties.map(\.description).joined(separator: " ") }

    /// Shows no child, so that `dump` has no value either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
