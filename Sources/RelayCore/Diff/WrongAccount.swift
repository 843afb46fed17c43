internal import ConnectionEvents

// A new credential whose list has none of the believed rows: it is probably another account's.

extension Belief {
    /// Whether a walk's list is this account's, and the last walk that was.
    ///
    /// - Returns: the last sealed walk to compare with (perhaps none at all, as `.some(nil)`); nil
    ///   where the list says nothing of this account's rows.
    mutating func own(
        _ walk: SealedWalk, listed: Set<ConnectionID>, last: WalkID?, desk: inout EventDesk
    ) -> WalkID?? {
        let isShared = rows.keys.contains { listed.contains($0) }
        let isFirst = head.isCredentialNew && !walk.rows.isEmpty
        if isFirst {
            head.isCredentialNew = false
            desk.decision.headChanged = true
        }
        if let hold = head.hold, hold.reason == .wrongAccount {
            guard isShared else {
                note(walk, desk: &desk)
                return nil
            }
            tellReleased(hold, discarded: 0, desk: &desk)
            // What was read meanwhile showed another account.
            return .some(hold.lastSealed)
        }
        guard isFirst, !rows.isEmpty, !isShared else { return .some(last) }
        hold(walk, last: last, desk: &desk)
        return nil
    }

    private mutating func hold(_ walk: SealedWalk, last: WalkID?, desk: inout EventDesk) {
        if var other = head.hold {
            for (id, row) in rows where row.held != nil {
                other.recovered += 1
                rows[id]?.held = nil
                rows[id]?.missing = Missing(
                    walk: walk.id, firstSeal: walk.sealedAt, count: 1,
                    lastShown: row.held?.lastShown)
                desk.decision.changedRows.insert(id)
            }
            tellReleased(other, discarded: 0, desk: &desk)
        }
        // Rows that are missed already may be so because of the same key: they count from the end,
        // and all that is kept is when they were last shown.
        for id in rows.keys where rows[id]?.missing != nil {
            rows[id]?.missing?.count = 0
            desk.decision.changedRows.insert(id)
        }
        var hold = Hold(
            id: .of(account: account, epoch: head.epoch, walk: walk.id), reason: .wrongAccount,
            since: desk.decidedAt)
        hold.lastSealed = last
        hold.list = HeldList(walk: walk.id, sealedAt: walk.sealedAt, rows: walk.rows)
        tellHeld(hold, removals: 0, failures: 0, connections: [], desk: &desk)
    }

    private mutating func note(_ walk: SealedWalk, desk: inout EventDesk) {
        guard head.hold?.list?.rows != walk.rows else { return }
        head.hold?.list = HeldList(walk: walk.id, sealedAt: walk.sealedAt, rows: walk.rows)
        desk.decision.headChanged = true
    }
}
