internal import Kafka
internal import RelayCore
internal import Threading

// A broker that is killed while it holds a transaction of ours may come back, call that transaction
// ended, and never write so into the partitions (seen with Kafka 4.4.0: the markers are dropped
// while the broker's own registration is fenced). Then readers of committed records wait there for
// ever, and, worse, the next transaction of the same producer that is committed commits the old
// records with its own. An aborted transaction ends the old one with itself, so one of those comes
// first. Where the old one was to be committed, other partitions may have been told so: then what
// was aborted is published again, and only that (``TornTransaction``).

extension KafkaPublisher {
    /// How long the end of an aborted transaction may take to show in its partitions.
    private static let abortPatience = Duration.seconds(5)

    /// Ends transactions of ours that the broker thinks ended, and its partitions do not.
    ///
    /// Called when the broker has just said that our transactional id has nothing open. What is
    /// open none the less is ours and forgotten, or another producer's, to whom this does nothing.
    /// The record that it takes is aborted: readers of committed records never see it.
    /// A sink whose topic cannot be looked at does not hold up the others: before the first record
    /// goes there, ``lookAgain(before:)`` does.
    func endTransactionsLeftOpen(_ producer: KafkaProducer) throws(PublishFailure) {
        guard settings.guarantee == .exactlyOnce else { return }
        let consumer = try reader()
        defer { consumer.close(timeout: .seconds(2)) }
        let owed = state.withLock { state in
            state.unseen = []
            return state.takenBack
        }
        try takeBack(owed, producer)
        state.withLock { $0.takenBack = [:] }
        var open = try openPlaces(consumer)
        guard !open.isEmpty else { return }
        // Another producer's transaction moves on; what is forgotten stays where it is.
        pause(.milliseconds(300))
        open.formIntersection(try openPlaces(consumer))
        guard !open.isEmpty else { return }
        let found = try findTorn(open: open, consumer)
        try abort(at: open, producer)
        let others = try stillOpen(of: open, consumer)
        tell(
            open.subtracting(others), "the broker had left a transaction of ours open; it is ended")
        tell(others, "a transaction of another producer is open; readers wait for its end")
        guard let found, others != open else { return }
        // A process that dies before this is written has lost what was aborted.
        state.withLock { ($0.torn, $0.takenBack) = (found.torn, found.before) }
        try takeBack(found.before, producer)
        state.withLock { $0.takenBack = [:] }
    }

    /// Which of these places are open some time after our abort: those are another producer's.
    ///
    /// The coordinator answers before it has told all partitions, and a partition goes by what all
    /// of its replicas have.
    private func stillOpen(
        of places: Set<OpenPlace>, _ consumer: KafkaConsumer
    ) throws(PublishFailure) -> Set<OpenPlace> {
        let deadline = ContinuousClock.now + Self.abortPatience
        while true {
            let open = places.intersection(try openPlaces(consumer))
            guard !open.isEmpty, ContinuousClock.now < deadline, !isClosing else { return open }
            pause(.milliseconds(50))
        }
    }

    /// Looks at topics of a run that could not be looked at before.
    ///
    /// - Throws: `refusedSink` where one still cannot be; `reopen` where a transaction is open, so
    ///   that it is ended if it is ours.
    func lookAgain(before run: Run) throws(PublishFailure) {
        let unseen = state.withLock { $0.unseen }
        let sinks = run.parts.map(\.sink).filter { unseen.contains($0) }
        guard !sinks.isEmpty else { return }
        let consumer = try reader()
        defer { consumer.close(timeout: .seconds(2)) }
        for sink in sinks {
            let open: Set<OpenPlace>
            do throws(KafkaError) {
                open = try openPlaces(of: sink.text, consumer)
            } catch {
                throw PublishFailure(
                    .refusedSink(sink), error, doing: "looking for open transactions in \(sink)",
                    settings)
            }
            guard open.isEmpty else {
                drop()
                throw PublishFailure(
                    kind: .reopen, code: "left_open",
                    reason: "a transaction is open in \(sink), which could not be looked at before")
            }
            state.withLock { _ = $0.unseen.remove(sink) }
        }
    }

    private func reader() throws(PublishFailure) -> KafkaConsumer {
        do throws(KafkaError) {
            return try KafkaConsumer(settings.readerConfiguration(), log: log)
        } catch { throw PublishFailure(error, doing: "setting up the Kafka client", settings) }
    }

    /// All places with an open transaction; the progress topic first: nothing goes without it.
    private func openPlaces(_ consumer: KafkaConsumer) throws(PublishFailure) -> Set<OpenPlace> {
        var open: Set<OpenPlace>
        do throws(KafkaError) {
            open = try openPlaces(of: settings.progressTopic, consumer)
        } catch {
            throw PublishFailure(
                error, doing: "looking for open transactions in \(settings.progressTopic)", settings
            )
        }
        for sink in settings.sinks.map(\.name) where !state.withLock({ $0.unseen.contains(sink) }) {
            do throws(KafkaError) {
                open.formUnion(try openPlaces(of: sink.text, consumer))
            } catch {
                // Why is told when a record is to go there.
                state.withLock { _ = $0.unseen.insert(sink) }
            }
        }
        return open
    }

    private func openPlaces(
        of topic: String, _ consumer: KafkaConsumer
    ) throws(KafkaError) -> Set<OpenPlace> {
        let patience = topic == settings.progressTopic ? Self.patience : Self.troubledPatience
        let partitions = try consumer.partitions(of: topic, timeout: patience)
        let ends = try consumer.watermarks(topic: topic, partitions: partitions, timeout: patience)
        let stable = try consumer.watermarks(
            topic: topic, partitions: partitions, as: .readCommitted, timeout: patience)
        var open: Set<OpenPlace> = []
        for (partition, marks) in stable {
            guard let end = ends[partition], marks.high < end.high else { continue }
            open.insert(OpenPlace(topic: topic, partition: partition, offset: marks.high))
        }
        return open
    }

    private func abort(
        at places: Set<OpenPlace>, _ producer: KafkaProducer
    ) throws(PublishFailure) {
        do throws(KafkaError) {
            try producer.begin()
            for place in places {
                try producer.produce(
                    topic: place.topic, key: Array(settings.transactionalID.utf8), value: nil,
                    headers: [KafkaHeader("trax-aborted", "left open by the broker")],
                    partition: place.partition)
            }
            try resume { (slice) throws(KafkaError) in try producer.flush(timeout: slice) }
            // A record that was refused is aborted like the others.
            _ = producer.poll()
            try resume { (slice) throws(KafkaError) in try producer.abort(timeout: slice) }
        } catch {
            throw PublishFailure(
                .reopen, error, doing: "ending transactions that the broker left open", settings)
        }
    }

    private func tell(_ places: Set<OpenPlace>, _ what: String) {
        guard !places.isEmpty else { return }
        note(what + ": " + places.map(\.text).sorted().joined(separator: ", "))
    }
}
