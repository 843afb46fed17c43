internal import ConnectionEvents
internal import Hashing
internal import RelayCore

// The walks of the poll loop: begun, fed, ended.

extension PollLoop {
    func begin(_ slot: Int, due: Instant, now: Instant) {
        guard let account = accounts[slot] else { return }
        guard !account.isPerson || hasBearer(slot, due: due, now: now) else { return }
        start(slot, account, due: due, now: now)
        ask(slot, now: now)
    }

    /// Begins a walk, whose first page is still to be asked for.
    func start(_ slot: Int, _ account: PolledAccount, due: Instant, now: Instant) {
        let id = WalkID(start: clock.stamp(), random: (random(), random()))
        walks[slot] = ActiveWalk(
            walk: Walk(
                id: id, limits: settings.limits,
                // A watched account is judged even if nothing differs: attempts end, too.
                expected: account.isOpen || isWatched(account.id) ? nil : account.fingerprint),
            began: now, deadline: now + settings.walkTimeout)
        figures.lateness.add(now - due)
        noteDue(slot, account, since: due)
    }

    /// A walk is due from which a sealed one may come.
    func noteDue(_ slot: Int, _ account: PolledAccount, since due: Instant) {
        guard !account.isBlind, figures.dueSince == nil else { return }
        figures.dueSince = due
        dueSlot = slot
    }

    func ask(_ slot: Int, now: Instant) {
        guard let account = accounts[slot], let active = walks[slot] else { return }
        let left = active.deadline - now
        guard left > .zero else {
            end(slot, .tookTooLong(settings.walkTimeout), now: now)
            return
        }
        walks[slot]?.isAsking = true
        figures.requests += 1
        transport.request(
            PageRequest(
                credential: account.credential, cursor: active.cursor,
                requestID: active.walk.id.requestID(page: active.walk.nextPage),
                timeout: min(settings.requestTimeout, left)),
            token: WalkToken(slot))
    }

    /// A walk that found what the last one found, with nothing waiting for it.
    func seal(_ slot: Int, _ walk: WalkID, pages: Int, now: Instant) {
        let sealedAt = clock.stamp()
        answers.note(slot, refused: false, at: sealedAt)
        seals.noteUnchanged(slot, at: sealedAt)
        accounts[slot]?.lastSealed = walk
        accounts[slot]?.isMarked = false
        finish(slot, .sealed(pages: pages, confirm: false), word: "unchanged", now: now)
        noteSealed(slot, now: now)
    }

    func judge(_ reading: WalkReading, slot: Int) {
        guard let account = accounts[slot] else { return }
        accounts[slot]?.isJudging = true
        let sealedAt = clock.stamp()
        seals.keepPlace(slot, at: sealedAt)
        let job = JudgeJob(
            slot: slot, account: account.id, incarnation: account.incarnation,
            credentialTag: account.credentialTag,
            matter: .reading(
                reading, sealedAt: sealedAt, lastSealed: account.lastSealed,
                fleet: fleetSight(slot, sealedAt: sealedAt)))
        if once != nil, settings.detection.brake != nil, !account.missingSince.isEmpty {
            // A removal is asked of the others when all of them have answered.
            once?.waiting.append(job)
            walks[slot]?.isAsking = false
            return
        }
        judging += 1
        judge.add(job)
    }

    /// A walk that was not sealed.
    func end(_ slot: Int, _ failure: WalkFailure, now: Instant) {
        switch failure.kind {
        case .refused(let status, let code, let scope):
            if status == 401 { rejectBearer(slot) }
            refuse(slot, status: status, code: code, scope: scope, failure: failure, now: now)
        case .throttled(let wait):
            noteFailure(slot, failure)
            finish(slot, .throttled(wait), word: failure.code, now: now)
        case .failed:
            noteFailure(slot, failure)
            finish(slot, .failed, word: failure.code, now: now)
        }
    }

    func refuse(
        _ slot: Int, status: Int, code: String, scope: String?, failure: WalkFailure, now: Instant
    ) {
        guard let account = accounts[slot] else { return }
        let at = clock.stamp()
        answers.note(slot, refused: true, at: at)
        if account.isBlind {
            noteFailure(slot, failure)
            finish(slot, .blind, word: failure.code, now: now)
            return
        }
        let since = account.refusalSince ?? at
        let job = JudgeJob(
            slot: slot, account: account.id, incarnation: account.incarnation,
            credentialTag: account.credentialTag,
            matter: .refusal(
                RefusedWalk(
                    status: status, code: code, requiredScope: scope,
                    requestID: failure.requestID, at: at,
                    fleet: answers.verdict(for: slot, since: since, others: schedule.active - 1),
                    version: account.version)))
        accounts[slot]?.isJudging = true
        walks[slot]?.refusal = failure
        if once != nil {
            // Asked of the others when all of them have answered.
            once?.waiting.append(job)
            walks[slot]?.isAsking = false
            return
        }
        judging += 1
        judge.add(job)
    }

