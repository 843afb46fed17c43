internal import ConnectionEvents
internal import RelayCore

/// What a filling has said already of entries that are still to come.
///
/// Beliefs are read one by one while the judge goes on writing, so some are newer than the place at
/// which the filling began. Their older entries are left out, or keys would go back for a while.
/// Memory: the accounts that changed meanwhile. A process that dies before it has caught up knows
/// nothing of it: then keys do go back, and the last word is still the newest.
struct FilledAlready {
    /// How far an account's belief had come when it was sent.
    struct Reached {
        var epoch: Int64
        var sequence: Int64
    }

    private(set) var accounts: [AccountID: Reached] = [:]
    /// The journal's head when the last belief was read.
    var until = JournalPosition.start

    /// Takes note of a belief that was sent.
    ///
    /// One that began a new epoch meanwhile is left alone: tombstones of the old one are to come.
    mutating func note(_ head: BeliefHead, of account: AccountID, before: BeliefHead) {
        guard head.epoch == before.epoch, head.sequence != before.sequence else { return }
        accounts[account] = Reached(epoch: head.epoch, sequence: head.sequence)
    }

    /// Whether an entry's state record is no newer than what was sent of its account.
    func has(_ entry: JournalEntry) -> Bool {
        guard let reached = accounts[entry.account], let state = entry.state else { return false }
        if let event = entry.event {
            return event.epoch == reached.epoch && event.sequence <= reached.sequence
        }
        // Changed rules write records that take no number: one of the same number may be newer.
        guard let record = state.value.flatMap({ StateRecord(parsing: $0) }) else { return false }
        return record.epoch == reached.epoch && record.sequence < reached.sequence
    }
}

extension Filling {
    /// Leaves out of a run what its state sinks were told when they were filled.
    mutating func leaveOut(of run: inout Run, _ entries: [JournalEntry]) {
        for index in run.parts.indices {
            let sink = run.parts[index].sink
            guard let known = already[sink] else { continue }
            let old = Set(entries.lazy.filter(known.has).map(\.position))
            run.parts[index].messages.removeAll { old.contains($0.position) }
            if let last = entries.last, last.position >= known.until { already[sink] = nil }
        }
    }
}
