public import Kafka
public import RelayCore
internal import Threading

/// Publishes runs to Kafka: one producer for all Kafka and state sinks of a pipeline.
///
/// Exactly once, a run is one transaction: its events, its state records and a progress record per
/// sink, so that the place moves with the events or not at all. At least once, progress follows
/// behind the acknowledgements.
///
/// A client in a fatal state is destroyed, and `open` makes another one. Being fenced proves
/// nothing (a broker or a relay that slept past the transaction's time looks the same) until the
/// progress topic has been read: if another instance has written there since, it is `takenOver`.
///
/// Threads: `open`, `publish` and `probe` by one; `close` by any, and it lets a blocked call return
/// within a second or two.
public final class KafkaPublisher: Publisher {
    /// The longest that `open` waits for an epoch, and `publish` for acknowledgements.
    ///
    /// Short of what makes a sink unready (30 s), so that trouble is told while it lasts.
    public static let patience = Duration.seconds(10)

    let settings: KafkaSettings
    private let lastEpoch: @Sendable () -> Int64
    let log: KafkaLog
    let note: @Sendable (String) -> Void
    let state = Lock(State())

    struct State {
        var producer: KafkaProducer?
        /// What we read or wrote last of each sink.
        var known: [SinkName: Progress] = [:]
        /// Keys of sinks that the pipeline no longer has, to be deleted with the next run.
        var strays: Set<String> = []
        /// Sinks that took nothing the last time.
        var troubled: Set<SinkName> = []
        /// Sinks whose topics could not be searched for open transactions at the opening.
        var unseen: Set<SinkName> = []
        /// Sinks of a run that failed without a name.
        var doubted: Set<SinkName> = []
        /// What is left to do of a transaction that the broker ended in some partitions only.
        var torn: TornTransaction?
        /// Progress of before it, which is to be written first.
        var takenBack: [SinkName: Progress] = [:]
        var hasOpened = false
        var isClosing = false
    }

    /// Makes a publisher; reaches no broker before `open`.
    ///
    /// - Parameters:
    ///   - lastEpoch: the largest epoch that the journal has given, for the progress record.
    ///   - log: takes librdkafka's log on its threads.
    ///   - note: takes what an operator should know of topics, a sentence each.
    public init(
        _ settings: KafkaSettings, lastEpoch: @escaping @Sendable () -> Int64,
        log: @escaping KafkaLog = { _ in }, note: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.settings = settings
        self.lastEpoch = lastEpoch
        // One set of properties serves producer and readers: each is told of the other's.
        self.log = { if $0.facility != "CONFWARN" { log($0) } }
        self.note = note
    }

    /// Makes the topics, fences any older self, and reads what the broker knows of each place.
    public func open() throws(PublishFailure) -> [SinkName: Progress] {
        drop()
        if !state.withLock({ $0.hasOpened }), settings.topics != .trust { try settleTopics() }
        return try renew()
    }

    /// Publishes a run; it is then acknowledged, or committed.
    public func publish(_ run: Run) throws(PublishFailure) {
        guard !run.parts.isEmpty else { return }
        guard let producer = state.withLock({ $0.producer }) else {
            throw PublishFailure(
                kind: .reopen, code: "_CLOSED", reason: "the producer must be opened anew")
        }
        try askForTroubled(run, producer)
        try lookAgain(before: run)
        var run = run
        state.withLock { $0.torn?.leaveOut(of: &run) }
        do throws(PublishFailure) {
            switch settings.guarantee {
            case .exactlyOnce: try commit(run, producer)
            case .atLeastOnce: try acknowledge(run, producer)
            }
        } catch {
            noteTrouble(error, run)
            throw error
        }
        let written = progress(of: run)
        state.withLock { state in
            state.known.merge(written) { _, new in new }
            state.torn?.published(run)
            if state.torn?.isOver ?? false { state.torn = nil }
            state.strays = []
            state.troubled.subtract(run.parts.map(\.sink))
            state.doubted.subtract(run.parts.map(\.sink))
        }
    }

