internal import ConnectionEvents
internal import JSON
internal import RelayCore

/// Holds what the sinks have taken against the journal.
final class SinkChecks {
    struct Taken {
        /// The newest position of a record.
        var position: Int64 = 0
        /// How far the sink's place may be: with its last acknowledged run.
        var reached = JournalPosition.start
        /// The newest event of each account.
        var numbers: [AccountID: (epoch: Int64, number: Int64)] = [:]
        /// How far it had taken the history that an older copy holds, if that is another by now.
        var copied: Int64 = 0
        /// Whether a restored journal may have told it another history: it remembers no place.
        var isForked = false
    }

    unowned let checks: Checks
    var taken: [SinkName: Taken] = [:]
    /// Those that were read, with the bytes that they were read from.
    private var records: [String: (bytes: [UInt8], record: StateRecord)] = [:]
    /// Records that were parked and not sent again since.
    var holes: [Hole: ParkedRecord] = [:]
    /// Parked records that were sent again and may go.
    var resent: Set<Int64> = []
    /// The newest record of each key of the state topic.
    private(set) var states: [String: [UInt8]] = [:]

    init(_ checks: Checks) { self.checks = checks }

    var disk: Disk { checks.world.disk }

    /// What the state topic holds of a key; nil where that is nothing, or does not read.
    func record(_ key: String) -> StateRecord? {
        guard let bytes = states[key] else { return nil }
        if let known = records[key], known.bytes == bytes { return known.record }
        guard let record = StateRecord(parsing: bytes) else { return nil }
        records[key] = (bytes, record)
        return record
    }

    /// A run is handed to a publisher.
    func offered(_ run: Run, isOpen: Bool) {
        if !isOpen { checks.fail(.place, "a run was published without opening anew") }
        for part in run.parts where part.messages.count > Delivery.runLimit {
            checks.fail(.bounded, "a run of \(part.messages.count) records")
        }
    }

    /// A sink has taken a part, whether anybody hears of it or not.
    func took(_ part: Run.Part, transaction: Bool) {
        var known = taken[part.sink] ?? Taken()
        defer { taken[part.sink] = known }
        for message in part.messages {
            let position = message.position.number
            if part.isFilling {
                checks.leaves(message.value ?? [], "a record of \(part.sink)")
                if message.isSentAgain {
                    sentAgain(message, of: part.sink)
                } else {
                    fill(message)
                }
                known.position = max(known.position, position)
                continue
            }
            let isRepeat = position <= known.position
            if isRepeat, transaction {
                checks.fail(.delivery, "\(part.sink) took position \(position) twice")
            }
            guard let entry = disk.entry(at: position) else {
                checks.fail(.delivery, "\(part.sink) took position \(position), which is nowhere")
                return
            }
            let isState = part.sink == World.state
            if message.value != (isState ? entry.state?.value : entry.body) {
                // The journal's own were looked through when they were written.
                checks.fail(.delivery, "\(part.sink) took other bytes than the journal's")
            }
            if known.isForked {
                known.position = max(known.position, position)
                continue
            }
            if isState {
                states[message.key] = message.value
            } else if !isRepeat {
                number(message, entry, of: part.sink, &known)
            }
            known.position = max(known.position, position)
        }
        if !part.isFilling { known.reached = max(known.reached, part.place) }
    }

    /// A record of a filling says what is believed now.
    func fill(_ message: OutboundMessage) {
        var believed: [UInt8]?
        if let (account, id) = StateRecord.split(key: message.key),
            let belief = checks.world.disk.beliefs[account], let row = belief.rows[id]
        {
            believed = row.stateRecord(of: account, epoch: belief.head.epoch).json.serialized()
        }
        if message.value != believed {
            checks.fail(.delivery, "\(message.key) was filled with what is not believed")
        }
        states[message.key] = message.value
    }

    func number(
        _ message: OutboundMessage, _ entry: JournalEntry, of sink: SinkName,
        _ known: inout Taken
    ) {
        guard let event = entry.event, message.key == entry.account.text else {
            return checks.fail(.delivery, "\(sink) took a record that is no event of its key")
        }
        let last = known.numbers[entry.account]
        let before = last?.epoch == event.epoch ? last?.number ?? 0 : 0
        known.numbers[entry.account] = (event.epoch, event.sequence)
        if let last, event.epoch < last.epoch {
            return checks.fail(.delivery, "\(sink) took an older epoch of \(entry.account)")
        }
        if sink == World.alerts {
            let header = message.headers.first { $0.name == "trax-previous" }?.value
            if event.sequence <= before || header != String(before) {
                checks.fail(
                    .delivery,
                    "\(sink) took number \(event.sequence) of \(entry.account) after \(before),"
                        + " and trax-previous says \(header ?? "nothing")")
            }
        } else if event.sequence != before + 1 {
            checks.fail(
                .delivery,
                "\(sink) took number \(event.sequence) of \(entry.account) after \(before)")
        }
    }

    /// A sink's place is written to the journal.
    func placed(_ sink: SinkName, _ place: JournalPosition?, head: JournalPosition) {
        guard let place else { return }
        let reached = (taken[sink] ?? Taken()).reached
        guard place > reached else { return }
        if place > head { return checks.fail(.place, "\(sink) is placed beyond the head") }
        let between = disk.entries(after: reached.number).prefix { $0.position <= place }
        if !(taken[sink]?.isForked ?? false),
            let entry = between.first(where: { Self.takes(sink, $0) })
        {
            checks.fail(
                .place, "\(sink) is placed at \(place) and has not taken \(entry.position)")
        }
    }

    /// Which entries a sink of the simulated pipeline takes.
    static func takes(_ sink: SinkName, _ entry: JournalEntry) -> Bool {
        if sink == World.state { return entry.state != nil }
        guard let event = entry.event else { return false }
        return sink != World.alerts || World.alertTypes.contains(event.type)
    }

    /// The journal is another; a sink that remembers nothing may be told another history.
    func lost(positions: [SinkName: Int64]) {
        (holes, resent) = ([:], [])
        for sink in taken.keys { taken[sink]?.copied = positions[sink] ?? 0 }
        let place = disk.places[World.output] ?? .start
        taken[World.output]?.isForked = true
        taken[World.output]?.reached = place
        taken[World.output]?.position = place.number
        // Nobody remembers what was printed: a clock that steps back may give its epochs again.
        taken[World.output]?.numbers = [:]
    }

    /// The journal has begun anew: what is published from here on is news to every sink.
    func renewed(head: JournalPosition) {
        (holes, resent) = ([:], [])
        for sink in taken.keys {
            taken[sink]?.position = head.number
            taken[sink]?.reached = head
            taken[sink]?.isForked = false
            taken[sink]?.copied = 0
        }
    }

    /// Says what a sink has not taken; nil: it has everything.
    func missing(_ sinks: [SinkName]) -> String? {
        if let hole = holes.keys.first { return "\(hole) is parked and was never sent again" }
        if let record = disk.parked.first { return "record \(record.number) is still parked" }
        for sink in sinks {
            let last = disk.entries.last { Self.takes(sink, $0) }?.position.number ?? 0
            let have = taken[sink]?.position ?? 0
            if have < last { return "\(sink) has taken position \(have), not \(last)" }
        }
        return nil
    }
}
