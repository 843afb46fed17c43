internal import ConnectionEvents
internal import RelayCore

// What the poll loop knows for the brake: how the other accounts fare, and which holds are open.

extension PollLoop {
    /// Takes an account into the fleet that is asked about removals.
    func admitToFleet(_ slot: Int) {
        guard let account = accounts[slot] else { return }
        seals.admit(slot, hasRows: account.hasRows, lacks: account.lacksRows, sealedAt: nil)
    }

    /// At the start: what is remembered of the accounts' last sealed walks and of holds.
    ///
    /// A walk counts as sealed when it began, which is earlier than the truth: an account that was
    /// sealed too early to be asked is asked after its next walk.
    func recallFleet(_ heads: [AccountID: BeliefHead]) {
        var known: [(slot: Int, sealed: Timestamp)] = []
        for slot in accounts.indices {
            guard let account = accounts[slot], !account.isRemoving else { continue }
            if let head = heads[account.id], head.incarnation == account.incarnation {
                setHold(slot, head.hold)
            }
            guard !account.isPaused, let sealed = account.lastSealed?.start else { continue }
            known.append((slot, sealed))
        }
        for (slot, sealed) in known.sorted(by: { $0.sealed < $1.sealed }) {
            guard let account = accounts[slot] else { continue }
            seals.admit(
                slot, hasRows: account.hasRows, lacks: account.lacksRows, sealedAt: sealed)
        }
    }

    /// What the others say about the rows that an account misses.
    func fleetSight(_ slot: Int, sealedAt: Timestamp) -> FleetSight {
        guard settings.detection.brake != nil, let account = accounts[slot] else { return .alone }
        return seals.sight(for: slot, since: account.missingSince + [sealedAt])
    }

    /// What a sealed walk left behind.
    func noteBrake(_ note: BrakeNote, slot: Int) {
        seals.fill(slot, hasRows: note.hasRows, hadRows: note.hadRows, lacks: note.lackedRow)
        accounts[slot]?.missingSince = note.missingSince
        accounts[slot]?.hasRows = note.hasRows
        accounts[slot]?.lacksRows = note.lackedRow
        setHold(slot, note.hold)
    }

    /// An operator's order was carried out.
    ///
    /// The account stays open until its next walk is judged.
    func noteOrder(_ judgement: Judgement) {
        // The slot may be another account's by now.
        guard accounts[judgement.slot]?.id == judgement.brake.account else { return }
        accounts[judgement.slot]?.missingSince = judgement.brake.missingSince
        setHold(judgement.slot, judgement.brake.hold)
    }

    /// Hands an operator's order to the judge.
    func carryOut(_ order: HoldOrder) {
        let slot = slots[order.account]
        judge.add(
            JudgeJob(
                slot: slot, account: order.account,
                incarnation: slot.flatMap { accounts[$0]?.incarnation } ?? 0, credentialTag: [],
                matter: .order(order)))
    }

    /// Takes note of an account's open hold, in the figures and in the log.
    func setHold(_ slot: Int, _ hold: Hold?) {
        guard let account = accounts[slot] else { return }
        let before = account.hold
        accounts[slot]?.hold = hold
        guard before?.id != hold?.id else { return }
        if let before {
            figures.holds[before.reason, default: 0] -= 1
            log.note(
                .info, "holds", "nothing is held any more",
                ["account": account.id.text, "hold": before.id.text])
        }
        if let hold {
            figures.holds[hold.reason, default: 0] += 1
            log.note(
                .warning, "holds", "changes are held: see 'trax-relay holds show'",
                [
                    "account": account.id.text, "hold": hold.id.text,
                    "reason": hold.reason.rawValue,
                ])
        }
    }
}