    /// The end of a walk, however it ended.
    func finish(_ slot: Int, _ outcome: Schedule.Outcome, word: String, now: Instant) {
        if let active = walks.removeValue(forKey: slot) {
            heldBytes -= active.walk.bytes
            figures.walkDuration.add(now - active.began)
        }
        figures.walks[word, default: 0] += 1
        leaveFirstRound(slot)
        // Told to wait is not due: it is no fault that nothing was sealed meanwhile.
        if case .throttled = outcome { forgetDue(slot) }
        schedule.ended(slot, outcome, now: now)
        keepPace(slot, now: now)
        if once != nil {
            once?.note(outcome)
            schedule.retire(slot)
        }
    }

    func noteSealed(_ slot: Int, now: Instant) {
        figures.lastSealed = now
        figures.dueSince = nil
        dueSlot = nil
        guard let account = accounts[slot], account.isFailing else { return }
        accounts[slot]?.isFailing = false
        figures.failing -= 1
        log.note(.info, "walk.recovered", "account can be read again", ["account": account.id.text])
    }

    /// The account that is waited for longest is not waited for any more: the next due one is.
    func forgetDue(_ slot: Int) {
        guard dueSlot == slot else { return }
        dueSlot = nil
        figures.dueSince = nil
    }

    func noteFailure(_ slot: Int, _ failure: WalkFailure) {
        guard let account = accounts[slot], !account.isFailing else { return }
        accounts[slot]?.isFailing = true
        figures.failing += 1
        log.note(
            .warning, "walk.\(failure.code)", "account cannot be read: \(failure.reason)",
            ["account": account.id.text, "code": failure.code])
    }

    /// What the judge made of a job.
    func take(_ judgement: Judgement, now: Instant) {
        let slot = judgement.slot
        guard accounts[slot] != nil else { return }
        if case .noted = judgement.end {
            noteOrder(judgement)
            return
        }
        if case .removed = judgement.end {
            forget(slot)
            return
        }
        judging -= 1
        accounts[slot]?.isJudging = false
        switch judgement.end {
        case .sealed(let walk, let fingerprint, let pages, let confirm):
            note(judgement, slot: slot)
            answers.note(slot, refused: false, at: clock.stamp())
            noteBrake(judgement.brake, slot: slot)
            endWatches(judgement.endedLinks, open: judgement.openLinks, slot: slot)
            accounts[slot]?.lastSealed = walk
            accounts[slot]?.fingerprint = fingerprint
            accounts[slot]?.isMarked = false
            finish(slot, .sealed(pages: pages, confirm: confirm), word: "sealed", now: now)
            noteSealed(slot, now: now)
        case .failed(let failure):
            seals.abandon(slot)
            end(slot, failure, now: now)
        case .unwritten:
            seals.abandon(slot)
            // Not the account's fault: it is not left alone longer and longer for it.
            finish(
                slot, .throttled(settings.schedule.confirmAfter), word: "journal", now: now)
        case .outdated:
            answers.forget(slot)
            finish(
                slot, .throttled(settings.schedule.confirmAfter), word: "dropped", now: now)
        case .refused:
            if let failure = walks[slot]?.refusal { noteFailure(slot, failure) }
            note(judgement, slot: slot)
            finish(slot, judgement.isBlind ? .blind : .refused, word: "refused", now: now)
        case .removed, .noted:
            break
        }
        if let change = deferred.removeValue(forKey: slot) { register(change, now: now) }
    }

    private func note(_ judgement: Judgement, slot: Int) {
        guard let before = accounts[slot] else { return }
        figures.blind += (judgement.isBlind ? 1 : 0) - (before.isBlind ? 1 : 0)
        figures.fleetRefused +=
            (judgement.isFleetRefused ? 1 : 0) - (before.isFleetRefused ? 1 : 0)
        if judgement.isBlind { forgetDue(slot) }
        accounts[slot]?.isOpen = judgement.isOpen
        accounts[slot]?.isBlind = judgement.isBlind
        accounts[slot]?.isFleetRefused = judgement.isFleetRefused
        accounts[slot]?.refusalSince = judgement.refusalSince
    }
}
