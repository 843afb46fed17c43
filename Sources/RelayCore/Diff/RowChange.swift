internal import ConnectionEvents

// The rules of the contract's section 6 for one row of one sealed walk. One event per row and walk;
// the first rule that fits.

extension Belief {
    /// A row that is not believed: new in its epoch, or back after it was unlinked.
    mutating func meet(
        _ listed: ListedRow, last: WalkID?, rules: Detection, replaceable: Replaceable,
        desk: inout EventDesk
    ) {
        guard let walk = desk.walk else { return }
        var shown = listed.connection
        shown.health = rules.health(of: shown.status)
        var row = BelievedRow(shown: shown, observedAt: walk.sealedAt, recordedAt: 0)
        row.since = walk.sealedAt
        if replaceable.departed.contains(listed.id) {
            head.departed.removeAll { $0.id == listed.id }
        } else {
            row.possibleReplacementOf = replaceable.others(than: listed.id, on: shown.platform)
        }
        publish(
            row, previous: nil, rules: rules,
            change: RowDifference(),
            window: ChangeWindow(after: last?.start, before: walk.sealedAt), desk: &desk,
            before: nil, last: last)
    }

    /// A believed row that the walk shows.
    mutating func compare(
        _ listed: ListedRow, last: WalkID?, rules: Detection, desk: inout EventDesk
    ) {
        guard let walk = desk.walk, let before = rows[listed.id] else { return }
        var shown = listed.connection
        shown.health = rules.health(of: shown.status)
        var row = before
        row.missing = nil
        // Unknown scopes leave the known ones believed; a first known set is taken silently.
        let known = shown.grantedScopes
        if known == nil {
            shown.grantedScopes = before.shown.grantedScopes
            if before.shown.grantedScopes != nil, before.scopesShown == nil {
                row.scopesShown = before.missing?.lastShown ?? last?.start
            }
        } else {
            row.scopesShown = nil
            if before.shown.grantedScopes == nil { row.shown.grantedScopes = known }
        }
        let difference = RowDifference(from: row.shown, to: shown)
        guard !difference.isEmpty else {
            if row != before {
                rows[listed.id] = row
                desk.decision.changedRows.insert(listed.id)
            }
            return
        }
        let lastShown = before.missing.map(\.lastShown) ?? last?.start
        let after = difference.scopes == nil ? lastShown : before.scopesShown ?? lastShown
        let previous = row.shown
        if difference.health { row.since = walk.sealedAt }
        row.shown = shown
        publish(
            row, previous: previous, rules: rules, change: difference,
            window: ChangeWindow(after: after, before: walk.sealedAt), desk: &desk,
            before: before, last: last)
    }

    /// A believed row that the walk lacks.
    mutating func miss(
        _ id: ConnectionID, walk: SealedWalk, last: WalkID?, rules: Detection,
        desk: inout EventDesk
    ) {
        guard var row = rows[id] else { return }
        var missing =
            row.missing
            ?? Missing(walk: walk.id, firstSeal: walk.sealedAt, count: 0, lastShown: last?.start)
        missing.count += 1
        row.missing = missing
        guard missing.count >= rules.confirmations else {
            rows[id] = row
            desk.decision.changedRows.insert(id)
            return
        }
        let change = ConnectionChange(
            connection: row.shown, previous: row.shown,
            changedBetween: ChangeWindow(after: missing.lastShown, before: missing.firstSeal),
            walk: walk.id.description, statusRecognised: rules.recognises(row.shown.status),
            possibleReplacementOf: row.possibleReplacementOf)
        desk.publish(
            .unlinked, kind: .change, time: missing.firstSeal, content: .connection(change),
            evidence: desk.evidence(
                rule: "unlinked: \(missing.count) sealed walks in a row without the row",
                before: row, after: nil, lastSealed: last),
            head: &head)
        rows[id] = nil
        desk.record(nil, id: id, epoch: head.epoch)
        head.departed.append(
            Departed(id: id, platform: row.shown.platform, at: desk.decidedAt))
        let excess = head.departed.count - BeliefHead.departedLimit
        if excess > 0 { head.departed.removeFirst(excess) }
    }

