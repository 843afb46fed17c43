internal import ConnectionEvents
internal import Hashing
internal import RelayCore

// The accounts of the poll loop: admitted, changed, removed.

extension PollLoop {
    /// Takes the accounts in at the start, with what the journal remembers of them.
    func recall(
        _ registered: [RegisteredAccount], heads: [AccountID: BeliefHead],
        marks: [AccountID: SealMark], now: Instant
    ) {
        schedule = Schedule(
            rules: settings.schedule, seed: random(), now: now,
            expecting: registered.count { !$0.isPaused && !$0.isRemoving })
        var changed: [(slot: Int, account: RegisteredAccount)] = []
        for account in registered {
            let slot = place(account)
            guard !account.isRemoving else {
                remove(account, slot: slot)
                continue
            }
            // A belief of an earlier registration of the id is over; the judge says so.
            let head = heads[account.id].flatMap {
                $0.incarnation == account.incarnation ? $0 : nil
            }
            if let head {
                accounts[slot]?.recall(head: head, mark: marks[account.id])
                if head.credentialTag != account.credentialTag { changed.append((slot, account)) }
            }
            let phase = Double(StableHash.of(account.id.text) >> 11) * 0x1p-53
            admit(slot, phase: head == nil || once != nil ? nil : phase, now: now)
        }
        recallAnswers()
        for (slot, account) in changed { changeCredential(slot, to: account, now: now) }
        publishFigures(now: now)
    }

    /// Notes what is remembered of the accounts' last answers, in the order in which they came.
    ///
    /// Without it a refusal that was counted before a restart would have nobody to ask.
    private func recallAnswers() {
        let known = accounts.indices.compactMap { slot -> (Int, Bool, Timestamp)? in
            guard let account = accounts[slot], !account.isRemoving, !account.isPaused else {
                return nil
            }
            if let since = account.refusalSince { return (slot, true, since) }
            return account.lastSealed.map { (slot, false, $0.start) }
        }
        for (slot, isRefused, time) in known.sorted(by: { $0.2 < $1.2 }) {
            answers.note(slot, refused: isRefused, at: time)
        }
    }

