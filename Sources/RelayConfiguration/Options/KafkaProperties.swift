internal import YAML

/// One property that is handed to librdkafka.
public struct KafkaProperty: Hashable, Sendable {
    /// What stands there, or where it is kept.
    public enum Value: Hashable, Sendable {
        /// The value itself.
        case text(String)
        /// Where the value is kept.
        case secret(SecretReference)
    }

    /// librdkafka's name of it.
    public let name: String
    /// Its value.
    public let value: Value
    /// Where it stands.
    public let place: Place
}

/// What the relay knows of librdkafka's properties: which are its own, secret, or paths.
enum KafkaProperties {
    /// Set by the relay; another value breaks its promises.
    static let ours: [String: String] = [
        "transactional.id": "it is made from `name`",
        "enable.idempotence": "the relay always sets it",
        "acks": "the relay always waits for all replicas",
        "request.required.acks": "the relay always waits for all replicas",
        "partitioner": "events of one account must stay in one partition",
        "isolation.level": "the relay always reads what is committed",
        "bootstrap.servers": "write `kafka.brokers`",
        "metadata.broker.list": "write `kafka.brokers`",
    ]

    /// Given as `env:` or `file:` only.
    static func isSecret(_ name: String) -> Bool {
        name.hasSuffix("password") || name.hasSuffix("secret") || name.hasSuffix(".key.pem")
            || name == "sasl.oauthbearer.config"
    }

    /// Relative to the pipeline file.
    static let paths: Set<String> = [
        "ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.crl.location",
        "ssl.keystore.location", "sasl.kerberos.keytab",
    ]
}

extension OptionReader {
    /// Reads the mapping of librdkafka's properties; values are never quoted.
    mutating func properties(_ node: YAMLNode, path: String) -> Setting? {
        guard let entries = node.entries ?? (node.isNull ? [] : nil) else {
            refuse(
                node.position,
                "`\(path)` must be a mapping, such as `{security.protocol: SASL_SSL}`")
            return nil
        }
        var result: [KafkaProperty] = []
        for entry in entries {
            if let reason = KafkaProperties.ours[entry.key] {
                refuse(
                    entry.keyPosition, "`\(path)` takes no `\(entry.key)`: \(reason)")
                continue
            }
            let name = "\(path).\(entry.key)"
            guard let expanded = expanded(entry.value, path: name),
                let value = property(entry.key, expanded.text, at: entry.value.position, path: name)
            else { continue }
            result.append(
                KafkaProperty(name: entry.key, value: value, place: place(entry.value.position)))
        }
        return .properties(result)
    }

    private mutating func property(
        _ name: String, _ text: String, at position: YAMLPosition, path: String
    ) -> KafkaProperty.Value? {
        if let found = SecretReference(text, besides: file, place: place(position)) {
            return .secret(found)
        }
        guard !KafkaProperties.isSecret(name) else {
            refuse(
                position,
                "`\(path)` must be `env:NAME` or `file:PATH`: a secret is never written in this "
                    + "file"
            )
            return nil
        }
        guard KafkaProperties.paths.contains(name), text != "probe" else { return .text(text) }
        return .text(Files.resolve(text, besides: file))
    }
}
