internal import ConnectionEvents

// What a sealed walk says about attempts to link, beside what it says about rows.

extension Belief {
    /// The rows of a walk as attempts see them, before anything of the walk is believed.
    func linkSights(_ walk: SealedWalk, rules: Detection) -> [LinkSight] {
        walk.rows.map { listed in
            var shown = listed.connection
            shown.health = rules.health(of: shown.status)
            guard let row = rows[listed.id] else {
                return LinkSight(shown, isNew: head.isBaselined, isChanged: head.isBaselined)
            }
            let difference = RowDifference(from: row.shown, to: shown)
            return LinkSight(
                shown, isNew: false, isChanged: !difference.isEmpty, known: row.attempt)
        }
    }
}

extension BelievedRow {
    /// Takes on the attempt that a walk matched the row to, and says what its event names.
    mutating func takeAttempt(_ match: LinkMatch?, kind: EventKind) -> AttemptHash? {
        if let match { attempt = match.watch.attempt }
        return kind == .change ? attempt : nil
    }
}
