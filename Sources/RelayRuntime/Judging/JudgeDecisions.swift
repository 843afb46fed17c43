internal import ConnectionEvents
internal import RelayCore

// What the judge decides about one job; the belief's own rules are in the core.

extension Judge {
    /// Judges one job into the batch; nil where the poll loop waits for no result.
    func decide(
        _ job: JudgeJob, into batch: inout JournalBatch, epochs: inout EpochSource
    ) throws(JournalFailure) -> Judgement? {
        let stored = try journal.belief(of: job.account)
        switch job.matter {
        case .removal:
            try remove(job, stored: stored, into: &batch, epochs: &epochs)
            try endLinks(of: job.account, into: &batch)
            return job.slot.map { Judgement(slot: $0, .removed) }
        case .credential:
            guard var belief = stored, belief.head.incarnation == job.incarnation else {
                return nil
            }
            let decision = belief.useCredential(tag: job.credentialTag)
            add(decision, of: belief, into: &batch)
            return nil
        case .rules:
            guard var belief = stored else { return nil }
            let decision = belief.rejudge(rules: settings.detection, decidedAt: clock.stamp())
            add(decision, of: belief, into: &batch)
            return nil
        case .order(let order):
            return carryOut(order, of: job, stored: stored, into: &batch, epochs: &epochs)
        case .reading(let reading, let sealedAt, let lastSealed, let fleet):
            return try judge(
                job, reading: reading, sealedAt: sealedAt, lastSealed: lastSealed, fleet: fleet,
                stored: stored, into: &batch, epochs: &epochs)
        case .refusal(let refused):
            // Whoever takes a credential back has told the register first; the loop hears later.
            guard try register.version(of: job.account) == refused.version else {
                return job.slot.map { Judgement(slot: $0, .outdated) }
            }
            var (belief, opening) = try believe(job, stored: stored, into: &batch, epochs: &epochs)
            opening.append(
                belief.refuse(
                    status: refused.status, code: refused.code,
                    requiredScope: refused.requiredScope, requestID: refused.requestID,
                    at: refused.at, fleet: refused.fleet, decidedAt: clock.stamp()))
            add(opening, of: belief, into: &batch)
            let isFleetRefused =
                refused.fleet == .fleetRefused && (belief.head.refusal?.count ?? 0) >= 2
            return judgement(job, .refused, belief, isFleetRefused: isFleetRefused)
        }
    }

    private func judge(
        _ job: JudgeJob, reading: WalkReading, sealedAt: Timestamp, lastSealed: WalkID?,
        fleet: FleetSight, stored: Belief?, into batch: inout JournalBatch,
        epochs: inout EpochSource
    ) throws(JournalFailure) -> Judgement? {
        switch reading.seal(at: sealedAt) {
        case .failure(let failure):
            return job.slot.map { Judgement(slot: $0, .failed(failure)) }
        case .success(let walk):
            var (belief, opening) = try believe(job, stored: stored, into: &batch, epochs: &epochs)
            let links = try journal.openLinks(of: job.account)
            opening.append(
                belief.observe(
                    walk, lastSealed: lastSealed, rules: settings.detection, fleet: fleet,
                    links: links, decidedAt: clock.stamp()))
            add(opening, of: belief, into: &batch)
            var judgement = judgement(
                job,
                .sealed(
                    walk.id, reading.fingerprint, pages: walk.pages.count,
                    confirm: belief.wantsConfirmation),
                belief, isFleetRefused: false)
            judgement?.brake = BrakeNote(belief, decision: opening)
            judgement?.endedLinks = opening.links.filter { $0.outcome != nil }.map(\.number)
            judgement?.openLinks = Set(links.map(\.number))
            return judgement
        }
    }

    /// Ends a hold as an operator ordered; the order goes with the commit, whatever came of it.
    private func carryOut(
        _ order: HoldOrder, of job: JudgeJob, stored: Belief?, into batch: inout JournalBatch,
        epochs: inout EpochSource
    ) -> Judgement? {
        batch.ordersDone.append(order.number)
        let fields: KeyValuePairs = [
            "account": order.account.text, "hold": order.hold.text, "action": order.action.rawValue,
        ]
        do throws(HoldRefusal) {
            guard var belief = stored else { throw .noSuchHold }
            let now = clock.stamp()
            let decision = try belief.endHold(
                order.hold, order.action, rules: settings.detection, decidedAt: now,
                epoch: { epochs.next(at: now) })
            add(decision, of: belief, into: &batch)
            log.note(.info, "holds", "a hold was ended by order", fields)
            var judgement = judgement(job, .noted, belief, isFleetRefused: false)
            judgement?.brake = BrakeNote(belief, decision: decision)
            return judgement
        } catch {
            log.note(.warning, "holds", "an order was refused: there is no such hold", fields)
            return nil
        }
    }