    /// An account was added, changed or removed in the register.
    func register(_ change: RegisteredAccount, now: Instant) {
        // A round has the accounts that were there when it began, as they were then.
        guard once == nil else { return }
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
            let isSame = !change.isRemoving && change.credentialTag == account.credentialTag
            leave(slot, keepsPace: isSame, now: now)
            if account.isPaused { figures.paused -= 1 }
            if change.isRemoving {
                remove(change, slot: slot)
            } else {
                readd(change, slot: slot, now: now)
            }
            return
        }
        adjust(slot, to: change, now: now)
    }

    private func adjust(_ slot: Int, to change: RegisteredAccount, now: Instant) {
        guard let account = accounts[slot] else { return }
        accounts[slot]?.version = change.version
        if change.credentialTag != account.credentialTag {
            drop(slot, now: now)
            changeCredential(slot, to: change, now: now)
        } else if account.isPerson {
            adjustPerson(slot, to: change, now: now)
        }
        if change.interval != account.interval {
            accounts[slot]?.interval = change.interval
            if !account.isPaused { schedule.setInterval(slot, change.interval, now: now) }
        }
        guard change.isPaused != account.isPaused else { return }
        if change.isPaused {
            leave(slot, keepsPace: true, now: now)
            accounts[slot]?.isPaused = true
            figures.paused += 1
            log.note(.info, "register", "account paused", ["account": account.id.text])
        } else {
            accounts[slot]?.isPaused = false
            figures.paused -= 1
            if account.isBlind { figures.blind += 1 }
            admitToFleet(slot)
            schedule.admit(slot, phase: nil, interval: accounts[slot]?.interval, now: now)
            if accounts[slot]?.isRenewed == true { schedule.hasten(slot, afresh: true, now: now) }
            accounts[slot]?.isRenewed = false
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
        people[slot] = account.person.map { PolledPerson($0) }
        slots[account.id] = slot
        return slot
    }

    private func admit(_ slot: Int, phase: Double?, now: Instant) {
        guard let account = accounts[slot] else { return }
        guard !account.isPaused else {
            figures.paused += 1
            return
        }
        accounts[slot]?.isInFirstRound = true
        figures.firstRoundLeft += 1
        if account.isBlind { figures.blind += 1 }
        admitToFleet(slot)
        schedule.admit(slot, phase: phase, interval: account.interval, now: now)
    }

    /// A new credential walks at once, and resets the count of refusals.
    private func changeCredential(_ slot: Int, to change: RegisteredAccount, now: Instant) {
        guard let account = accounts[slot] else { return }
        accounts[slot]?.credential = change.credential
        accounts[slot]?.credentialTag = change.credentialTag
        replacePerson(slot, by: change)
        // The first list that is read with it is compared, even if it is the last one's bytes.
        accounts[slot]?.isOpen = true
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
        if account.isPaused {
            accounts[slot]?.isRenewed = true
        } else {
            schedule.hasten(slot, afresh: true, now: now)
        }
        log.note(.info, "register", "account has a new credential", ["account": account.id.text])
    }

    /// Drops a walk under way: its result would be of the past.
    func drop(_ slot: Int, now: Instant) {
        guard let active = walks.removeValue(forKey: slot) else { return }
        heldBytes -= active.walk.bytes
        if active.isAsking { transport.cancel(WalkToken(slot)) }
        schedule.ended(slot, .dropped, now: now)
        figures.walks["dropped", default: 0] += 1
    }

    private func remove(_ change: RegisteredAccount, slot: Int) {
        setHold(slot, nil)
        accounts[slot]?.isRemoving = true
        paces[change.id] = nil
        accounts[slot]?.incarnation = change.incarnation
        judge.add(
            JudgeJob(
                slot: slot, account: change.id, incarnation: change.incarnation,
                credentialTag: change.credentialTag, matter: .removal))
        log.note(.info, "register", "account removed", ["account": change.id.text])
    }

    /// Removed and added again before the relay looked: a new account under an old id.
    private func readd(_ change: RegisteredAccount, slot: Int, now: Instant) {
        if let old = accounts[slot] {
            judge.add(
                JudgeJob(
                    slot: nil, account: old.id, incarnation: old.incarnation,
                    credentialTag: old.credentialTag, matter: .removal))
        }
        setHold(slot, nil)
        accounts[slot] = PolledAccount(change)
        replacePerson(slot, by: change)
        admit(slot, phase: nil, now: now)
        log.note(.info, "register", "account added again", ["account": change.id.text])
    }

    /// Takes an account out of schedule and figures: it is not walked any more.
    ///
    /// - Parameter keepsPace: walked again, it still waits as long as the server had asked.
    private func leave(_ slot: Int, keepsPace: Bool, now: Instant) {
        guard let account = accounts[slot], !account.isPaused else { return }
        drop(slot, now: now)
        schedule.retire(slot, pausing: keepsPace)
        answers.forget(slot)
        leaveFirstRound(slot)
        forgetDue(slot)
        seals.forget(slot)
        if account.isBlind { figures.blind -= 1 }
        if account.isFailing { figures.failing -= 1 }
        if account.isFleetRefused { figures.fleetRefused -= 1 }
        accounts[slot]?.isFailing = false
        accounts[slot]?.isFleetRefused = false
    }

    /// No walk of the account is waited for any more before the first round is over.
    func leaveFirstRound(_ slot: Int) {
        guard accounts[slot]?.isInFirstRound == true else { return }
        accounts[slot]?.isInFirstRound = false
        figures.firstRoundLeft -= 1
    }

    /// The journal has forgotten the account; its slot is free, unless it was added again
    /// meanwhile.
    func forget(_ slot: Int) {
        guard let account = accounts[slot] else { return }
        slots[account.id] = nil
        accounts[slot] = nil
        people[slot] = nil
        freeSlots.append(slot)
        // Added again, and perhaps removed again, while the journal forgot the one before.
        if let change = deferred.removeValue(forKey: slot),
            !change.isRemoving || change.incarnation != account.incarnation
        {
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
