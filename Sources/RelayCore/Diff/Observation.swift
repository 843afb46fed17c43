public import ConnectionEvents
internal import JSON

extension Belief {
    /// Takes in a sealed walk: the only thing that changes what is believed of rows.
    ///
    /// - Parameters:
    ///   - lastSealed: the account's last sealed walk, where it is remembered; the belief's own
    ///     memory may be older, which makes `after` earlier than the truth, never later.
    ///   - decidedAt: when the journal writes what follows; not before the seal.
    public mutating func observe(
        _ walk: SealedWalk, lastSealed: WalkID?, rules: Detection, decidedAt: Timestamp
    ) -> Decision {
        var desk = EventDesk(account: account, decidedAt: decidedAt, walk: walk)
        let last = Self.later(lastSealed, head.lastSealed)
        endRefusal(&desk)
        if head.isBaselined {
            compare(walk, last: last, rules: rules, desk: &desk)
        } else {
            baseline(walk, rules: rules, desk: &desk)
        }
        if !desk.decision.isEmpty {
            head.missingRows = rows.values.count { $0.missing != nil }
            head.lastSealed = walk.id
            desk.decision.headChanged = true
        }
        return desk.decision
    }

    private static func later(_ one: WalkID?, _ other: WalkID?) -> WalkID? {
        guard let one else { return other }
        guard let other else { return one }
        return one.start < other.start ? other : one
    }

    private mutating func endRefusal(_ desk: inout EventDesk) {
        if let since = head.blindSince {
            head.blindSince = nil
            desk.publish(
                .accountRestored, kind: .change, time: desk.decidedAt,
                content: .account(.restored(blindFor: desk.decidedAt.since(since))),
                evidence: desk.evidence(
                    rule: "restored: a sealed walk ends blindness", before: nil, after: nil,
                    lastSealed: head.lastSealed),
                head: &head)
        }
        if head.refusal != nil {
            head.refusal = nil
            desk.decision.headChanged = true
        }
    }

    /// Rows of an epoch's first sealed walk: believed without news, published only if asked for.
    private mutating func baseline(
        _ walk: SealedWalk, rules: Detection, desk: inout EventDesk
    ) {
        head.isBaselined = true
        head.rulesDigest = rules.digest
        desk.decision.headChanged = true
        for listed in walk.rows {
            var shown = listed.connection
            shown.health = rules.health(of: shown.status)
            var row = BelievedRow(
                shown: shown, observedAt: walk.sealedAt, recordedAt: head.sequence)
            row.settle(at: walk.sealedAt)
            if rules.baseline == .publish {
                let change = ConnectionChange(
                    connection: shown, previous: nil,
                    changedBetween: ChangeWindow(after: nil, before: walk.sealedAt),
                    walk: walk.id.description, statusRecognised: rules.recognises(shown.status))
                desk.publish(
                    .baseline, kind: .baseline, time: walk.sealedAt, content: .connection(change),
                    evidence: desk.evidence(
                        rule: "baseline: the epoch's first sealed walk", before: nil,
                        after: shown, lastSealed: nil),
                    head: &head)
                row.recordedAt = head.sequence
            }
            rows[listed.id] = row
            desk.record(
                row, id: listed.id, epoch: head.epoch, withEvent: rules.baseline == .publish)
        }
    }

    private mutating func compare(
        _ walk: SealedWalk, last: WalkID?, rules: Detection, desk: inout EventDesk
    ) {
        let listed = Set(walk.rows.map(\.id))
        let hasNewRow = walk.rows.contains { rows[$0.id] == nil }
        let replaceable =
            hasNewRow
            ? Replaceable(belief: self, walk: walk, listed: listed, rules: rules) : Replaceable()
        for row in walk.rows {
            if rows[row.id] == nil {
                meet(row, last: last, rules: rules, replaceable: replaceable, desk: &desk)
            } else {
                compare(row, last: last, rules: rules, desk: &desk)
            }
        }
        for id in rows.keys.filter({ !listed.contains($0) }).sorted() {
            miss(id, walk: walk, last: last, rules: rules, desk: &desk)
        }
    }
}

extension BelievedRow {
    /// Takes on the standing of the health shown, since `time`; silent about anything else.
    mutating func settle(at time: Timestamp) {
        switch shown.health {
        case .healthy:
            standing = .healthy
            failingSince = nil
        case .failing:
            if standing != .failing { failingSince = time }
            standing = .failing
        case .pending, .unrecognised:
            break
        }
    }
}
