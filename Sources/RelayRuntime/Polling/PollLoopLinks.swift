internal import ConnectionEvents
internal import RelayCore

// Accounts with open attempts to link are walked often: fast at first, then slower.

extension PollLoop {
    /// Whether attempts of the account are waited for.
    func isWatched(_ account: AccountID) -> Bool {
        !paces.isEmpty && paces[account] != nil
    }

    /// Attempts were opened: their accounts are walked now, and then often.
    ///
    /// A round of `--once` walks every account once all the same.
    func watch(_ watches: [LinkWatch], now: Instant) {
        let wall = clock.wall
        paces = paces.filter { !$0.value.isOver(now: now) }
        for watch in watches {
            guard let slot = slots[watch.account], accounts[slot]?.isRemoving == false else {
                continue
            }
            paces[watch.account, default: WatchPace(now: now)].opened(
                watch.number, lifetime: watch.expiresAt.since(wall), now: now)
            // Asking for the link has taken a request of the account's.
            schedule.noteRequest(slot, now: now)
            if once == nil, accounts[slot]?.isPaused == false {
                schedule.hasten(slot, afresh: false, now: now)
            }
        }
    }

    /// Attempts ended, by a walk or by the command that no longer waits.
    func endWatches(_ numbers: [Int64], open: Set<Int64>, slot: Int) {
        guard !paces.isEmpty, let account = accounts[slot]?.id, paces[account] != nil else {
            return
        }
        for number in numbers { paces[account]?.ended(number) }
        paces[account]?.found(open)
        if paces[account]?.open.isEmpty == true { paces[account] = nil }
    }

    /// A walk of the account has ended: the next one comes as its attempts want it.
    func keepPace(_ slot: Int, now: Instant) {
        guard !paces.isEmpty, let account = accounts[slot], var pace = paces[account.id] else {
            return
        }
        guard !pace.isOver(now: now), !account.isRemoving else {
            paces[account.id] = nil
            return
        }
        let interval = pace.interval(
            rules: settings.schedule, crowd: paces.count, now: now)
        paces[account.id] = pace
        schedule.bringForward(slot, to: now + interval)
    }
}
