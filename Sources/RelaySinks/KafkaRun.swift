internal import Kafka
internal import RelayCore

/// The records of a run on their way through a producer, and whose fault it is if one fails.
struct KafkaRun {
    /// Whose record a token is; nil for progress records.
    private var owners: [SinkName?] = []
    private var reports: [KafkaDelivery] = []

    /// How many records were put into the queue.
    var count: Int { owners.count }

    /// Puts an event or state record into the queue.
    mutating func put(
        _ message: OutboundMessage, of sink: SinkName, _ producer: KafkaProducer
    ) throws(KafkaError) {
        try put(
            topic: sink.text, key: message.key, value: message.value,
            headers: message.headers.map { KafkaHeader($0.name, $0.value) }, owner: sink, producer)
    }

    /// Puts a progress record into the queue, or the deletion of one.
    mutating func put(
        progress: Progress?, of key: String, topic: String, _ producer: KafkaProducer
    ) throws(KafkaError) {
        try put(
            topic: topic, key: key, value: progress.map { ProgressRecord.encode($0) }, headers: [],
            owner: nil, producer)
    }

    private mutating func put(
        topic: String, key: String, value: [UInt8]?, headers: [KafkaHeader], owner: SinkName?,
        _ producer: KafkaProducer
    ) throws(KafkaError) {
        let deadline = ContinuousClock.now + KafkaPublisher.patience
        while true {
            do throws(KafkaError) {
                try producer.produce(
                    topic: topic, key: Array(key.utf8), value: value, headers: headers,
                    token: owners.count)
                owners.append(owner)
                return
            } catch {
                // A full queue slows us down; it is no failure.
                guard error.kind == .queueFull, ContinuousClock.now < deadline else { throw error }
            }
            collect(from: producer, timeout: .milliseconds(100))
        }
    }

    /// Takes the reports that have come.
    mutating func collect(from producer: KafkaProducer, timeout: Duration = .zero) {
        reports += producer.poll(timeout: timeout)
    }

    /// Whether every record was reported as written.
    var isWritten: Bool {
        reports.count == owners.count && reports.allSatisfy { $0.error == nil }
    }

    /// The first error that a record met itself, rather than by an abort or a purge.
    var firstError: KafkaError? {
        reports.lazy.compactMap(\.error).first { $0.kind != .purged }
    }

    /// Holds the sink alone of which a record was not acknowledged in time while others' were.
    ///
    /// Its partitions have no leader, or too few replicas in step; the broker as such is there. Not
    /// for transactions: the broker cannot end one that touched such a partition.
    func lateness(_ error: KafkaError, _ settings: KafkaSettings) -> PublishFailure? {
        guard error.kind == .timedOut || error.kind == .unreachable, let silent else { return nil }
        return PublishFailure(
            .refusedSink(silent), error, doing: "publishing to \(silent)", settings)
    }

    private var silent: SinkName? {
        var silent = Set(owners.indices)
        for report in reports
        where report.error.map({ $0.kind != .timedOut && $0.kind != .purged }) ?? true {
            silent.remove(report.token)
        }
        guard reports.contains(where: { $0.error == nil }) else { return nil }
        return silent.sorted().lazy.compactMap { owners[$0] }.first
    }

    /// What the failed records say about the run; nil when nothing about any sink.
    ///
    /// - Parameters:
    ///   - error: what the call said, used when no record says anything.
    ///   - sink: whose record it was when the call itself refused one.
    func verdict(
        _ error: KafkaError, at sink: SinkName?, _ run: Run, _ settings: KafkaSettings
    ) -> PublishFailure? {
        for report in reports {
            guard let error = report.error, owners.indices.contains(report.token) else { continue }
            if let verdict = Self.verdict(error, owners[report.token], settings) { return verdict }
        }
        if sink != nil || run.parts.count == 1 {
            return Self.verdict(error, sink ?? run.parts[0].sink, settings)
        }
        // The coordinator refuses topics without naming them. Each sink alone then tells which.
        guard Self.verdict(error, nil, settings) != nil else { return nil }
        return PublishFailure(.again, error, doing: "publishing", settings)
    }

    private static func verdict(
        _ error: KafkaError, _ sink: SinkName?, _ settings: KafkaSettings
    ) -> PublishFailure? {
        switch error.kind {
        case .messageTooLarge, .invalidRecord:
            guard let sink else { return nil }
            return PublishFailure(
                .refusedRecord(sink), error, doing: "publishing to \(sink)", settings)
        case .unauthorized, .unknownTopic:
            guard !error.isFatal else { return nil }
            let topic = sink?.text ?? settings.progressTopic
            return PublishFailure(
                sink.map { .refusedSink($0) } ?? .unavailable, error,
                doing: "publishing to \(topic)", settings)
        default: return nil
        }
    }
}

