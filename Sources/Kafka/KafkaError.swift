/// Why Kafka or librdkafka did not do what was asked.
///
/// `kind` says what the caller can do. The three flags are librdkafka's own verdict on the handle
/// and its transaction, and stand beside it: a record that is too large also asks for an abort.
public struct KafkaError: Error, Sendable, Hashable {
    /// What the caller can do about it; more kinds may come.
    public struct Kind: Sendable, Hashable, RawRepresentable, CustomStringConvertible {
        /// The kind's stable name, usable as a metric label.
        public let rawValue: String

        /// Names a kind.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The kind's stable name.
        public var description: String { rawValue }

        /// Call the same again after a pause.
        public static let retriable = Kind(rawValue: "retriable")
        /// Abort the transaction; the next one may work.
        public static let abortable = Kind(rawValue: "abortable")
        /// The handle is of no more use: make a new one.
        public static let fatal = Kind(rawValue: "fatal")
        /// The handle is of no more use, and another one may have taken its transactional id.
        public static let fenced = Kind(rawValue: "fenced")
        /// The record, or its batch, is larger than client, broker or topic take.
        public static let messageTooLarge = Kind(rawValue: "message_too_large")
        /// The broker refuses the record, or one of its batch, as it is.
        public static let invalidRecord = Kind(rawValue: "invalid_record")
        /// An operator must grant something.
        public static let unauthorized = Kind(rawValue: "unauthorized")
        /// The topic or partition does not exist.
        public static let unknownTopic = Kind(rawValue: "unknown_topic")
        /// The topic exists already.
        public static let alreadyExists = Kind(rawValue: "already_exists")
        /// Too many records wait or are not collected: poll, then produce again.
        public static let queueFull = Kind(rawValue: "queue_full")
        /// Credentials or certificates were refused, by either side.
        public static let authentication = Kind(rawValue: "authentication")
        /// The answer did not come in time; what was asked may still happen.
        public static let timedOut = Kind(rawValue: "timed_out")
        /// No broker can be reached.
        public static let unreachable = Kind(rawValue: "unreachable")
        /// The record was taken out of the queue by an abort or a purge.
        public static let purged = Kind(rawValue: "purged")
        /// A property is refused, or the properties contradict each other.
        public static let configuration = Kind(rawValue: "configuration")
        /// The client was closed before.
        public static let closed = Kind(rawValue: "closed")
        /// A transaction that has not ended keeps records from readers; `heldAt` says where.
        public static let heldBack = Kind(rawValue: "held_back")
        /// Nothing of the above.
        public static let other = Kind(rawValue: "other")
    }

    /// What the caller can do.
    public let kind: Kind
    /// librdkafka's or Kafka's name of the error without its prefix, `MSG_SIZE_TOO_LARGE`.
    ///
    /// A bounded set, so it may be a metric label. Local errors begin with an underscore.
    public let code: String
    /// The number behind `code`: Kafka's own if positive, librdkafka's if negative.
    public let number: Int32
    /// What librdkafka says, for people; never a secret.
    public let reason: String
    /// The same call may be repeated and goes on where it was.
    public let isRetriable: Bool
    /// The handle must be closed and made anew.
    public let isFatal: Bool
    /// The open transaction must be aborted.
    public let requiresAbort: Bool
    /// The configuration property that was refused.
    public let property: String?
    /// Where an open transaction begins that keeps records from readers.
    public let heldAt: Held?

    /// The first offset that is kept from readers of committed records.
    public struct Held: Sendable, Hashable {
        /// The topic.
        public let topic: String
        /// The partition.
        public let partition: Int32
        /// Where the open transaction begins.
        public let offset: Int64
    }

    init(
        kind: Kind? = nil, code: String, number: Int32, reason: String, isRetriable: Bool = false,
        isFatal: Bool = false, requiresAbort: Bool = false, property: String? = nil,
        heldAt: Held? = nil
    ) {
        self.heldAt = heldAt
        let isFatal = isFatal || number == Number.fatal
        self.kind =
            kind
            ?? Kind(
                number: number, isRetriable: isRetriable, isFatal: isFatal,
                requiresAbort: requiresAbort)
        self.code = code
        self.number = number
        self.reason = reason
        self.isRetriable = isRetriable
        self.isFatal = isFatal
        self.requiresAbort = requiresAbort
        self.property = property
    }

    /// The same error with more said, and with another kind if one is given.
    func adding(_ text: String, kind: Kind? = nil) -> KafkaError {
        KafkaError(
            kind: kind ?? self.kind, code: code, number: number, reason: reason + text,
            isRetriable: isRetriable, isFatal: isFatal, requiresAbort: requiresAbort,
            property: property, heldAt: heldAt)
    }

