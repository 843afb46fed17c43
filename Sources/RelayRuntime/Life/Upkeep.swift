internal import ConnectionEvents
internal import RelayCore
internal import Threading

// Keeping the journal within its bounds: what is old and delivered goes, in steps so small that no
// commit waits for long, and what is full is said before anything is to be written.

extension Relay {
    /// How often the journal is measured.
    static let boundsAge: Duration = .seconds(1)
    /// A step of pruning is followed by a pause of so many times its length.
    static let pruningPause = 4

    /// Measures and prunes until the relay stops; the calling thread blocks.
    func keepBounds() {
        guard let upkeep = parts.upkeep else { return }
        while true {
            noteRoom(upkeep)
            if endsForGood() { return }
            prune(upkeep)
            measure(upkeep)
            let stops = state.wait(timeout: Self.boundsAge) { $0.isStopping ? true : nil }
            if stops == true { return }
        }
    }

    /// What is done once a second, without its pauses: room, one step of pruning, sizes.
    func stepBounds() {
        guard let upkeep = parts.upkeep else { return }
        noteRoom(upkeep)
        guard !endsForGood() else { return }
        do throws(JournalFailure) {
            _ = try pruneOnce(upkeep)
        } catch {
            note(error, doing: "pruned")
        }
        measure(upkeep)
    }

    /// What may go now: no sink that delivers is behind it, whatever the journal says of its place.
    ///
    /// A state sink that is being filled has no place in the journal yet, and must have what is
    /// written meanwhile.
    private var pruningRule: PruningRule {
        let places = couriers.flatMap { $0.published.withLock { $0.map(\.place) } }
        return PruningRule(
            decidedBefore: clock.wall.adding(.zero - parts.settings.retention),
            through: places.min() ?? head.withLock { $0 })
    }

    private func noteRoom(_ upkeep: any JournalUpkeep) {
        do throws(JournalFailure) {
            try upkeep.proveRoom()
            judge.noteRoom(nil)
        } catch {
            judge.noteRoom(error)
        }
    }

    /// A file that is damaged where it is written, or is another one now, is written no more.
    private func endsForGood() -> Bool {
        guard let fatal = judge.published.withLock({ $0.fatal }) else { return false }
        parts.log.note(
            .error, "journal.fatal", "the relay ends: \(fatal.reason)", ["code": fatal.code])
        state.signal { state in
            state.failure =
                state.failure
                ?? PublishFailure(kind: .misconfigured, code: fatal.code, reason: fatal.reason)
        }
        return true
    }

    /// Prunes for about as long as measurements may age.
    private func prune(_ upkeep: any JournalUpkeep) {
        let end = clock.now + Self.boundsAge
        do throws(JournalFailure) {
            while clock.now < end {
                guard let took = try pruneOnce(upkeep) else { return }
                let pause = max(.milliseconds(1), took * Self.pruningPause)
                let stops = state.wait(timeout: pause) { $0.isStopping ? true : nil }
                if stops == true { return }
            }
        } catch {
            note(error, doing: "pruned")
        }
    }

    /// One step of pruning, and how long it took; nil when nothing could go.
    private func pruneOnce(_ upkeep: any JournalUpkeep) throws(JournalFailure) -> Duration? {
        let began = clock.now
        let count = try upkeep.prune(pruningRule)
        guard count > 0 else { return nil }
        let took = clock.now - began
        bounds.withLock { bounds in
            bounds.pruned += count
            bounds.pruneDuration.add(took)
        }
        return took
    }

    private func measure(_ upkeep: any JournalUpkeep) {
        do throws(JournalFailure) {
            let size = try upkeep.size(pruningRule)
            bounds.withLock { bounds in
                bounds.size = size
                bounds.measuredAt = clock.wall
            }
        } catch {
            note(error, doing: "measured")
        }
    }

    private func note(_ failure: JournalFailure, doing: String) {
        parts.log.note(
            .warning, "upkeep", "the journal could not be \(doing): \(failure.reason)",
            ["code": failure.code])
    }
}