    /// The keys for which a state sink's topic holds a value now.
    public func heldKeys(
        of sink: SinkName, isOurs: (String) -> Bool
    ) throws(PublishFailure) -> Set<String> {
        var held: Set<String> = []
        try read(sink) { record in
            let key = record.key.map { String(decoding: $0, as: UTF8.self) } ?? ""
            guard isOurs(key) else { return }
            if record.value == nil { held.remove(key) } else { held.insert(key) }
        }
        return held
    }

    /// Reads what a state sink's topic holds, to its end, committed records only.
    public func states(
        of sink: SinkName, _ body: (HeldState) throws(PublishFailure) -> Void
    ) throws(PublishFailure) {
        do throws(PublishFailure) {
            try read(sink) { record in
                try body(
                    HeldState(
                        key: record.key.map { String(decoding: $0, as: UTF8.self) } ?? "",
                        value: record.value, partition: record.partition,
                        writtenAt: record.milliseconds ?? 0))
            }
        } catch {
            // Nothing goes on without it here: a refusal is not the sink's alone.
            guard case .refusedSink = error.kind else { throw error }
            throw PublishFailure(kind: .unavailable, code: error.code, reason: error.reason)
        }
    }

    private func read(
        _ sink: SinkName, _ body: (KafkaRecord) throws -> Void
    ) throws(PublishFailure) {
        do {
            let consumer = try KafkaConsumer(settings.readerConfiguration(), log: log)
            defer { consumer.close(timeout: .seconds(2)) }
            try consumer.read(topic: sink.text, patience: .seconds(10), body)
        } catch let error as KafkaError {
            throw reading(error, of: sink)
        } catch let failure as PublishFailure {
            throw failure
        } catch {
            throw PublishFailure(
                kind: .unavailable, code: "state", reason: "reading \(sink): \(error)")
        }
    }

    /// Serves the client, and asks a broker where it complained of all of them.
    public func probe() throws(PublishFailure) {
        guard let producer = state.withLock({ $0.producer }) else {
            throw PublishFailure(
                kind: .reopen, code: "_CLOSED", reason: "the producer must be opened anew")
        }
        _ = producer.poll()
        if let error = producer.fatalError {
            throw lost(error, doing: "keeping the producer")
        }
        guard producer.trouble != nil else { return }
        do throws(KafkaError) {
            try producer.probe(timeout: .seconds(1))
        } catch { throw PublishFailure(.unavailable, error, doing: "asking the broker", settings) }
    }

    /// Closes; what is not committed is aborted by the broker, or by the next start.
    public func close(within limit: Duration) {
        let producer = state.signal { state in
            state.isClosing = true
            defer { state.producer = nil }
            return state.producer
        }
        producer?.close(timeout: limit)
    }
}

// Opening.
extension KafkaPublisher {
    /// Puts a new client in the place of one that is gone.
    @discardableResult
    func renew() throws(PublishFailure) -> [SinkName: Progress] {
        let producer = try makeProducer()
        do throws(PublishFailure) {
            try endTransactionsLeftOpen(producer)
            let (progress, strays) = try readProgress()
            try checkOwner(progress)
            state.withLock { state in
                state.producer = producer
                state.known = progress
                state.strays = strays
                state.hasOpened = true
            }
            return progress
        } catch {
            producer.close(timeout: .seconds(5))
            throw error
        }
    }

    private func settleTopics() throws(PublishFailure) {
        let admin: KafkaAdmin
        do throws(KafkaError) {
            admin = try KafkaAdmin(settings.readerConfiguration(), log: log)
        } catch { throw PublishFailure(error, doing: "setting up the Kafka client", settings) }
        defer { admin.close(timeout: .seconds(2)) }
        for line in try Topics(settings).settle(admin, timeout: .seconds(10)) { note(line) }
    }

