internal import Kafka
internal import RelayCore

// A broker that is killed while it holds a transaction of ours may come back, call that transaction
// ended, and never write so into the partitions (seen with Kafka 4.4.0: the markers are dropped
// while the broker's own registration is fenced). Then readers of committed records wait there for
// ever, and, worse, the next transaction of the same producer that is committed commits the old
// records with its own. An aborted transaction ends the old one with itself, so one of those comes
// first.

/// A partition where a transaction is open, and the offset at which it begins.
private struct OpenPlace: Hashable {
    let topic: String
    let partition: Int32
    let offset: Int64

    var text: String { "\(topic) [\(partition)] at offset \(offset)" }
}

extension KafkaPublisher {
    /// Ends transactions of ours that the broker thinks ended, and its partitions do not.
    ///
    /// Called when the broker has just said that our transactional id has nothing open. What is
    /// open none the less is ours and forgotten, or another producer's, to whom this does nothing.
    /// The record that it takes is aborted: readers of committed records never see it.
    func endTransactionsLeftOpen(_ producer: KafkaProducer) throws(PublishFailure) {
        guard settings.guarantee == .exactlyOnce else { return }
        let consumer: KafkaConsumer
        do throws(KafkaError) {
            consumer = try KafkaConsumer(settings.readerConfiguration(), log: log)
        } catch { throw PublishFailure(error, doing: "setting up the Kafka client", settings) }
        defer { consumer.close(timeout: .seconds(2)) }
        let topics = settings.sinks.map(\.name.text) + [settings.progressTopic]
        var open = try openPlaces(of: topics, consumer)
        guard !open.isEmpty else { return }
        // Another producer's transaction moves on; what is forgotten stays where it is.
        pause(.milliseconds(300))
        open.formIntersection(try openPlaces(of: Set(open.map(\.topic)).sorted(), consumer))
        guard !open.isEmpty else { return }
        try abort(at: open, producer)
        let others = open.intersection(
            try openPlaces(of: Set(open.map(\.topic)).sorted(), consumer))
        tell(
            open.subtracting(others), "the broker had left a transaction of ours open; it is ended")
        tell(others, "a transaction of another producer is open; readers wait for its end")
    }

    private func openPlaces(
        of topics: [String], _ consumer: KafkaConsumer
    ) throws(PublishFailure) -> Set<OpenPlace> {
        var open: Set<OpenPlace> = []
        for topic in topics {
            do throws(KafkaError) {
                let partitions = try consumer.partitions(of: topic, timeout: Self.patience)
                let ends = try consumer.watermarks(
                    topic: topic, partitions: partitions, timeout: Self.patience)
                let stable = try consumer.watermarks(
                    topic: topic, partitions: partitions, as: .readCommitted,
                    timeout: Self.patience)
                for (partition, marks) in stable {
                    guard let end = ends[partition], marks.high < end.high else { continue }
                    open.insert(OpenPlace(topic: topic, partition: partition, offset: marks.high))
                }
            } catch {
                // Where we may not look we cannot write either, which its sink will tell.
                guard error.kind != .unauthorized, error.kind != .unknownTopic else { continue }
                throw PublishFailure(
                    error, doing: "looking for open transactions in \(topic)", settings)
            }
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
