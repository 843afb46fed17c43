internal import ConnectionEvents
internal import RelayCore

// Records that a sink does not take: the one hole in its numbers until they are sent again; and
// entries that are pruned, which no sink may lack.

/// A record that a sink lacks.
struct Hole: Hashable, CustomStringConvertible {
    var sink: SinkName
    var key: String
    var position: JournalPosition

    var description: String { "position \(position) of \(sink)" }
}

extension SinkChecks {
    /// A record is parked, and its sink's place moves past it.
    ///
    /// - Parameter place: nil for a record of a filling, whose place is the filling's matter.
    func parked(_ record: ParkedRecord, place: JournalPosition?) {
        let (sink, message) = (record.sink, record.message)
        if record.event == nil {
            holes = holes.filter { $0.key.sink != sink || $0.key.key != message.key }
        }
        holes[Hole(sink: sink, key: message.key, position: message.position)] = record
        guard let place else { return }
        guard let entry = disk.entry(at: place.number), Self.takes(sink, entry),
            message.position == place,
            message.value == (sink == World.state ? entry.state?.value : entry.body)
        else { return checks.fail(.delivery, "\(sink) parks at \(place) what is not there") }
        var known = taken[sink] ?? Taken()
        if place.number <= known.position {
            checks.fail(.delivery, "\(sink) parks position \(place), which it has taken")
        }
        let skipped = disk.entries(after: known.reached.number).first {
            $0.position < place && $0.position.number > known.position && Self.takes(sink, $0)
        }
        if let skipped {
            checks.fail(.place, "\(sink) parks \(place) and has not taken \(skipped.position)")
        }
        if sink != World.state { number(message, entry, of: sink, &known) }
        known.position = place.number
        known.reached = max(known.reached, place)
        taken[sink] = known
    }

    /// A sink has taken a record that was parked: one that was ordered, as it was.
    func sentAgain(_ message: OutboundMessage, of sink: SinkName) {
        let record = disk.parked.first {
            $0.sink == sink && $0.message.key == message.key
                && $0.message.position == message.position && $0.orderedAt != nil
        }
        guard let record else {
            return checks.fail(.delivery, "\(sink) took again what nobody ordered")
        }
        holes[Hole(sink: sink, key: message.key, position: message.position)] = nil
        resent.insert(record.number)
        if sink == World.state { return fill(message) }
        if message.value != record.message.value
            || Array(message.headers.dropLast()) != record.message.headers
        {
            checks.fail(.delivery, "\(sink) took record \(record.number) again as another one")
        }
    }

    /// A record is parked no longer.
    func unparked(_ number: Int64) {
        if !resent.contains(number) {
            checks.fail(.delivery, "record \(number) is parked no longer, and was not sent again")
        }
    }

    /// The oldest entries are about to go: sinks of events had them all.
    func pruning(_ count: Int) {
        for (sink, known) in taken where sink != World.state && !known.isForked {
            let lacking = disk.entries.prefix(count).first {
                $0.position.number > max(known.position, known.copied) && Self.takes(sink, $0)
            }
            if let lacking {
                checks.fail(
                    .delivery, "position \(lacking.position) is pruned, and \(sink) lacks it")
            }
        }
    }
}

extension OutboundMessage {
    /// Whether it is marked as one that was sent before.
    var isSentAgain: Bool { headers.last?.name == "trax-replay" }
}
