internal import CRdkafka
internal import Threading

/// What a reader met next.
public enum KafkaStep: Sendable {
    /// A record.
    case record(KafkaRecord)
    /// Nothing more in this partition for now; `offset` is where the next record will be.
    case end(topic: String, partition: Int32, offset: Int64)
}

/// Where reading starts.
public enum KafkaPlace: Sendable, Hashable {
    /// At the oldest record that is still there.
    case beginning
    /// Behind the newest record.
    case end
    /// At this offset; where that is gone, at the oldest.
    case offset(Int64)

    fileprivate var raw: Int64 {
        switch self {
        case .beginning: -2
        case .end: -1
        case .offset(let offset): offset
        }
    }
}

/// Reads partitions that the caller names, from where the caller says; belongs to no group.
///
/// It commits no offsets and needs no rights on groups. What it holds is bounded: 16 MiB fetched
/// at a time (one larger batch still passes), 32 MiB waiting, unless the configuration says
/// otherwise.
///
/// Threads: one at a time for `start`, `stop`, `next` and `read`; `close` from any.
public final class KafkaConsumer: Sendable {
    /// Which records of transactions are shown.
    public enum Isolation: String, Sendable {
        /// Only those of committed ones.
        case readCommitted = "read_committed"
        /// All, also of open and aborted ones.
        case readUncommitted = "read_uncommitted"
    }

    private let handle: KafkaHandle
    private let queue: Handed
    private let topics = Lock(Topics())
    private let configuration: KafkaConfiguration
    private let isolation: Isolation
    private let log: KafkaLog

    /// Topic objects and what is being read of them.
    private struct Topics: Sendable {
        var objects: [String: Handed] = [:]
        var started: [String: Set<Int32>] = [:]
    }

    /// Makes the client; reaches no broker yet.
    public init(
        _ configuration: KafkaConfiguration, isolation: Isolation = .readCommitted,
        log: @escaping KafkaLog = { _ in }
    ) throws(KafkaError) {
        self.configuration = configuration
        self.isolation = isolation
        self.log = log
        let whole = configuration.surrounded(
            defaults: [
                ("fetch.max.bytes", "16777216"), ("max.partition.fetch.bytes", "1048576"),
                ("queued.max.messages.kbytes", "32768"), ("fetch.wait.max.ms", "100"),
            ],
            fixed: [
                ("isolation.level", isolation.rawValue), ("enable.partition.eof", "true"),
                ("enable.auto.commit", "false"), ("enable.auto.offset.store", "false"),
                ("allow.auto.create.topics", "false"), ("auto.offset.reset", "earliest"),
            ])
        handle = try KafkaHandle(.consumer, whole, log: log)
        queue = try unsafe handle.use { (client) throws(KafkaError) in
            guard let queue = unsafe rd_kafka_queue_new(client) else {
                preconditionFailure("no memory")
            }
            return unsafe Handed(queue)
        }
    }

    deinit { close(timeout: nil) }

    /// What the client complained of since brokers last answered.
    public var trouble: KafkaError? { handle.callbacks.trouble }

    /// The partitions of a topic, ascending; waits while it has no leaders yet.
    ///
    /// - Throws: `unknownTopic`, `unauthorized`, `timedOut`.
    public func partitions(
        of topic: String, timeout: Duration
    ) throws(KafkaError) -> [Int32] {
        let deadline = ContinuousClock.now + timeout
        while true {
            let left = max(deadline - .now, .milliseconds(1))
            let found = try handle.metadata(topic: topic, all: false, timeout: left).topics
                .first { $0.name == topic }
            guard let found else { throw .timedOut("the answer lacks the topic \(topic)") }
            guard let error = found.error else { return found.partitions.map(\.id) }
            guard error.number == Number.leaderNotAvailable, deadline > .now else { throw error }
            pause(.milliseconds(100))
        }
    }

    /// Begins reading a partition.
    public func start(
        topic: String, partition: Int32, at place: KafkaPlace
    ) throws(KafkaError) {
        let object = try object(of: topic)
        let number = try unsafe handle.use { (_) throws(KafkaError) in
            let code = unsafe rd_kafka_consume_start_queue(
                object.pointer, partition, place.raw, queue.pointer)
            guard code != 0 else { return Int32(0) }
            return rd_kafka_last_error().rawValue
        }
        if let error = KafkaError(number: number) { throw error }
        topics.withLock { _ = $0.started[topic, default: []].insert(partition) }
    }

