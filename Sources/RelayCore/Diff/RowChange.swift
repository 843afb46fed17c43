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
        if replaceable.departed.contains(listed.id) {
            head.departed.removeAll { $0.id == listed.id }
        } else {
            row.possibleReplacementOf = replaceable.others(than: listed.id, on: shown.platform)
        }
        var update = RowUpdate(
            row: row, shown: shown, difference: RowDifference(),
            window: ChangeWindow(after: last?.start, before: walk.sealedAt), walk: walk.id,
            observedAt: walk.sealedAt)
        update.isNew = true
        publish(update, before: nil, last: last, rules: rules, desk: &desk)
    }

    /// A believed row is gone.
    ///
    /// - Parameters:
    ///   - walk: the walk that decides; of a hold that an operator ends, the first without the row.
    ///   - isHeld: whether the brake held it until now.
    mutating func unlink(
        _ id: ConnectionID, _ row: BelievedRow, walk: WalkID?, kind: EventKind, isHeld: Bool,
        last: WalkID?, rules: Detection, desk: inout EventDesk
    ) {
        guard let missing = row.missing else { return }
        let change = ConnectionChange(
            connection: row.shown, previous: row.shown,
            changedBetween: ChangeWindow(after: missing.lastShown, before: missing.firstSeal),
            walk: walk?.description, statusRecognised: rules.recognises(row.shown.status),
            possibleReplacementOf: row.possibleReplacementOf,
            attempt: kind == .change ? row.attempt : nil)
        let count = "unlinked: \(missing.count) sealed walks in a row without the row"
        desk.publish(
            .unlinked, kind: kind, time: missing.firstSeal, content: .connection(change),
            evidence: desk.evidence(
                rule: isHeld ? "\(count); held until now" : count, before: row, after: nil,
                lastSealed: last, leavesHold: isHeld),
            head: &head)
        rows[id] = nil
        desk.record(nil, id: id, epoch: head.epoch)
        head.departed.append(
            Departed(id: id, platform: row.shown.platform, at: desk.decidedAt))
        let excess = head.departed.count - BeliefHead.departedLimit
        if excess > 0 { head.departed.removeFirst(excess) }
    }

    /// Publishes what was seen of a row, and believes it.
    mutating func publish(
        _ update: RowUpdate, before: BelievedRow?, last: WalkID?, rules: Detection,
        desk: inout EventDesk
    ) {
        var row = update.row
        let (difference, time) = (update.difference, update.window.before)
        let previous = update.isNew ? nil : row.shown
        row.shown = update.shown
        if difference.health || update.isNew { row.since = time }
        let (type, rule) = difference.rule(
            health: row.shown.health, standing: row.standing, isNew: update.isNew)
        let attempt = row.takeAttempt(desk.links[row.shown.id], kind: update.kind)
        let isActionable =
            type == .failing && update.kind == .change && rules.isActionable(row.shown.status)
        let content = ConnectionChange(
            connection: row.shown, previous: previous, changed: difference.fields,
            scopes: difference.scopes, changedBetween: update.window,
            walk: update.walk.description,
            statusRecognised: rules.recognises(row.shown.status), userActionable: isActionable,
            failedFor: type == .repaired ? row.failingSince.map { time.since($0) } : nil,
            possibleReplacementOf: row.possibleReplacementOf, attempt: attempt)
        desk.publish(
            type, kind: update.kind, time: time, content: .connection(content),
            evidence: desk.evidence(
                rule: update.isHeld ? "\(rule); held until now" : rule, before: before,
                after: row.shown, lastSealed: last,
                leavesHold: update.isHeld || before?.held != nil),
            head: &head)
        row.settle(at: time)
        row.observedAt = update.observedAt
        row.recordedAt = head.sequence
        if row.shown.health == .healthy {
            row.possibleReplacementOf = []
            row.attempt = nil
        }
        rows[row.shown.id] = row
        desk.record(row, id: row.shown.id, epoch: head.epoch)
    }
}

/// A row that is to be published and believed.
struct RowUpdate {
    /// The row as believed until now; of a new one, what is noted of it already.
    var row: BelievedRow
    /// As it is now.
    var shown: Connection
    /// In what that differs.
    var difference: RowDifference
    /// Between which instants the change lies.
    var window: ChangeWindow
    /// The walk that decides, or showed it.
    var walk: WalkID
    /// Seal of the walk behind it.
    var observedAt: Timestamp
    /// Whether it is new in its epoch, or back after it was unlinked.
    var isNew = false
    var kind = EventKind.change
    /// Whether the brake held it until now.
    var isHeld = false
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