    /// Partitions did not reach their ends; where one came to a standstill, that says why.
    static func late(
        _ topic: String, _ goals: [Int32: Int64], _ reached: [Int32: Int64]
    ) -> KafkaError {
        let late = goals.keys.sorted()
        let list = late.map(String.init).joined(separator: ", ")
        let plain = timedOut("partitions \(list) of \(topic) did not reach their end")
        guard let partition = late.first(where: { reached[$0] != nil }),
            let offset = reached[partition]
        else { return plain }
        return KafkaError(
            kind: .heldBack, code: "_HELD_BACK", number: Number.timedOut,
            reason: plain.reason + ": a transaction that has not ended begins at offset \(offset)"
                + " of partition \(partition)", isRetriable: true,
            heldAt: Held(topic: topic, partition: partition, offset: offset))
    }

    static let closed = KafkaError(
        kind: .closed, code: "_CLOSED", number: Number.destroy, reason: "the client is closed")

    static func timedOut(_ reason: String) -> KafkaError {
        KafkaError(code: "_TIMED_OUT", number: Number.timedOut, reason: reason, isRetriable: true)
    }

    static func configuration(_ reason: String, property: String? = nil) -> KafkaError {
        KafkaError(
            kind: .configuration, code: "_CONFIGURATION", number: Number.invalidArgument,
            reason: reason, property: property)
    }
}

extension KafkaError: CustomStringConvertible {
    /// The reason and the code, `Broker: Message size too large (MSG_SIZE_TOO_LARGE)`.
    public var description: String { "\(reason) (\(code))" }
}

/// The error numbers that the wrapper itself names; `rd_kafka_resp_err_t` has them all.
enum Number {
    static let destroy: Int32 = -197
    static let transport: Int32 = -195
    static let messageTimedOut: Int32 = -192
    static let partitionEnd: Int32 = -191
    static let unknownPartition: Int32 = -190
    static let unknownTopicLocal: Int32 = -188
    static let allBrokersDown: Int32 = -187
    static let invalidArgument: Int32 = -186
    static let timedOut: Int32 = -185
    static let queueFull: Int32 = -184
    static let leaderNotAvailable: Int32 = 5
    static let fatal: Int32 = -150
    /// LEADER_NOT_AVAILABLE, NOT_LEADER_FOR_PARTITION, FENCED_ and UNKNOWN_LEADER_EPOCH.
    static let leaderMoves: Set<Int32> = [5, 6, 74, 75]
}

extension KafkaError.Kind {
    // What the number says comes first: it tells more than the flags, which stand beside it.
    init(number: Int32, isRetriable: Bool, isFatal: Bool, requiresAbort: Bool) {
        switch number {
        case -144, 90, 82: self = .fenced  // _FENCED, PRODUCER_FENCED, FENCED_INSTANCE_ID
        case 47 where isFatal: self = .fenced  // INVALID_PRODUCER_EPOCH, its older name
        case 10, 18: self = .messageTooLarge  // MSG_SIZE_TOO_LARGE, RECORD_LIST_TOO_LARGE
        case 87: self = .invalidRecord
        // Topic, group, cluster, transactional id, delegation token.
        case 29, 30, 31, 53, 65: self = .unauthorized
        // UNKNOWN_TOPIC_OR_PART, UNKNOWN_TOPIC_ID and the two local ones.
        case 3, 100, Number.unknownTopicLocal, Number.unknownPartition: self = .unknownTopic
        case 36: self = .alreadyExists
        case Number.queueFull: self = .queueFull
        // _AUTHENTICATION, _SSL, UNSUPPORTED_SASL_MECHANISM, ILLEGAL_SASL_STATE, SASL failed.
        case -169, -181, 33, 34, 58: self = .authentication
        case _ where isFatal: self = .fatal
        // _TIMED_OUT, _MSG_TIMED_OUT, _TIMED_OUT_QUEUE, REQUEST_TIMED_OUT.
        case Number.timedOut, Number.messageTimedOut, -166, 7: self = .timedOut
        // _TRANSPORT, _ALL_BROKERS_DOWN, _RESOLVE.
        case Number.transport, Number.allBrokersDown, -193: self = .unreachable
        case -152, -151: self = .purged
        case Number.destroy: self = .closed
        case _ where requiresAbort: self = .abortable
        case _ where isRetriable: self = .retriable
        default: self = .other
        }
    }
}
