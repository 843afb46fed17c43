internal import CRdkafka
internal import Threading

/// A pointer handed to the one thread that frees what it points to.
@safe struct Handed: @unchecked Sendable {
    // @unchecked: used by one thread at a time, or by librdkafka calls that are thread safe.
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }
}

/// Owns one `rd_kafka_t`: lends it to calls, and destroys it once, when no call is in it.
///
/// Threads: any. librdkafka promises that its API is "completely thread-safe" (`INTRODUCTION.md`);
/// the loan count keeps a client from being destroyed under a call that still blocks in it.
@safe final class KafkaHandle: Sendable {
    private let client: Handed
    private let loans = Lock(Loans())
    let callbacks: KafkaCallbacks

    private struct Loans {
        var calls = 0
        var isClosed = false
        var isGone = false
    }

    enum Role { case producer, consumer }

    init(
        _ role: Role, _ configuration: KafkaConfiguration, log: @escaping KafkaLog
    ) throws(KafkaError) {
        let conf = Conf()
        for property in configuration.properties {
            if let refused = conf.set(property) { throw refused }
        }
        let callbacks = KafkaCallbacks(log: log)
        callbacks.register(in: conf, deliveries: role == .producer)
        do throws(KafkaError) {
            let type = role == .producer ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER
            client = unsafe Handed(try conf.makeClient(type))
        } catch {
            callbacks.abandon()
            throw error
        }
        self.callbacks = callbacks
        if configuration["sasl.mechanism"] == "OAUTHBEARER"
            || configuration["sasl.mechanisms"] == "OAUTHBEARER"
        {
            // Tokens are then fetched on a thread of librdkafka's, also while no one polls.
            let refused = unsafe KafkaError(
                consuming: rd_kafka_sasl_background_callbacks_enable(client.pointer))
            if let refused { callbacks.note(refused) }
        }
    }

    deinit { close(timeout: nil) }

    /// How many calls are inside the client this moment.
    var callsInside: Int { loans.withLock { $0.calls } }

    /// Lends the client to a call; throws `closed` after `close`.
    func use<Result>(
        _ body: (OpaquePointer) throws(KafkaError) -> Result
    ) throws(KafkaError) -> Result {
        try loans.withLock { (loans) throws(KafkaError) in
            guard !loans.isClosed else { throw .closed }
            loans.calls += 1
        }
        defer {
            let isClosed = loans.withLock { loans in
                loans.calls -= 1
                return loans.isClosed
            }
            if isClosed { loans.signal { _ in } }
        }
        return try unsafe body(client.pointer)
    }

    /// Destroys the client on a thread of its own, once; false when it is not over in time.
    ///
    /// librdkafka can hang in `rd_kafka_destroy`. Then its memory and threads stay, and the
    /// process goes on. Waits for calls that are still inside, within the same limit.
    ///
    /// - Parameters:
    ///   - timeout: nil does not wait.
    ///   - before: runs first on that thread, to free what hangs on the client.
    @discardableResult
    func close(timeout: Duration?, before: @escaping @Sendable () -> Void = {}) -> Bool {
        let isFirst = loans.withLock { loans in
            defer { loans.isClosed = true }
            return !loans.isClosed
        }
        if isFirst {
            let (client, loans, callbacks) = (client, loans, callbacks)
            _ = OSThread(name: "kafka-destroy") {
                _ = loans.wait { $0.calls == 0 ? true : nil }
                before()
                unsafe rd_kafka_destroy(client.pointer)
                callbacks.abandon()
                loans.signal { $0.isGone = true }
            }
        }
        guard let timeout else { return false }
        return loans.wait(timeout: timeout) { $0.isGone ? true : nil } ?? false
    }

    /// What an error of a call means, with what the client complained of meanwhile.
    ///
    /// A bare time-out hides that a password was refused or a certificate not trusted; librdkafka
    /// tells that only through its error callback.
    func explained(_ error: KafkaError) -> KafkaError {
        guard error.kind == .timedOut || error.kind == .unreachable else { return error }
        do throws(KafkaError) {
            _ = try unsafe use { (client) throws(KafkaError) in unsafe rd_kafka_poll(client, 0) }
        } catch { return error }
        guard let trouble = callbacks.trouble, trouble.reason != error.reason else { return error }
        let isTelling = trouble.kind == .authentication || trouble.kind == .unreachable
        return error.adding("; \(trouble.reason)", kind: isTelling ? trouble.kind : nil)
    }
}
