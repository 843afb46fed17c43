public import Kafka
public import RelayCore

/// Sends events again, into a topic of their own, beside a running relay.
///
/// An idempotent producer without transactions and with a client id of its own: it fences nobody,
/// and writes no place. At least once, in order per key.
///
/// Threads: one, which blocks.
public final class ReplayProducer {
    /// The longest that records wait without any acknowledgement.
    public static let patience = Duration.seconds(30)
    /// How long records that were sent are still waited for once a stop is asked for.
    static let stopPatience = Duration.seconds(5)

    /// Why sending ended, and how far it had come.
    public struct Interruption: Error {
        /// What went wrong; nil when a stop was asked for.
        public let failure: PublishFailure?
        /// How many records at the front of the last call are acknowledged.
        public let acknowledged: Int
    }

    private let settings: KafkaSettings
    private let topic: String
    private let log: KafkaLog
    private var producer: KafkaProducer?

    /// Reaches no broker before `open`.
    ///
    /// - Parameter log: takes librdkafka's log on its threads.
    public init(_ settings: KafkaSettings, topic: String, log: @escaping KafkaLog = { _ in }) {
        var settings = settings
        settings.guarantee = .atLeastOnce
        self.settings = settings
        self.topic = topic
        self.log = { if $0.facility != "CONFWARN" { log($0) } }
    }

    /// Makes the topic where that is allowed, looks that it fits, and makes the producer.
    ///
    /// - Returns: what is worth knowing of the topic.
    public func open() throws(PublishFailure) -> [String] {
        let notes = try settleTopic()
        do throws(KafkaError) {
            producer = try KafkaProducer(
                settings.producerConfiguration()
                    .setting("client.id", "\(settings.name)-replay"),
                log: log)
        } catch { throw PublishFailure(error, doing: "setting up the producer", settings) }
        return notes
    }

    /// Sends records and waits until all are acknowledged.
    ///
    /// - Parameter isStopped: asked several times a second.
    public func send(
        _ messages: [OutboundMessage], isStopped: () -> Bool
    ) throws(Interruption) {
        guard let producer else { preconditionFailure("open comes first") }
        var reports = Reports(count: messages.count)
        do throws(KafkaError) {
            for (token, message) in messages.enumerated() {
                try put(message, token: token, producer, &reports, isStopped: isStopped)
            }
            try finish(producer, &reports, isStopped: isStopped)
        } catch {
            throw Interruption(
                failure: PublishFailure(error, doing: "publishing to \(topic)", settings),
                acknowledged: reports.acknowledged)
        }
        guard reports.acknowledged == messages.count else {
            throw Interruption(failure: nil, acknowledged: reports.acknowledged)
        }
    }

    /// Closes; what is not acknowledged may have been written none the less.
    public func close(within limit: Duration) {
        defer { producer = nil }
        guard let producer else { return }
        do throws(KafkaError) {
            // What was not acknowledged has been told of; librdkafka need not say it again.
            try producer.purge()
        } catch {
            // A client that is closed already has nothing left to purge.
        }
        producer.close(timeout: limit)
    }

    private func settleTopic() throws(PublishFailure) -> [String] {
        let admin: KafkaAdmin
        do throws(KafkaError) {
            admin = try KafkaAdmin(settings.readerConfiguration(), log: log)
        } catch { throw PublishFailure(error, doing: "setting up the Kafka client", settings) }
        defer { admin.close(timeout: .seconds(2)) }
        let topics = Topics(settings, needed: [NeededTopic(name: topic, role: .events)])
        return try topics.settle(admin, timeout: .seconds(10))
    }

    private func put(
        _ message: OutboundMessage, token: Int, _ producer: KafkaProducer,
        _ reports: inout Reports, isStopped: () -> Bool
    ) throws(KafkaError) {
        while !isStopped() {
            do throws(KafkaError) {
                return try producer.produce(
                    topic: topic, key: Array(message.key.utf8), value: message.value,
                    headers: message.headers.map { KafkaHeader($0.name, $0.value) }, token: token)
            } catch {
                // A full queue slows us down; it is no failure.
                guard error.kind == .queueFull, !reports.isLate else { throw error }
            }
            try reports.take(producer.poll(timeout: .milliseconds(100)))
        }
    }

    private func finish(
        _ producer: KafkaProducer, _ reports: inout Reports, isStopped: () -> Bool
    ) throws(KafkaError) {
        var lastWait: ContinuousClock.Instant?
        while producer.outstanding > 0 {
            do throws(KafkaError) {
                try producer.flush(timeout: .milliseconds(200))
            } catch {
                guard error.isRetriable, !error.isFatal, !reports.isLate else { throw error }
            }
            try reports.take(producer.poll())
            guard isStopped() else { continue }
            let end = lastWait ?? ContinuousClock.now + Self.stopPatience
            lastWait = end
            if ContinuousClock.now > end { return }
        }
        try reports.take(producer.poll())
    }

    /// What the broker has said of the records of one call.
    private struct Reports {
        private var written: [Bool]
        private var lastReport = ContinuousClock.now

        init(count: Int) { written = Array(repeating: false, count: count) }

        /// How many at the front are written.
        var acknowledged: Int { written.firstIndex(of: false) ?? written.count }

        /// Whether the broker has said nothing for too long.
        var isLate: Bool { ContinuousClock.now > lastReport + ReplayProducer.patience }

        /// - Throws: the first error that a record met.
        mutating func take(_ deliveries: [KafkaDelivery]) throws(KafkaError) {
            guard !deliveries.isEmpty else { return }
            lastReport = .now
            var first: KafkaError?
            for delivery in deliveries {
                if let error = delivery.error {
                    first = first ?? error
                } else if written.indices.contains(delivery.token) {
                    written[delivery.token] = true
                }
            }
            if let first { throw first }
        }
    }
}