    private func makeProducer() throws(PublishFailure) -> KafkaProducer {
        let producer: KafkaProducer
        do throws(KafkaError) {
            producer = try KafkaProducer(settings.producerConfiguration(), log: log)
        } catch { throw PublishFailure(error, doing: "setting up the producer", settings) }
        guard settings.guarantee == .exactlyOnce else { return producer }
        do throws(KafkaError) {
            try resume { (slice) throws(KafkaError) in
                try producer.initTransactions(timeout: slice)
            }
        } catch {
            producer.close(timeout: .seconds(5))
            throw PublishFailure(
                error, doing: "getting the transactional id \(settings.transactionalID)", settings)
        }
        return producer
    }

    /// The progress of our sinks, and the keys of others.
    private func readProgress() throws(PublishFailure) -> ([SinkName: Progress], Set<String>) {
        let ours = Set(settings.sinks.map(\.name))
        let all = try Self.readProgress(settings, log: log)
        return (
            all.filter { ours.contains($0.key) },
            Set(all.keys.filter { !ours.contains($0) }.map(\.text))
        )
    }

    /// Whether another process has written since we last read or wrote.
    private func checkOwner(_ progress: [SinkName: Progress]) throws(PublishFailure) {
        let (hasOpened, known) = state.withLock { ($0.hasOpened, $0.known) }
        guard hasOpened else { return }
        for (sink, now) in progress
        where now.instance != settings.instance && now != known[sink] {
            throw PublishFailure(
                kind: .takenOver, code: "taken_over",
                reason: "another relay runs as \(settings.name): it has published to \(sink). "
                    + "Stop one of them, or give this pipeline another name")
        }
    }
}

// What both guarantees use.
extension KafkaPublisher {
    /// Destroys the client; the next call but `open` asks for that.
    func drop() {
        let producer = state.withLock { state in
            defer { state.producer = nil }
            return state.producer
        }
        producer?.close(timeout: .seconds(5))
    }

    /// Destroys the client after an error that left open what happened.
    func lost(_ error: KafkaError, doing: String) -> PublishFailure {
        drop()
        return PublishFailure(.reopen, error, doing: doing, settings)
    }

    var isClosing: Bool { state.withLock { $0.isClosing } }

    /// Waits a little, less when we are closed meanwhile.
    func pause(_ time: Duration) {
        _ = state.wait(timeout: time) { $0.isClosing ? true : nil }
    }

    /// Repeats a call that goes on where it was, in slices, so that `close` is noticed.
    ///
    /// - Throws: the last error, once it is not retriable, patience is over, or we are closed.
    func resume(
        _ patience: Duration = patience, _ call: (Duration) throws(KafkaError) -> Void
    ) throws(KafkaError) {
        let deadline = ContinuousClock.now + patience
        while true {
            do throws(KafkaError) {
                return try call(.seconds(1))
            } catch {
                guard error.isRetriable, !error.isFatal, !error.requiresAbort, !isClosing,
                    ContinuousClock.now < deadline
                else { throw error }
            }
            pause(.milliseconds(20))
        }
    }

    /// What the progress topic will say after a run.
    func progress(of run: Run) -> [SinkName: Progress] {
        let epoch = lastEpoch()
        var all: [SinkName: Progress] = [:]
        for part in run.parts where !part.isFilling {
            all[part.sink] = Progress(
                journal: settings.journal, position: part.place, eventID: part.eventID,
                epoch: epoch, instance: settings.instance)
        }
        return all
    }

    var strays: Set<String> { state.withLock { $0.strays } }

    var troubled: Set<SinkName> { state.withLock { $0.troubled } }

    /// Sinks of which it is asked first whether their topics are there.
    var suspects: Set<SinkName> { state.withLock { $0.troubled.union($0.doubted) } }

    /// Remembers whose trouble it was, or may have been.
    private func noteTrouble(_ failure: PublishFailure, _ run: Run) {
        switch failure.kind {
        case .refusedSink(let sink):
            state.withLock { _ = $0.troubled.insert(sink) }
        case .again where run.parts.count > 1, .reopen where run.parts.count > 1:
            state.withLock { $0.doubted.formUnion(run.parts.map(\.sink)) }
        case .again, .reopen, .refusedRecord, .unavailable, .misconfigured, .takenOver,
            .gone:
            break
        }
    }
}
