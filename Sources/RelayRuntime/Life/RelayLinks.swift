internal import RelayCore
internal import Threading

// Watches of attempts to link, which other processes open beside the relay.

extension Relay {
    /// Has watches looked for now, instead of within a second.
    public func readWatches() {
        state.signal { $0.wantsRegister = true }
    }

    /// One thread alone does this, as with the register.
    func lookAtWatches() {
        do throws(JournalFailure) {
            let watches = try takeWatches()
            if !watches.isEmpty { loop.post(.watches(watches)) }
        } catch {
            parts.log.note(
                .warning, "links", "watches of links could not be read: \(error.reason)",
                ["code": error.code])
        }
    }

    /// Open watches that nobody has taken yet; each is taken once.
    func takeWatches() throws(JournalFailure) -> [LinkWatch] {
        guard let links = parts.links else { return [] }
        let found = try links.openWatches(after: state.withLock { $0.lastWatch })
        return state.withLock { state in
            let fresh = found.filter { $0.number > state.lastWatch }
            state.lastWatch = fresh.last?.number ?? state.lastWatch
            return fresh
        }
    }
}
