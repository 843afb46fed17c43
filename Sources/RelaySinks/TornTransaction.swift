internal import Kafka
internal import RelayCore

/// Transactions of ours that the broker ended in some partitions and forgot in others, where they
/// were then aborted.
///
/// What was committed of them must not be published again, and what was aborted must be. More than
/// one may have been torn, each elsewhere: only a record itself says that it is committed.
struct TornTransaction: Sendable {
    /// A record that is committed in a topic.
    struct Seen: Hashable, Sendable {
        let topic: String
        let key: [UInt8]
        let value: [UInt8]?
    }

    /// The journal's positions up to which they carried the sinks that took part.
    var places: [SinkName: JournalPosition]
    /// The newest committed records of those sinks' topics.
    var seen: Set<Seen> = []

    /// Whether everything that it carried has been published.
    var isOver: Bool { places.isEmpty }

    /// Leaves out of a run what is in the topics already.
    ///
    /// A tombstone is like any other one of its key, shows nothing, and is sent again.
    func leaveOut(of run: inout Run) {
        for index in run.parts.indices {
            let part = run.parts[index]
            guard let place = places[part.sink] else { continue }
            run.parts[index].messages.removeAll { message in
                guard message.position <= place, let value = message.value else {
                    return false
                }
                return seen.contains(
                    Seen(topic: part.sink.text, key: Array(message.key.utf8), value: value))
            }
        }
    }

    /// A run is published: nothing of it comes again.
    mutating func published(_ run: Run) {
        for part in run.parts where !part.isFilling {
            guard let place = places[part.sink], part.place >= place else { continue }
            places[part.sink] = nil
        }
    }
}