    /// The belief to judge by: the stored one, or a new one for an account just met.
    ///
    /// A belief of an earlier registration of the id is removed first, and told so.
    private func believe(
        _ job: JudgeJob, stored: Belief?, into batch: inout JournalBatch,
        epochs: inout EpochSource
    ) throws(JournalFailure) -> (Belief, Decision) {
        guard var belief = stored else { return try meet(job, epochs: &epochs) }
        guard belief.head.incarnation == job.incarnation else {
            let met = try meet(job, epochs: &epochs)
            batch.entries += belief.remove(decidedAt: clock.stamp()).entries
            batch.beliefs.append((job.account, .drop))
            return met
        }
        var opening = belief.rejudge(rules: settings.detection, decidedAt: clock.stamp())
        opening.append(belief.useCredential(tag: job.credentialTag))
        return (belief, opening)
    }

    /// The belief of an account that the journal does not know: a new one, or the one that a state
    /// topic remembers from before a loss, where the register has the account only now.
    private func meet(
        _ job: JudgeJob, epochs: inout EpochSource
    ) throws(JournalFailure) -> (Belief, Decision) {
        let known = try journal.remembered(of: job.account)
        let now = clock.stamp()
        let epoch = epochs.next(at: now)
        var belief: Belief
        var opening = Decision()
        if known.isEmpty {
            belief = Belief(
                meeting: job.account, epoch: epoch, incarnation: job.incarnation,
                rules: settings.detection)
        } else {
            (belief, opening) = Belief.renewed(
                job.account, from: known, epoch: epoch, incarnation: job.incarnation,
                reason: .loss, rules: settings.detection, walkTimeout: settings.walkTimeout,
                decidedAt: now)
            opening.append(belief.recorded(decidedAt: now))
        }
        opening.append(belief.useCredential(tag: job.credentialTag))
        return (belief, opening)
    }

    private func remove(
        _ job: JudgeJob, stored: Belief?, into batch: inout JournalBatch,
        epochs: inout EpochSource
    ) throws(JournalFailure) {
        // Without a slot it is about a belief alone, which may be over by now, or another's.
        guard job.slot != nil || stored?.head.incarnation == job.incarnation else { return }
        var (belief, decision) = (stored, Decision())
        if belief == nil { (belief, decision) = try meet(job, epochs: &epochs) }
        if let removal = belief?.remove(decidedAt: clock.stamp()) { decision.append(removal) }
        batch.entries += decision.entries
        batch.beliefs.append((job.account, .drop))
        if job.slot != nil { batch.removals.append((job.account, job.incarnation)) }
    }

    /// What becomes of a job whose belief is damaged: a walk has failed, and the account is walked
    /// less and less often; a removal goes by what is left; the rest could change nothing.
    func decideUnread(
        _ job: JudgeJob, _ failure: JournalFailure, into batch: inout JournalBatch,
        epochs: inout EpochSource
    ) throws(JournalFailure) -> Judgement? {
        switch job.matter {
        case .reading, .refusal:
            log.note(
                .error, "belief",
                "a belief is damaged, and its account is not judged: restore a backup, or remove"
                    + " the account and add it again",
                ["account": job.account.text])
            throw failure
        case .credential, .rules:
            // The next walk that can be judged sees to both.
            return nil
        case .order(let order):
            batch.ordersDone.append(order.number)
            log.note(
                .warning, "holds", "an order was refused: the account's belief is damaged",
                ["account": order.account.text, "hold": order.hold.text])
            return nil
        case .removal:
            let left = try journal.remains(of: job.account)
            var belief = Belief(
                meeting: job.account, epoch: epochs.next(at: clock.stamp()),
                incarnation: job.incarnation, rules: settings.detection)
            if let head = left.head { belief.head = head }
            for id in left.connections {
                belief.rows[id] = BelievedRow(
                    shown: Connection(
                        id: id, platform: nil, status: nil, health: .unrecognised,
                        grantedScopes: nil),
                    observedAt: clock.stamp(), recordedAt: 0)
            }
            try remove(job, stored: belief, into: &batch, epochs: &epochs)
            log.note(
                .warning, "belief", "a damaged belief is taken away with its account",
                ["account": job.account.text])
            return job.slot.map { Judgement(slot: $0, .removed) }
        }
    }

    /// Nobody looks at the account's list any more.
    private func endLinks(
        of account: AccountID, into batch: inout JournalBatch
    ) throws(JournalFailure) {
        for watch in try journal.openLinks(of: account) {
            batch.links.append(
                LinkFinding(
                    number: watch.number, connection: watch.connection, outcome: .removed,
                    at: clock.stamp()))
        }
    }

    private func add(_ decision: Decision, of belief: Belief, into batch: inout JournalBatch) {
        batch.entries += decision.entries
        batch.links += decision.links
        if let write = decision.write(of: belief) {
            batch.beliefs.append((belief.account, write))
        }
    }

    private func judgement(
        _ job: JudgeJob, _ end: Judgement.End, _ belief: Belief, isFleetRefused: Bool
    ) -> Judgement? {
        job.slot.map {
            Judgement(
                slot: $0, end: end, isOpen: belief.isOpen,
                isBlind: belief.head.blindSince != nil,
                refusalSince: belief.head.blindSince ?? belief.head.refusal?.since,
                isFleetRefused: isFleetRefused)
        }
    }
}