    /// Ends reading a partition; nothing of it comes from `next` any more.
    public func stop(topic: String, partition: Int32) throws(KafkaError) {
        let object = topics.withLock { topics -> Handed? in
            guard topics.started[topic]?.remove(partition) != nil else { return nil }
            return topics.objects[topic]
        }
        guard let object else { return }
        _ = try unsafe handle.use { (_) throws(KafkaError) in
            unsafe rd_kafka_consume_stop(object.pointer, partition)
        }
    }

    /// The next record or end of a partition; nil when nothing came in time.
    ///
    /// - Throws: what a partition met: `unknownTopic` once it is deleted, `unauthorized`. The
    ///   others go on.
    public func next(timeout: Duration) throws(KafkaError) -> KafkaStep? {
        let (step, error): (KafkaStep?, KafkaError?) = try unsafe handle.use {
            (client) throws(KafkaError) in
            guard
                let message = unsafe rd_kafka_consume_queue(
                    queue.pointer, timeout.kafkaMilliseconds)
            else {
                // Complaints of the client wait in its main queue, which only this serves.
                _ = unsafe rd_kafka_poll(client, 0)
                return (nil, nil)
            }
            defer { unsafe rd_kafka_message_destroy(message) }
            let number = unsafe message.pointee.err.rawValue
            if number == 0 { return unsafe (.record(KafkaRecord(message)), nil) }
            let topic = unsafe message.pointee.rkt.map {
                unsafe String(cString: rd_kafka_topic_name($0))
            }
            let partition = unsafe message.pointee.partition
            if number == Number.partitionEnd {
                let offset = unsafe message.pointee.offset
                return (.end(topic: topic ?? "", partition: partition, offset: offset), nil)
            }
            let said = unsafe rd_kafka_message_errstr(message)
            let error = unsafe KafkaError(
                number: number, reason: said.map { unsafe String(cString: $0) })
            return (nil, error?.adding(" at \(topic ?? "?") [\(partition)]"))
        }
        if let error { throw error }
        if step != nil { handle.callbacks.succeeded() }
        return step
    }

    /// Stops reading and destroys the client; false when that hangs, and then it is left.
    @discardableResult
    public func close(timeout: Duration? = .seconds(10)) -> Bool {
        let (topics, queue) = (topics, queue)
        return handle.close(timeout: timeout) {
            let held = topics.withLock { held in
                defer { held = Topics() }
                return held
            }
            for (name, object) in held.objects {
                for partition in held.started[name] ?? [] {
                    unsafe rd_kafka_consume_stop(object.pointer, partition)
                }
                unsafe rd_kafka_topic_destroy(object.pointer)
            }
            unsafe rd_kafka_queue_destroy(queue.pointer)
        }
    }

    private func object(of topic: String) throws(KafkaError) -> Handed {
        if let known = topics.withLock({ $0.objects[topic] }) { return known }
        let made: Handed? = try unsafe handle.use { (client) throws(KafkaError) in
            unsafe rd_kafka_topic_new(client, topic, nil).map { unsafe Handed($0) }
        }
        guard let made else { throw .configuration("no topic can be named \(topic)") }
        topics.withLock { $0.objects[topic] = made }
        return made
    }

    private func pause(_ time: Duration) {
        _ = Lock(()).wait(timeout: time) { _ -> Bool? in nil }
    }
}

// Reading a topic from one end to the other.
extension KafkaConsumer {
    /// Reads all of a topic that is there now, record by record, and returns at its end.
    ///
    /// The high watermarks are asked for first, without regard to transactions; reading goes on
    /// until each partition has reached its own. So what was committed before the call is seen,
    /// even while its transaction's end is still being written. Records that come meanwhile may be
    /// among those given. In order within a partition.
    ///
    /// - Parameters:
    ///   - patience: how long nothing may come before it gives up; not a limit of the whole.
    ///   - body: takes the records; what it throws ends the reading.
    /// - Throws: `KafkaError`: `unknownTopic`, `unauthorized`, `timedOut` naming the partitions
    ///   that did not reach their end (a transaction of another may be open in them).
    public func read(
        topic: String, patience: Duration, _ body: (KafkaRecord) throws -> Void
    ) throws {
        let partitions = try partitions(of: topic, timeout: patience)
        var open: [Int32: Int64] = [:]
        for (partition, marks) in try watermarks(
            topic: topic, partitions: partitions, timeout: patience)
        where marks.low < marks.high {
            open[partition] = marks.high
        }
        var reached: [Int32: Int64] = [:]
        defer { stopAll(of: topic) }
        for partition in open.keys.sorted() {
            try start(topic: topic, partition: partition, at: .beginning)
        }
        while !open.isEmpty {
            guard let step = try next(timeout: patience) else {
                throw handle.explained(.late(topic, open, reached))
            }
            let (partition, next): (Int32, Int64)
            switch step {
            case .record(let record):
                try body(record)
                (partition, next) = (record.partition, record.offset + 1)
            case .end(_, let ended, let offset):
                (partition, next) = (ended, offset)
                reached[partition] = offset
            }
            guard let goal = open[partition], next >= goal else { continue }
            open[partition] = nil
            try stop(topic: topic, partition: partition)
        }
    }

