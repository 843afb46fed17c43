internal import CRdkafka

/// A header of a record; the same name may come several times.
public struct KafkaHeader: Sendable, Hashable {
    /// The name, without NUL.
    public let name: String
    /// The value; nil is not the same as empty.
    public let value: [UInt8]?

    /// A header of bytes.
    public init(name: String, value: [UInt8]?) {
        self.name = name
        self.value = value
    }

    /// A header of text.
    public init(_ name: String, _ text: String) {
        self.init(name: name, value: Array(text.utf8))
    }
}

/// A record as it was read.
public struct KafkaRecord: Sendable, Hashable {
    /// The topic it was read from.
    public let topic: String
    /// The partition within the topic.
    public let partition: Int32
    /// Its place in the partition.
    public let offset: Int64
    /// The key, nil if it has none.
    public let key: [UInt8]?
    /// The value; nil is a tombstone.
    public let value: [UInt8]?
    /// The headers, in order.
    public let headers: [KafkaHeader]
    /// When it was produced or appended, in milliseconds since 1970; nil if not known.
    public let milliseconds: Int64?

    /// Copies all out of a message, which the caller still owns.
    init(_ message: UnsafePointer<rd_kafka_message_t>) {
        let held = unsafe message.pointee
        topic = unsafe held.rkt.map { unsafe String(cString: rd_kafka_topic_name($0)) } ?? ""
        partition = unsafe held.partition
        offset = unsafe held.offset
        key = unsafe Self.bytes(held.key, held.key_len)
        value = unsafe Self.bytes(held.payload, held.len)
        var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let time = unsafe rd_kafka_message_timestamp(message, &kind)
        milliseconds = kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? nil : time
        headers = unsafe Self.headers(of: message)
    }

    private static func bytes(_ pointer: UnsafeRawPointer?, _ count: Int) -> [UInt8]? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe Array(UnsafeRawBufferPointer(start: pointer, count: count))
    }

    private static func headers(of message: UnsafePointer<rd_kafka_message_t>) -> [KafkaHeader] {
        // The list belongs to the message: nothing to free.
        var list: OpaquePointer?
        guard unsafe rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR,
            let list = unsafe list
        else { return [] }
        var headers: [KafkaHeader] = []
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var size = 0
        while unsafe rd_kafka_header_get_all(list, headers.count, &name, &value, &size)
            == RD_KAFKA_RESP_ERR_NO_ERROR, let text = unsafe name
        {
            unsafe headers.append(
                KafkaHeader(name: String(cString: text), value: bytes(value, size)))
        }
        return headers
    }
}

/// One record on its way into `rd_kafka_produceva`.
struct ProducedRecord {
    let topic: String
    let key: [UInt8]?
    let value: [UInt8]?
    let headers: [KafkaHeader]
    let partition: Int32?
    let token: Int

    /// Copies the record into the client's queue.
    func produce(_ client: OpaquePointer) -> KafkaError? {
        // All names, each with its NUL, then header values: pointers into one array that does not
        // move while C reads it.
        var text = Array(topic.utf8) + [0]
        var places: [(name: Int, value: Int)] = []
        for header in headers {
            let name = text.count
            text += header.name.utf8
            text.append(0)
            places.append((name, text.count))
            text += header.value ?? []
        }
        return unsafe text.withUnsafeBytes { text in
            unsafe (key ?? []).withUnsafeBytes { key in
                unsafe (value ?? []).withUnsafeBytes { value in
                    unsafe produce(client, text, places, key, value)
                }
            }
        }
    }

    private func produce(
        _ client: OpaquePointer, _ text: UnsafeRawBufferPointer,
        _ places: [(name: Int, value: Int)], _ key: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer
    ) -> KafkaError? {
        guard let base = text.baseAddress else { preconditionFailure("no topic") }
        var arguments: [rd_kafka_vu_t] = unsafe [
            argument(RD_KAFKA_VTYPE_TOPIC) {
                unsafe $0.cstr = base.assumingMemoryBound(to: CChar.self)
            },
            argument(RD_KAFKA_VTYPE_MSGFLAGS) { unsafe $0.i = RD_KAFKA_MSG_F_COPY },
            argument(RD_KAFKA_VTYPE_OPAQUE) {
                unsafe $0.ptr = UnsafeMutableRawPointer(bitPattern: token)
            },
        ]
        if let partition {
            unsafe arguments.append(
                argument(RD_KAFKA_VTYPE_PARTITION) { unsafe $0.i32 = partition })
        }
        // Null means absent to librdkafka, so what is empty but there points anywhere else.
        if self.key != nil {
            let bytes = unsafe UnsafeMutableRawPointer(mutating: key.baseAddress ?? base)
            unsafe arguments.append(
                argument(RD_KAFKA_VTYPE_KEY) {
                    unsafe ($0.mem.ptr, $0.mem.size) = (bytes, key.count)
                })
        }
        if self.value != nil {
            let bytes = unsafe UnsafeMutableRawPointer(mutating: value.baseAddress ?? base)
            unsafe arguments.append(
                argument(RD_KAFKA_VTYPE_VALUE) {
                    unsafe ($0.mem.ptr, $0.mem.size) = (bytes, value.count)
                })
        }
        for (header, place) in zip(headers, places) {
            unsafe arguments.append(
                argument(RD_KAFKA_VTYPE_HEADER) {
                    unsafe $0.header.name = (base + place.name).assumingMemoryBound(to: CChar.self)
                    unsafe $0.header.val = header.value == nil ? nil : base + place.value
                    unsafe $0.header.size = header.value?.count ?? 0
                })
        }
        let count = unsafe arguments.count
        return unsafe arguments.withUnsafeBufferPointer { list in
            unsafe KafkaError(consuming: rd_kafka_produceva(client, list.baseAddress, count))
        }
    }

    private func argument(
        _ type: rd_kafka_vtype_t, _ fill: (inout rd_kafka_vu_t.__Unnamed_union_u) -> Void
    ) -> rd_kafka_vu_t {
        var argument = unsafe rd_kafka_vu_t()
        unsafe argument.vtype = type
        unsafe fill(&argument.u)
        return unsafe argument
    }
}
