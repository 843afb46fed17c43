internal import CRdkafka
internal import Threading

/// Who takes librdkafka's log.
public typealias KafkaLog = @Sendable (KafkaLogLine) -> Void

/// What librdkafka calls back into: its log, its complaints, its delivery reports.
///
/// One per client, kept alive by an extra reference from `register` until `abandon`, which the
/// thread that destroyed the client calls last.
final class KafkaCallbacks: Sendable {
    private let log: KafkaLog
    private let complaint = Lock<KafkaError?>(nil)
    private let ledger = Lock<[KafkaDelivery]>([])

    init(log: @escaping KafkaLog) { self.log = log }

    /// The last complaint of the client since its last success.
    var trouble: KafkaError? { complaint.withLock { $0 } }

    func note(_ error: KafkaError) {
        // "All brokers down" follows the reason why, and must not hide it.
        complaint.withLock { held in
            guard error.number == Number.allBrokersDown, let known = held, known.kind != .other
            else {
                held = error
                return
            }
        }
    }

    /// Forgets complaints: the brokers have just answered.
    func succeeded() { complaint.withLock { $0 = nil } }

    /// Reports that were not taken yet.
    var uncollected: Int { ledger.withLock { $0.count } }

    /// Takes the reports that came since the last time.
    func collect() -> [KafkaDelivery] {
        ledger.withLock { held in
            defer { held = [] }
            return held
        }
    }

    func register(in conf: borrowing Conf, deliveries: Bool) {
        let me = unsafe Unmanaged.passRetained(self).toOpaque()
        unsafe rd_kafka_conf_set_opaque(conf.pointer, me)
        unsafe rd_kafka_conf_set_log_cb(conf.pointer) { client, level, facility, text in
            guard let client = unsafe client, let opaque = unsafe rd_kafka_opaque(client) else {
                return
            }
            unsafe KafkaCallbacks.of(opaque).log(
                KafkaLogLine(
                    level: Int(level),
                    facility: facility.map { unsafe String(cString: $0) } ?? "",
                    text: text.map { unsafe String(cString: $0) } ?? ""))
        }
        unsafe rd_kafka_conf_set_error_cb(conf.pointer) { _, number, reason, opaque in
            guard let opaque = unsafe opaque else { return }
            let said = unsafe reason.map { unsafe String(cString: $0) }
            guard let error = KafkaError(number: number, reason: said) else { return }
            unsafe KafkaCallbacks.of(opaque).note(error)
        }
        guard deliveries else { return }
        // Always set: without it librdkafka 2.0.2 commits in ticks of 10 ms.
        unsafe rd_kafka_conf_set_dr_msg_cb(conf.pointer) { _, message, opaque in
            guard let opaque = unsafe opaque, let message = unsafe message else { return }
            unsafe KafkaCallbacks.of(opaque).delivered(KafkaDelivery(message.pointee))
        }
    }

    /// Gives back the reference that librdkafka held.
    func abandon() { unsafe Unmanaged.passUnretained(self).release() }

    private func delivered(_ report: KafkaDelivery) {
        if report.error == nil { succeeded() }
        ledger.withLock { $0.append(report) }
    }

    private static func of(_ opaque: UnsafeMutableRawPointer) -> KafkaCallbacks {
        unsafe Unmanaged<KafkaCallbacks>.fromOpaque(opaque).takeUnretainedValue()
    }
}

/// What became of one record that was produced.
public struct KafkaDelivery: Sendable {
    /// The number that `produce` was given.
    public let token: Int
    /// The partition it went to; -1 when it never got one.
    public let partition: Int32
    /// Its offset there; -1 when it was not written or that is not known.
    public let offset: Int64
    /// Why it was not written, or not known to be; nil when it was.
    ///
    /// In a transaction being written is not yet being committed.
    public let error: KafkaError?

    init(_ message: rd_kafka_message_t) {
        token = unsafe Int(bitPattern: message._private)
        partition = unsafe message.partition
        let error = unsafe KafkaError(number: message.err.rawValue)
        offset = unsafe error == nil ? message.offset : -1
        self.error = error
    }
}
