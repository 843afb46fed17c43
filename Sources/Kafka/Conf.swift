internal import CRdkafka

/// An `rd_kafka_conf_t` and who owns it: this value, until a client takes it over.
///
/// `rd_kafka_new` owns it only when it succeeds; otherwise `deinit` frees it.
@safe struct Conf: ~Copyable {
    let pointer: OpaquePointer

    init() {
        guard let made = unsafe rd_kafka_conf_new() else { preconditionFailure("no memory") }
        unsafe pointer = made
    }

    /// Sets one property; what librdkafka has against it, without the value of a secret.
    func set(_ property: KafkaConfiguration.Property) -> KafkaError? {
        let (result, reason) = unsafe withReason { text, room in
            unsafe rd_kafka_conf_set(pointer, property.name, property.value, text, room)
        }
        guard result != RD_KAFKA_CONF_OK else { return nil }
        let said = property.isSecret ? "its value is refused" : reason
        return .configuration("\(property.name): \(said)", property: property.name)
    }

    /// A property's value; nil where librdkafka has none of that name.
    func value(of name: String) -> String? {
        var size = 0
        guard unsafe rd_kafka_conf_get(pointer, name, nil, &size) == RD_KAFKA_CONF_OK else {
            return nil
        }
        var text = [CChar](repeating: 0, count: size + 1)
        guard unsafe rd_kafka_conf_get(pointer, name, &text, &size) == RD_KAFKA_CONF_OK else {
            return nil
        }
        return String(
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Hands the configuration to a new client, which owns it from then on.
    consuming func makeClient(_ type: rd_kafka_type_t) throws(KafkaError) -> OpaquePointer {
        let (client, reason) = unsafe withReason { text, room in
            unsafe rd_kafka_new(type, pointer, text, room)
        }
        guard let client = unsafe client else {
            _ = consume self
            throw .configuration(reason)
        }
        discard self
        return unsafe client
    }

    deinit { unsafe rd_kafka_conf_destroy(pointer) }
}
