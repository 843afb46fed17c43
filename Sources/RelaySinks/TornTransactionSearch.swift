internal import Kafka
internal import RelayCore
internal import Threading

// What becomes known of a transaction before the rest of it is aborted: how far it went, and
// whether that is what the progress topic says already.

/// A partition where a transaction is open, and the offset at which it begins.
struct OpenPlace: Hashable {
    let topic: String
    let partition: Int32
    let offset: Int64

    var text: String { "\(topic) [\(partition)] at offset \(offset)" }
}

/// What is to be done once the rest of a transaction is aborted.
struct TornFinding {
    /// What is published again, and what of that is left out.
    var torn: TornTransaction
    /// Progress of before, to be written where the progress topic says already that all is done.
    var before: [SinkName: Progress]
}

extension KafkaPublisher {
    /// How many records of a partition are looked at: more than a run has, with its end.
    private static let tail = Int64(2 * Delivery.runLimit)

    /// What was committed of a transaction that is open in some partitions; nil: nothing, as far as
    /// can be told.
    func findTorn(
        open: Set<OpenPlace>, _ committed: KafkaConsumer
    ) throws(PublishFailure) -> TornFinding? {
        do throws(KafkaError) {
            let all = try KafkaConsumer(
                settings.readerConfiguration(), isolation: .readUncommitted, log: log)
            defer { all.close(timeout: .seconds(2)) }
            return try findTorn(open: open, committed: committed, all: all)
        } catch {
            throw PublishFailure(
                error, doing: "looking at transactions that the broker left open", settings)
        }
    }

    private func findTorn(
        open: Set<OpenPlace>, committed: KafkaConsumer, all: KafkaConsumer
    ) throws(KafkaError) -> TornFinding? {
        let topic = settings.progressTopic
        let progress = try committed.partitions(of: topic, timeout: Self.patience)
        var found = TornFinding(torn: TornTransaction(places: [:]), before: [:])
        // A sink whose topic cannot be looked at holds up no other: its share comes again whole.
        let unseen = state.withLock { $0.unseen }
        for sink in settings.sinks.map(\.name) where !unseen.contains(sink) {
            let key = Array(sink.text.utf8)
            let home = KafkaPartition.of(key: key, count: progress.count)
            let aborted = Set(open.filter { $0.topic == sink.text }.map(\.partition))
            var place: JournalPosition?
            if let start = open.first(where: { $0.topic == topic && $0.partition == home }) {
                place = try newest(of: sink, in: home, from: start.offset, all).last?.0.position
            } else if !aborted.isEmpty {
                let told = try newest(of: sink, in: home, committed)
                let last = try newest(of: sink, in: home, all).last
                // Where the newest record is not committed, nothing of the transaction is.
                guard let (now, offset) = told.last, offset == last?.1 else { continue }
                guard let before = told.dropLast().last?.0, before.journal == now.journal,
                    before.position < now.position
                else {
                    note(
                        "the broker forgot to commit a part of what was published to \(sink) up to"
                            + " position \(now.position), and from where on cannot be told:"
                            + " `trax-relay replay` sends again what is missing there")
                    continue
                }
                place = now.position
                found.before[sink] = Progress(
                    journal: before.journal, position: before.position, eventID: before.eventID,
                    epoch: now.epoch, instance: settings.instance)
            }
            guard let place else { continue }
            let partitions = try committed.partitions(of: sink.text, timeout: Self.patience)
            found.torn.places[sink] = place
            try see(sink.text, partitions, committed, &found.torn.seen)
        }
        return found.torn.isOver ? nil : found
    }

    /// Progress records of a sink of this journal, in order, with their offsets.
    private func newest(
        of sink: SinkName, in partition: Int32, from offset: Int64 = 0, _ consumer: KafkaConsumer
    ) throws(KafkaError) -> [(Progress, Int64)] {
        var found: [(Progress, Int64)] = []
        try consumer.read(
            topic: settings.progressTopic, partition: partition, from: offset,
            patience: Self.patience
        ) { [journal = settings.journal] record in
            guard record.key == Array(sink.text.utf8),
                let progress = record.value.flatMap({ ProgressRecord.decode($0) }),
                progress.journal == journal
            else { return }
            found.append((progress, record.offset))
            if found.count > 2 { found.removeFirst() }
        }
        return found
    }

    /// Adds the newest committed records of partitions.
    private func see(
        _ topic: String, _ partitions: [Int32], _ consumer: KafkaConsumer,
        _ seen: inout Set<TornTransaction.Seen>
    ) throws(KafkaError) {
        let marks = try consumer.watermarks(
            topic: topic, partitions: partitions, timeout: Self.patience)
        for (partition, marks) in marks {
            var records: [TornTransaction.Seen] = []
            try consumer.read(
                topic: topic, partition: partition, from: max(marks.low, marks.high - Self.tail),
                patience: Self.patience
            ) { record in
                records.append(
                    TornTransaction.Seen(
                        topic: topic, key: record.key ?? [], value: record.value))
            }
            seen.formUnion(records)
        }
    }

    /// Takes back what the progress topic says of sinks, so that a restart, too, publishes again.
    func takeBack(
        _ before: [SinkName: Progress], _ producer: KafkaProducer
    ) throws(PublishFailure) {
        guard !before.isEmpty else { return }
        var records = KafkaRun()
        do throws(KafkaError) {
            try producer.begin()
            for (sink, progress) in before {
                try records.put(
                    progress: progress, of: sink.text, topic: settings.progressTopic, producer)
            }
            try resume { (slice) throws(KafkaError) in try producer.commit(timeout: slice) }
        } catch {
            throw PublishFailure(
                .reopen, error, doing: "taking back what was not committed whole", settings)
        }
        records.collect(from: producer)
    }
}