// Exactly once: one transaction.
extension KafkaPublisher {
    func commit(_ run: Run, _ producer: KafkaProducer) throws(PublishFailure) {
        _ = producer.poll()
        do throws(KafkaError) {
            try producer.begin()
        } catch { throw lost(error, doing: "beginning a transaction") }
        var records = KafkaRun()
        let progress = progress(of: run)
        var sink: SinkName?
        do throws(KafkaError) {
            for part in run.parts {
                sink = part.sink
                for message in part.messages { try records.put(message, of: part.sink, producer) }
            }
            sink = nil
            for part in run.parts where !part.isFilling {
                try records.put(
                    progress: progress[part.sink], of: part.sink.text,
                    topic: settings.progressTopic, producer)
            }
            for key in strays.sorted() {
                try records.put(progress: nil, of: key, topic: settings.progressTopic, producer)
            }
        } catch {
            guard error.code == "_STATE" else {
                throw abort(error, at: sink, records, run, producer)
            }
            throw abort(cause(of: error, producer), at: nil, records, run, producer)
        }
        do throws(KafkaError) {
            try resume { (slice) throws(KafkaError) in try producer.commit(timeout: slice) }
        } catch {
            guard error.requiresAbort, !error.isFatal else {
                throw lost(error, doing: "committing")
            }
            throw abort(error, at: nil, records, run, producer)
        }
        records.collect(from: producer)
    }

    /// Why a transaction takes no more records: it has failed, which only its other calls explain.
    ///
    /// A failed transaction cannot be committed, and does not leave that state by itself.
    private func cause(of error: KafkaError, _ producer: KafkaProducer) -> KafkaError {
        do throws(KafkaError) {
            try producer.commit(timeout: .seconds(1))
            return error
        } catch { return error }
    }

    /// Aborts, and says what that means for the run.
    ///
    /// A coordinator that refused every partition has no transaction, and the abort of it is fatal
    /// to the client. Nothing was committed in any case: only a commit could have done that.
    private func abort(
        _ error: KafkaError, at sink: SinkName?, _ records: KafkaRun, _ run: Run,
        _ producer: KafkaProducer
    ) -> PublishFailure {
        var records = records
        records.collect(from: producer)
        var isUsable = true
        do throws(KafkaError) {
            try resume { (slice) throws(KafkaError) in try producer.abort(timeout: slice) }
        } catch {
            isUsable = false
            drop()
        }
        records.collect(from: producer)
        let verdict = records.verdict(error, at: sink, run, settings)
        if isUsable {
            return verdict ?? PublishFailure(.again, error, doing: "publishing", settings)
        }
        guard let verdict else {
            return PublishFailure(.reopen, error, doing: "publishing", settings)
        }
        return renewed(after: verdict)
    }

    /// Makes a new client after a refusal that cost the old one, so that other sinks go on.
    private func renewed(after verdict: PublishFailure) -> PublishFailure {
        do throws(PublishFailure) {
            try renew()
            return verdict
        } catch { return error }
    }
}

// At least once: acknowledgements, then progress.
extension KafkaPublisher {
    func acknowledge(_ run: Run, _ producer: KafkaProducer) throws(PublishFailure) {
        _ = producer.poll()
        var records = KafkaRun()
        var sink: SinkName?
        do throws(KafkaError) {
            for part in run.parts {
                sink = part.sink
                for message in part.messages { try records.put(message, of: part.sink, producer) }
            }
        } catch { throw settle(error, at: sink, &records, run, producer) }
        try flush(&records, run, producer)
        let progress = progress(of: run)
        var places = KafkaRun()
        do throws(KafkaError) {
            for part in run.parts where !part.isFilling {
                try places.put(
                    progress: progress[part.sink], of: part.sink.text,
                    topic: settings.progressTopic, producer)
            }
            for key in strays.sorted() {
                try places.put(progress: nil, of: key, topic: settings.progressTopic, producer)
            }
        } catch { throw settle(error, at: nil, &places, run, producer) }
        try flush(&places, run, producer)
    }

    /// Waits for all acknowledgements, and throws what any record says against it.
    private func flush(
        _ records: inout KafkaRun, _ run: Run, _ producer: KafkaProducer
    ) throws(PublishFailure) {
        do throws(KafkaError) {
            try resume(patience(for: run)) { (slice) throws(KafkaError) in
                try producer.flush(timeout: slice)
            }
            records.collect(from: producer)
            if let error = records.firstError { throw error }
        } catch { throw settle(error, at: nil, &records, run, producer) }
    }

    /// Takes back what is still on its way, and says what the error means for the run.
    private func settle(
        _ error: KafkaError, at sink: SinkName?, _ records: inout KafkaRun, _ run: Run,
        _ producer: KafkaProducer
    ) -> PublishFailure {
        records.collect(from: producer)
        let verdict =
            records.verdict(error, at: sink, run, settings) ?? records.lateness(error, settings)
        // What was sent and not acknowledged may arrive after what a live client sends next.
        drop()
        if let verdict { return renewed(after: verdict) }
        let isAway = error.kind == .timedOut || error.kind == .unreachable
        return PublishFailure(isAway ? .unavailable : .reopen, error, doing: "publishing", settings)
    }
}