    /// Publishes what a walk showed of a row, and believes it.
    private mutating func publish(
        _ row: BelievedRow, previous: Connection?, rules: Detection, change: RowDifference,
        window: ChangeWindow, desk: inout EventDesk, before: BelievedRow?, last: WalkID?
    ) {
        guard let walk = desk.walk else { return }
        var row = row
        let (type, rule) = change.rule(
            health: row.shown.health, standing: row.standing, isNew: previous == nil)
        let time = window.before
        let content = ConnectionChange(
            connection: row.shown, previous: previous, changed: change.fields,
            scopes: change.scopes, changedBetween: window, walk: walk.id.description,
            statusRecognised: rules.recognises(row.shown.status),
            userActionable: type == .failing && rules.isActionable(row.shown.status),
            failedFor: type == .repaired ? row.failingSince.map { time.since($0) } : nil,
            possibleReplacementOf: row.possibleReplacementOf)
        desk.publish(
            type, kind: .change, time: time, content: .connection(content),
            evidence: desk.evidence(
                rule: rule, before: before, after: row.shown, lastSealed: last),
            head: &head)
        row.settle(at: time)
        row.observedAt = walk.sealedAt
        row.recordedAt = head.sequence
        if row.shown.health == .healthy { row.possibleReplacementOf = [] }
        rows[row.shown.id] = row
        desk.record(row, id: row.shown.id, epoch: head.epoch)
    }
}

/// In what two sights of one row differ, of the fields that are compared.
struct RowDifference {
    var platform = false
    var status = false
    var health = false
    var scopes: ScopeChange?

    /// No difference; also what a new row has.
    init() {}

    /// Compares two sights; scopes only where both are known.
    init(from old: Connection, to new: Connection) {
        platform = !old.platform.isSame(as: new.platform)
        status = !old.status.isSame(as: new.status)
        health = old.health != new.health
        if let before = old.grantedScopes, let after = new.grantedScopes {
            scopes = Self.scopes(from: before, to: after)
        }
    }

    /// What came and went between two sets, each sorted by bytes; nil when they are equal.
    private static func scopes(from old: [String], to new: [String]) -> ScopeChange? {
        var change = ScopeChange(added: [], removed: [])
        var (left, right) = (old[...], new[...])
        while let before = left.first, let after = right.first {
            if before.precedes(after) {
                change.removed.append(before)
                left.removeFirst()
            } else if after.precedes(before) {
                change.added.append(after)
                right.removeFirst()
            } else {
                left.removeFirst()
                right.removeFirst()
            }
        }
        change.removed += left
        change.added += right
        return change.added.isEmpty && change.removed.isEmpty ? nil : change
    }

    var isEmpty: Bool { !platform && !status && !health && scopes == nil }

    /// The raw fields that differ, in the contract's order.
    var fields: [String] {
        (platform ? ["platform"] : []) + (status ? ["status"] : [])
            + (scopes != nil ? ["grantedScopes"] : [])
    }

    /// The first rule that fits, and its wording for `explain`.
    func rule(health: Health, standing: Standing?, isNew: Bool) -> (EventType, String) {
        switch (health, standing) {
        case (.healthy, nil):
            return (.linked, "linked: healthy now, no standing")
        case (.healthy, .failing):
            return (.repaired, "repaired: healthy now, standing failing")
        case (.failing, nil), (.failing, .healthy):
            return (.failing, "failing: failing now, standing not failing")
        case (.healthy, .healthy), (.failing, .failing), (.pending, _), (.unrecognised, _):
            if isNew {
                return (.statusChanged, "status_changed: a new row that is \(health.rawValue)")
            }
            if platform || status || self.health {
                return (
                    .statusChanged, "status_changed: platform, status or health differs otherwise"
                )
            }
            return (.scopesChanged, "scopes_changed: only grantedScopes differs")
        }
    }
}
