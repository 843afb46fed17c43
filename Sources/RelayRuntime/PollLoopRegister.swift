internal import ConnectionEvents
internal import Hashing
internal import RelayCore

// The accounts of the poll loop: admitted, changed, removed.

extension PollLoop {
    /// Takes an account in at the start, with what the journal remembers of it.
    func recall(
        _ account: RegisteredAccount, head: BeliefHead?, mark: SealMark?, now: Instant
    ) {
        guard !account.isRemoving else {
            remove(account, slot: place(account))
            return
        }
        let slot = place(account)
        accounts[slot]?.recall(head: head, mark: mark)
        let phase = Double(StableHash.of(account.id.text) >> 11) * 0x1p-53
        if accounts[slot]?.isBlind == true { figures.blind += 1 }
        if let since = accounts[slot]?.refusalSince {
            answers.note(slot, refused: true, at: since)
        } else if let sealed = accounts[slot]?.lastSealed {
            answers.note(slot, refused: false, at: sealed.start)
        }
        admit(slot, phase: head == nil || once != nil ? nil : phase, now: now)
        if let head, head.credentialTag != account.credentialTag {
            changeCredential(slot, to: account, now: now)
        }
    }

    /// An account was added, changed or removed in the register.
    func register(_ change: RegisteredAccount, now: Instant) {
        guard let slot = slots[change.id], let account = accounts[slot] else {
            guard !change.isRemoving else {
                remove(change, slot: place(change))
                return
            }
            admit(place(change), phase: nil, now: now)
            log.note(.info, "register", "account added", ["account": change.id.text])
            return
        }
        if account.isJudging || account.isRemoving {
            deferred[slot] = change
            return
        }
        if change.isRemoving || change.incarnation != account.incarnation {
            drop(slot, now: now)
            if !account.isPaused { schedule.retire(slot) } else { figures.paused -= 1 }
            if change.isRemoving {
                remove(change, slot: slot)
            } else {
                // Removed and added again before the relay looked: a new account under an old id.
                reset(slot)
                accounts[slot] = PolledAccount(change)
                admit(slot, phase: nil, now: now)
            }
            return
        }
        adjust(slot, to: change, now: now)
    }

    private func adjust(_ slot: Int, to change: RegisteredAccount, now: Instant) {
        guard let account = accounts[slot] else { return }
        if change.credentialTag != account.credentialTag {
            drop(slot, now: now)
            changeCredential(slot, to: change, now: now)
        }
        if change.interval != account.interval {
            accounts[slot]?.interval = change.interval
            if !account.isPaused { schedule.setInterval(slot, change.interval, now: now) }
        }
        guard change.isPaused != account.isPaused else { return }
        drop(slot, now: now)
        if change.isPaused {
            schedule.retire(slot)
            answers.forget(slot)
            accounts[slot]?.isPaused = true
            leaveFirstRound(slot)
            figures.paused += 1
            log.note(.info, "register", "account paused", ["account": account.id.text])
        } else {
            accounts[slot]?.isPaused = false
            figures.paused -= 1
            schedule.admit(slot, phase: nil, interval: accounts[slot]?.interval, now: now)
            log.note(.info, "register", "account resumed", ["account": account.id.text])
        }
    }

    /// Gives an account a slot.
    private func place(_ account: RegisteredAccount) -> Int {
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
        } else {
            slot = accounts.count
            accounts.append(nil)
        }
        accounts[slot] = PolledAccount(account)
        slots[account.id] = slot
        return slot
    }

    private func admit(_ slot: Int, phase: Double?, now: Instant) {
        guard let account = accounts[slot] else { return }
        guard !account.isPaused else {
            figures.paused += 1
            accounts[slot]?.hasEnded = true
            return
        }
        figures.firstRoundLeft += 1
        figures.isFirstRoundOver = false
        schedule.admit(slot, phase: phase, interval: account.interval, now: now)
    }

    /// A new credential walks at once, and resets the count of refusals.
    private func changeCredential(_ slot: Int, to change: RegisteredAccount, now: Instant) {
        guard let account = accounts[slot] else { return }
        accounts[slot]?.credential = change.credential
        accounts[slot]?.credentialTag = change.credentialTag
        if !account.isBlind {
            accounts[slot]?.refusalSince = nil
            if account.isFleetRefused { figures.fleetRefused -= 1 }
            accounts[slot]?.isFleetRefused = false
        }
        answers.forget(slot)
        judge.add(
            JudgeJob(
                slot: nil, account: account.id, incarnation: account.incarnation,
                credentialTag: change.credentialTag, matter: .credential))
        if !account.isPaused { schedule.hasten(slot, afresh: true, now: now) }
        log.note(.info, "register", "account has a new credential", ["account": account.id.text])
    }

    /// Drops a walk under way: its result would be of the past.
    private func drop(_ slot: Int, now: Instant) {
        guard let active = walks.removeValue(forKey: slot) else { return }
        if active.isAsking { transport.cancel(WalkToken(slot)) }
        schedule.ended(slot, .dropped, now: now)
        figures.walks["dropped", default: 0] += 1
    }

    private func remove(_ change: RegisteredAccount, slot: Int) {
        accounts[slot]?.isRemoving = true
        reset(slot)
        judge.add(
            JudgeJob(
                slot: slot, account: change.id, incarnation: change.incarnation,
                credentialTag: change.credentialTag, matter: .removal))
        log.note(.info, "register", "account removed", ["account": change.id.text])
    }

    /// Takes an account out of the figures.
    private func reset(_ slot: Int) {
        guard let account = accounts[slot] else { return }
        answers.forget(slot)
        if account.isBlind { figures.blind -= 1 }
        if account.isFailing { figures.failing -= 1 }
        if account.isFleetRefused { figures.fleetRefused -= 1 }
        accounts[slot]?.isBlind = false
        accounts[slot]?.isFailing = false
        accounts[slot]?.isFleetRefused = false
        if !account.isPaused { leaveFirstRound(slot) }
    }

    private func leaveFirstRound(_ slot: Int) {
        guard accounts[slot]?.hasEnded == false else { return }
        accounts[slot]?.hasEnded = true
        figures.firstRoundLeft -= 1
        figures.isFirstRoundOver = figures.firstRoundLeft <= 0
    }

    /// The journal has forgotten the account; its slot is free, unless it was added again meanwhile.
    func forget(_ slot: Int) {
        guard let account = accounts[slot] else { return }
        slots[account.id] = nil
        accounts[slot] = nil
        freeSlots.append(slot)
        if let change = deferred.removeValue(forKey: slot), !change.isRemoving {
            register(change, now: clock.now)
        }
    }

    /// The marks that are not yet saved, for the journal.
    func takeMarks() -> [AccountID: SealMark] {
        var marks: [AccountID: SealMark] = [:]
        for slot in accounts.indices {
            guard let account = accounts[slot], !account.isMarked, let walk = account.lastSealed,
                let fingerprint = account.fingerprint
            else { continue }
            marks[account.id] = SealMark(walk: walk, fingerprint: fingerprint)
            accounts[slot]?.isMarked = true
        }
        return marks
    }
}
