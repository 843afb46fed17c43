internal import CRdkafka

/// The librdkafka that was loaded at run time, which need not be the one that was built against.
public enum KafkaLibrary {
    /// The version as librdkafka writes it, `2.0.2`.
    public static var version: String { unsafe String(cString: rd_kafka_version_str()) }

    /// What it was built with, as `gzip,snappy,ssl,sasl_scram` (`CONFIGURATION.md`).
    public static var features: String { Conf().value(of: "builtin.features") ?? "unknown" }

    /// The version as a number that can be compared, `0x020002ff` for 2.0.2.
    ///
    /// Two hexadecimal digits each for major, minor, revision and pre-release (`ff` is a release).
    public static var number: Int { Int(rd_kafka_version()) }

    /// Whether SCRAM works with Kafka 4: older libraries repeat their nonce, which it refuses.
    ///
    /// The defect was repaired in librdkafka 2.6.1; the broker says "invalid credentials" to it.
    public static var hasWorkingSCRAM: Bool { number >= 0x0206_0100 }
}

/// A line of librdkafka's own log.
///
/// It comes on librdkafka's threads and may come often (one per lost connection and broker): who
/// takes it limits the rate. librdkafka writes no credentials into it.
public struct KafkaLogLine: Sendable {
    /// The syslog level: 0 emergency … 3 error, 4 warning, 5 notice, 6 information, 7 debug.
    public let level: Int
    /// The part of librdkafka that speaks, `FAIL`.
    public let facility: String
    /// What it says, one line.
    public let text: String
}

extension Duration {
    /// The time in whole milliseconds as librdkafka takes it, rounded up, at most 24 days.
    var kafkaMilliseconds: Int32 {
        let parts = components
        guard parts.seconds >= 0, parts.attoseconds >= 0 else { return 0 }
        guard parts.seconds < 2_000_000 else { return 2_000_000_000 }
        let fraction = (parts.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return Int32(parts.seconds * 1000 + fraction)
    }
}
