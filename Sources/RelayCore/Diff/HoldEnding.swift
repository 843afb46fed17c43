public import ConnectionEvents
internal import JSON

// What operators do about a hold, without a walk.

extension Belief {
    /// Publishes all that is held now, or believes it quietly.
    ///
    /// - Parameters:
    ///   - id: the hold that was meant; another one is left alone.
    ///   - epoch: gives an epoch larger than any before, for a wrong account that is released.
    /// - Throws: where there is no such hold, or it cannot be ended so; nothing changed then.
    public mutating func endHold(
        _ id: HoldID, _ action: HoldAction, rules: Detection, decidedAt: Timestamp,
        epoch: () -> Int64
    ) throws(HoldRefusal) -> Decision {
        guard var hold = head.hold, hold.id == id else { throw .noSuchHold }
        var desk = EventDesk(account: account, decidedAt: decidedAt, walk: nil, hold: id)
        if hold.reason == .wrongAccount {
            guard action == .release else { throw .wrongAccountStays }
            resync(hold, epoch: epoch(), rules: rules, desk: &desk)
            return desk.decision
        }
        let held = rows.filter { $0.value.held != nil }.sorted { $0.key < $1.key }
        let discarded = action == .discard ? held.count : 0
        if action == .release { hold.published += held.count }
        tellReleased(hold, discarded: discarded, desk: &desk)
        let kind: EventKind = action == .discard ? .resync : .change
        for (_, row) in held where row.held?.kind == .failure {
            guard let change = row.held, let seen = change.seen else { continue }
            publishHeld(row, change, seen: seen, kind: kind, rules: rules, desk: &desk)
        }
        for (id, row) in held where row.held?.kind == .removal {
            unlink(
                id, row, walk: row.held?.walk, kind: kind, isHeld: true, last: head.lastSealed,
                rules: rules, desk: &desk)
        }
        count()
        return desk.decision
    }

    /// Publishes a held failure as it was last seen, with the window of its first sight.
    mutating func publishHeld(
        _ row: BelievedRow, _ held: HeldChange, seen: Connection, kind: EventKind,
        rules: Detection, desk: inout EventDesk
    ) {
        let before = row
        var row = row
        row.held = nil
        var shown = seen
        shown.health = rules.health(of: seen.status)
        if shown.grantedScopes == nil {
            shown.grantedScopes = row.shown.grantedScopes
        } else if row.shown.grantedScopes == nil {
            row.shown.grantedScopes = shown.grantedScopes
        }
        let difference = RowDifference(from: row.shown, to: shown)
        guard !difference.isEmpty else {
            rows[shown.id] = row
            desk.decision.changedRows.insert(shown.id)
            return
        }
        let after = difference.scopes == nil ? held.lastShown : row.scopesShown ?? held.lastShown
        var update = RowUpdate(
            row: row, shown: shown, difference: difference,
            window: ChangeWindow(after: after, before: held.seenAt), walk: held.walk,
            observedAt: held.seenAt)
        update.kind = kind
        update.isHeld = true
        publish(update, before: before, last: head.lastSealed, rules: rules, desk: &desk)
    }

    /// The list of a wrong account becomes the account's: a new epoch and a quiet baseline.
    private mutating func resync(
        _ hold: Hold, epoch: Int64, rules: Detection, desk: inout EventDesk
    ) {
        tellReleased(hold, discarded: 0, desk: &desk)
        let (old, list) = (head, hold.list)
        head = BeliefHead(
            epoch: epoch, incarnation: old.incarnation, rulesDigest: rules.digest)
        head.isBaselined = true
        head.credentialTag = old.credentialTag
        head.isCredentialNew = old.isCredentialNew
        head.refusal = old.refusal
        head.blindSince = old.blindSince
        head.lastSealed = list?.walk
        desk.publish(
            .accountResynced, kind: .resync, time: desk.decidedAt,
            content: .account(.resynced(reason: ResyncReason.wrongAccount.rawValue)),
            evidence: ["rule": "resynced: an operator says that the new list is the account's"],
            head: &head)
        let gone = Set(rows.keys).subtracting(list?.rows.map(\.id) ?? [])
        rows = [:]
        for id in gone.sorted() { desk.record(nil, id: id, epoch: epoch, withEvent: false) }
        for listed in list?.rows ?? [] {
            let row = believedQuietly(
                listed, sealedAt: list?.sealedAt ?? desk.decidedAt, rules: rules)
            rows[listed.id] = row
            desk.record(row, id: listed.id, epoch: epoch, withEvent: false)
        }
        count()
    }
}
