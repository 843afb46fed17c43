internal import CRdkafka

/// Where a record goes that names no partition.
public enum KafkaPartition {
    /// The partition of a key: murmur2, as every producer of this library and Kafka's own clients.
    ///
    /// - Parameters:
    ///   - key: at least one byte; records without a key go anywhere.
    ///   - count: how many partitions the topic has, 1 or more.
    /// Source: `rd_kafka_msg_partitioner_murmur2`, which looks at neither topic nor message.
    public static func of(key: [UInt8], count: Int) -> Int32 {
        unsafe key.withUnsafeBytes { bytes in
            unsafe rd_kafka_msg_partitioner_murmur2(
                nil, bytes.baseAddress, bytes.count, Int32(clamping: count), nil, nil)
        }
    }
}
