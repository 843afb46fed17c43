internal import RelayCore

// A sink whose place lies before the oldest entry: what it lacks was pruned.

extension Courier {
    /// Says which sinks lack what was pruned: event sinks go on at the oldest entry, state sinks
    /// are filled.
    ///
    /// Pruning waits for every sink, so only a place that came from elsewhere can lie there.
    func notePruned(_ lanes: [Delivery.Lane], tail: JournalPosition) {
        for lane in lanes where lane.place.number + 1 < tail.number {
            let lost = tail.number - lane.place.number - 1
            switch lane.plan.role {
            case .state:
                log.note(
                    .warning, "sink.pruned",
                    "the sink lacks entries that were pruned: it is filled from beliefs",
                    ["sink": lane.plan.name.text, "entries": "\(lost)"])
            case .events:
                log.note(
                    .error, "sink.pruned",
                    "EVENTS LOST for this sink: it lacks entries that were pruned, and goes on"
                        + " after them. Its consumers see a gap in the sequence",
                    [
                        "sink": lane.plan.name.text, "entries": "\(lost)",
                        "from": "\(lane.place.number + 1)", "to": "\(tail.number - 1)",
                    ])
            }
        }
    }
}
