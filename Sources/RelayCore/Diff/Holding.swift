internal import ConnectionEvents
internal import JSON

// The brake in a sealed walk: what it holds, what it lets go, and what is told of the hold itself.

extension Belief {
    /// Says of each sight what becomes of it; opens a hold where that is due, and ends one where
    /// nothing is held any more.
    mutating func brake(
        _ sights: inout [RowSight], walk: SealedWalk, rules: Detection, fleet: FleetSight,
        desk: inout EventDesk
    ) {
        let opening = head.hold == nil ? reason(sights, rules: rules, fleet: fleet) : nil
        guard head.hold != nil || opening != nil else { return }
        desk.openHold = head.hold?.id
        for index in sights.indices {
            sights[index].fate = fate(of: sights[index], brake: rules.brake, at: walk.sealedAt)
        }
        if var hold = head.hold {
            let published = sights.count { $0.fate == .published }
            let recovered = sights.count { $0.fate == .recovered }
            hold.published += published
            hold.recovered += recovered
            head.hold = hold
            if published + recovered > 0 { desk.decision.headChanged = true }
            if !sights.contains(where: { $0.fate == .held || $0.fate == .kept }) {
                tellReleased(hold, discarded: 0, desk: &desk)
            }
        } else if let reason = opening {
            open(reason, sights, walk: walk, desk: &desk)
        }
    }

    private func reason(
        _ sights: [RowSight], rules: Detection, fleet: FleetSight
    ) -> HoldReason? {
        guard let brake = rules.brake else { return nil }
        let removals = sights.compactMap { sight in
            sight.word == .removal ? sight.row.missing?.firstSeal : nil
        }
        let failures = sights.count { $0.word == .failure }
        guard failures > 0 || !removals.isEmpty else { return nil }
        return brake.reason(
            removals: removals, failures: failures, believed: rows.count, fleet: fleet)
    }

    /// With a hold open: what becomes of a sight.
    private func fate(of sight: RowSight, brake: Brake?, at seal: Timestamp) -> RowSight.Fate {
        let held = sight.before.held
        switch sight.word {
        case .same, .other:
            return held == nil ? .flows : .recovered
        case .absence:
            // A held failure whose row is missing is neither true nor taken back.
            guard held != nil else { return .flows }
            return brake == nil ? .published : .kept
        case .failure, .removal:
            guard let brake else { return held == nil ? .flows : .published }
            let kind: HeldChange.Kind = sight.word == .failure ? .failure : .removal
            guard let held, held.kind == kind else { return .held }
            return brake.isOver(held, at: seal) ? .published : .kept
        }
    }

    private mutating func open(
        _ reason: HoldReason, _ sights: [RowSight], walk: SealedWalk, desk: inout EventDesk
    ) {
        let held = sights.filter { $0.fate == .held }
        let hold = Hold(
            id: .of(account: account, epoch: head.epoch, walk: walk.id), reason: reason,
            since: desk.decidedAt)
        tellHeld(
            hold, removals: held.count { $0.word == .removal },
            failures: held.count { $0.word == .failure },
            connections: held.map(\.id).sorted(), desk: &desk)
    }

    /// Opens a hold and tells of it.
    mutating func tellHeld(
        _ hold: Hold, removals: Int, failures: Int, connections: [ConnectionID],
        desk: inout EventDesk
    ) {
        head.hold = hold
        let rule =
            switch hold.reason {
            case .share: "held: too large a share of the believed rows at once"
            case .fleet: "held: too many other accounts lack rows as well"
            case .wrongAccount: "held: a new credential shows none of the believed rows"
            }
        desk.publish(
            .accountHeld, kind: .change, time: desk.decidedAt,
            content: .account(
                .held(
                    hold: hold.id.text, reason: hold.reason.rawValue, removals: removals,
                    failures: failures, connections: Array(connections.prefix(100)))),
            evidence: desk.evidence(
                rule: rule, before: nil, after: nil, lastSealed: head.lastSealed),
            head: &head)
    }

    /// Ends the hold and tells of it.
    mutating func tellReleased(_ hold: Hold, discarded: Int, desk: inout EventDesk) {
        head.hold = nil
        desk.publish(
            .accountReleased, kind: .change, time: desk.decidedAt,
            content: .account(
                .released(
                    hold: hold.id.text, recovered: hold.recovered, published: hold.published,
                    discarded: discarded)),
            evidence: desk.evidence(
                rule: "released: nothing is held any more", before: nil, after: nil,
                lastSealed: head.lastSealed),
            head: &head)
    }

    /// Carries out what was decided of one believed row.
    mutating func take(
        _ sight: RowSight, walk: SealedWalk, last: WalkID?, rules: Detection,
        desk: inout EventDesk
    ) {
        var row = sight.row
        switch sight.fate {
        case .held:
            row = sight.heldRow
            row.held = sight.heldChange(by: walk)
            keep(row, of: sight, desk: &desk)
        case .kept:
            row = sight.heldRow
            row.held = sight.before.held.map { sight.heldAgain($0, by: walk, rules: rules) }
            // A confirmed removal is not counted on.
            if row.held?.kind == .removal { row.missing = sight.before.missing }
            keep(row, of: sight, desk: &desk)
        case .flows, .recovered:
            row.held = nil
            tell(row, sight, held: nil, last: last, rules: rules, desk: &desk)
        case .published:
            let held = sight.before.held.map { sight.heldAgain($0, by: walk, rules: rules) }
            row.held = nil
            tell(row, sight, held: held, last: last, rules: rules, desk: &desk)
        }
    }

    private mutating func keep(_ row: BelievedRow, of sight: RowSight, desk: inout EventDesk) {
        guard row != sight.before else { return }
        rows[sight.id] = row
        desk.decision.changedRows.insert(sight.id)
    }

    private mutating func tell(
        _ row: BelievedRow, _ sight: RowSight, held: HeldChange?, last: WalkID?,
        rules: Detection, desk: inout EventDesk
    ) {
        guard let walk = desk.walk else { return }
        switch sight.word {
        case .same:
            keep(row, of: sight, desk: &desk)
        case .absence:
            if let held, let seen = held.seen {
                // The brake was switched off: what was held is told, and the row is still missed.
                publishHeld(row, held, seen: seen, kind: .change, rules: rules, desk: &desk)
            } else {
                keep(row, of: sight, desk: &desk)
            }
        case .removal:
            unlink(
                sight.id, row, walk: walk.id, kind: .change, isHeld: held != nil, last: last,
                rules: rules, desk: &desk)
        case .other, .failure:
            guard let shown = sight.shown else { return }
            let scopesAfter = sight.before.scopesShown ?? sight.lastShown
            var update = RowUpdate(
                row: row, shown: shown, difference: sight.difference,
                window: ChangeWindow(
                    after: sight.difference.scopes == nil ? sight.lastShown : scopesAfter,
                    before: held?.seenAt ?? walk.sealedAt),
                walk: walk.id, observedAt: walk.sealedAt)
            update.isHeld = held != nil
            publish(update, before: sight.before, last: last, rules: rules, desk: &desk)
        }
    }
}