    /// Reads a partition from an offset to the end that it has now.
    ///
    /// With `readCommitted` to the first open transaction, if there is one before.
    ///
    /// - Parameters:
    ///   - patience: how long nothing may come before it gives up; not a limit of the whole.
    ///   - body: takes the records, in order.
    /// - Throws: `unknownTopic`, `unauthorized`, `timedOut`.
    public func read(
        topic: String, partition: Int32, from offset: Int64, patience: Duration,
        _ body: (KafkaRecord) -> Void
    ) throws(KafkaError) {
        let marks = try watermarks(
            topic: topic, partitions: [partition], as: isolation, timeout: patience)
        guard let (low, high) = marks[partition], max(low, offset) < high else { return }
        try start(topic: topic, partition: partition, at: .offset(max(low, offset)))
        defer { stopAll(of: topic) }
        while let step = try next(timeout: patience) {
            switch step {
            case .record(let record):
                body(record)
                if record.offset + 1 >= high { return }
            case .end: return
            }
        }
        throw handle.explained(.timedOut("the end of \(topic) [\(partition)] did not come"))
    }

    private func stopAll(of topic: String) {
        for partition in topics.withLock({ $0.started[topic] ?? [] }) {
            do throws(KafkaError) {
                try stop(topic: topic, partition: partition)
            } catch {
                return  // Only a closed client refuses, and that one has stopped.
            }
        }
    }

    /// The first and next offset of partitions, whatever transactions are open in them.
    ///
    /// Asked on a thread of its own, since librdkafka before 2.3 may overrun its time.
    ///
    /// - Parameter level: with `readCommitted`, next is where the first open transaction begins.
    public func watermarks(
        topic: String, partitions: [Int32], as level: Isolation = .readUncommitted,
        timeout: Duration
    ) throws(KafkaError) -> [Int32: (low: Int64, high: Int64)] {
        // A read_committed client would be told the last stable offset in place of the end.
        let asking =
            isolation == level
            ? handle
            : try KafkaHandle(
                .consumer,
                configuration.surrounded(
                    defaults: [],
                    fixed: [
                        ("isolation.level", level.rawValue),
                        ("allow.auto.create.topics", "false"),
                    ]), log: log)
        defer { if isolation != level { asking.close(timeout: nil) } }
        let answers = Lock<Result<[Int32: (low: Int64, high: Int64)], KafkaError>?>(nil)
        let deadline = ContinuousClock.now + timeout
        _ = OSThread(name: "kafka-marks") {
            let result = asking.watermarks(topic: topic, partitions: partitions, until: deadline)
            answers.signal { $0 = result }
        }
        guard let result = answers.wait(timeout: timeout + .seconds(1), until: { $0 }) else {
            throw asking.explained(.timedOut("the ends of \(topic) did not come"))
        }
        return try result.get()
    }
}

extension KafkaHandle {
    fileprivate func watermarks(
        topic: String, partitions: [Int32], until deadline: ContinuousClock.Instant
    ) -> Result<[Int32: (low: Int64, high: Int64)], KafkaError> {
        var marks: [Int32: (low: Int64, high: Int64)] = [:]
        do throws(KafkaError) {
            for partition in partitions {
                marks[partition] = try watermark(topic, partition, until: deadline)
            }
        } catch { return .failure(error) }
        return .success(marks)
    }

    /// Asks again while the leader is just being found, as for a topic that was made a moment ago.
    private func watermark(
        _ topic: String, _ partition: Int32, until deadline: ContinuousClock.Instant
    ) throws(KafkaError) -> (low: Int64, high: Int64) {
        while true {
            let left = max(deadline - .now, .milliseconds(1)).kafkaMilliseconds
            var (low, high): (Int64, Int64) = (0, 0)
            let number = try unsafe use { (client) throws(KafkaError) in
                unsafe rd_kafka_query_watermark_offsets(
                    client, topic, partition, &low, &high, left
                ).rawValue
            }
            guard let error = KafkaError(number: number) else { return (low, high) }
            guard Number.leaderMoves.contains(number), ContinuousClock.now < deadline else {
                throw explained(error).adding(" at \(topic) [\(partition)]")
            }
            _ = Lock(()).wait(timeout: .milliseconds(100)) { _ -> Bool? in nil }
        }
    }
}
