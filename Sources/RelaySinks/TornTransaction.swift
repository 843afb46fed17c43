internal import Kafka
internal import RelayCore

/// A transaction of ours that the broker ended in some partitions and forgot in others, where it
/// was then aborted.
///
/// What was committed of it must not be published again, and what was aborted must be. Its end is
/// one for all of its partitions, so one record of it that is committed says that all are which
/// were not aborted here.
struct TornTransaction: Sendable {
    /// A record that is committed in a topic.
    struct Seen: Hashable, Sendable {
        let topic: String
        let key: [UInt8]
        let value: [UInt8]?
    }

    /// A topic of a sink that took part.
    struct Share: Sendable {
        /// The journal's position up to which the transaction carried this sink.
        var place: JournalPosition
        /// How many partitions the topic has.
        var partitions: Int
        /// Those of them where the transaction was aborted.
        var aborted: Set<Int32>
    }

    /// The shares of the sinks whose entries are published again.
    var shares: [SinkName: Share]
    /// The newest committed records of the other partitions.
    var seen: Set<Seen> = []
    /// Whether it is committed where it is not aborted; nil: what is published again will show it.
    var isCommitted: Bool?

    /// Whether everything that it carried has been published.
    var isOver: Bool { shares.isEmpty }

    /// Leaves out of a run what is in the topics already.
    mutating func leaveOut(of run: inout Run) {
        if isCommitted == nil { decide(run) }
        guard isCommitted == true else { return }
        for index in run.parts.indices {
            let sink = run.parts[index].sink
            guard let share = shares[sink] else { continue }
            run.parts[index].messages.removeAll { Self.isElsewhere($0, share) }
        }
    }

    /// A run is published: nothing of it comes again.
    mutating func published(_ run: Run) {
        for part in run.parts where !part.isFilling {
            guard let share = shares[part.sink], part.place >= share.place else { continue }
            shares[part.sink] = nil
        }
    }

    /// Looks whether records of the transaction are committed.
    ///
    /// A tombstone is like any other one of its key, and shows nothing. Where a run shows nothing,
    /// it counts as aborted: what comes twice does less harm than what never comes.
    private mutating func decide(_ run: Run) {
        for part in run.parts {
            guard let share = shares[part.sink] else { continue }
            for message in part.messages where Self.isElsewhere(message, share) {
                let record = Seen(
                    topic: part.sink.text, key: Array(message.key.utf8), value: message.value)
                let isSeen = message.value != nil && seen.contains(record)
                isCommitted = (isCommitted ?? false) || isSeen
            }
        }
        if isCommitted != nil { seen = [] }
    }

    /// Whether a message was of the transaction, in a partition where that was not aborted.
    private static func isElsewhere(_ message: OutboundMessage, _ share: Share) -> Bool {
        let partition = KafkaPartition.of(key: Array(message.key.utf8), count: share.partitions)
        return message.position <= share.place && !share.aborted.contains(partition)
    }
}
