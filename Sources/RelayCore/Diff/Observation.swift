public import ConnectionEvents
internal import JSON

extension Belief {
    /// Takes in a sealed walk: the only thing that changes what is believed of rows.
    ///
    /// - Parameters:
    ///   - lastSealed: the account's last sealed walk, where it is remembered; the belief's own
    ///     memory may be older, which makes `after` earlier than the truth, never later.
    ///   - fleet: what the other accounts' last walks say since the belief's `missingSince`.
    ///   - links: the account's open attempts to link.
    ///   - decidedAt: when the journal writes what follows; not before the seal.
    public mutating func observe(
        _ walk: SealedWalk, lastSealed: WalkID?, rules: Detection, fleet: FleetSight = .alone,
        links: [LinkWatch] = [], decidedAt: Timestamp
    ) -> Decision {
        var desk = EventDesk(account: account, decidedAt: decidedAt, walk: walk)
        let last = Self.later(lastSealed, head.lastSealed)
        let sights = links.isEmpty ? [] : linkSights(walk, rules: rules)
        let matching = LinkMatching(sights, watches: links, begun: walk.id.start)
        desk.links = matching.matches
        endRefusal(&desk)
        let listed = Set(walk.rows.map(\.id))
        let (hadRows, lackedRow) = (!rows.isEmpty, rows.keys.contains { !listed.contains($0) })
        if !head.isBaselined {
            baseline(walk, rules: rules, desk: &desk)
        } else if let known = own(walk, listed: listed, last: last, desk: &desk) {
            compare(walk, listed: listed, last: known, rules: rules, fleet: fleet, desk: &desk)
        }
        if !desk.decision.isEmpty {
            count()
            head.lastSealed = walk.id
            desk.decision.headChanged = true
        }
        desk.decision.hadRows = hadRows
        desk.decision.lackedRow = lackedRow
        desk.decision.links = matching.findings(
            sights, watches: links, begun: walk.id.start, at: decidedAt)
        return desk.decision
    }

    /// Writes into the head what it says of the rows together.
    mutating func count() {
        let waiting = rows.values.filter { $0.held?.kind != .removal }.compactMap(\.missing)
            .filter { $0.count > 0 }
        head.missingRows = waiting.count
        head.missingSince = Set(waiting.map(\.firstSeal)).sorted()
        head.rowCount = rows.count
        guard head.hold != nil, head.hold?.reason != .wrongAccount else { return }
        head.hold?.removals = rows.values.count { $0.held?.kind == .removal }
        head.hold?.failures = rows.values.count { $0.held?.kind == .failure }
        if head.hold?.removals == 0, head.hold?.failures == 0 { head.hold = nil }
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
            var row = believedQuietly(listed, sealedAt: walk.sealedAt, rules: rules)
            if rules.baseline == .publish {
                let change = ConnectionChange(
                    connection: row.shown, previous: nil,
                    changedBetween: ChangeWindow(after: nil, before: walk.sealedAt),
                    walk: walk.id.description,
                    statusRecognised: rules.recognises(row.shown.status))
                desk.publish(
                    .baseline, kind: .baseline, time: walk.sealedAt, content: .connection(change),
                    evidence: desk.evidence(
                        rule: "baseline: the epoch's first sealed walk", before: nil,
                        after: row.shown, lastSealed: nil),
                    head: &head)
                row.recordedAt = head.sequence
            }
            rows[listed.id] = row
            desk.record(
                row, id: listed.id, epoch: head.epoch, withEvent: rules.baseline == .publish)
        }
    }

    /// A row as a baseline takes it in.
    func believedQuietly(
        _ listed: ListedRow, sealedAt: Timestamp, rules: Detection
    ) -> BelievedRow {
        var shown = listed.connection
        shown.health = rules.health(of: shown.status)
        var row = BelievedRow(shown: shown, observedAt: sealedAt, recordedAt: head.sequence)
        row.settle(at: sealedAt)
        return row
    }

    /// Looks at all rows first, lets the brake say what is held, and then tells the rest in order.
    private mutating func compare(
        _ walk: SealedWalk, listed: Set<ConnectionID>, last: WalkID?, rules: Detection,
        fleet: FleetSight, desk: inout EventDesk
    ) {
        var hasNewRow = false
        var sights: [RowSight] = []
        for row in walk.rows {
            guard let before = rows[row.id] else {
                hasNewRow = true
                continue
            }
            sights.append(RowSight(row, before: before, last: last, rules: rules))
        }
        for id in rows.keys.filter({ !listed.contains($0) }).sorted() {
            guard let before = rows[id] else { continue }
            sights.append(
                RowSight(absent: id, before: before, in: walk, last: last, rules: rules, fleet))
        }
        let replaceable =
            hasNewRow
            ? Replaceable(belief: self, walk: walk, listed: listed, rules: rules) : Replaceable()
        brake(&sights, walk: walk, rules: rules, fleet: fleet, desk: &desk)
        var next = sights[...]
        for row in walk.rows {
            if let sight = next.first, sight.id == row.id {
                next.removeFirst()
                take(sight, walk: walk, last: last, rules: rules, desk: &desk)
            } else {
                meet(row, last: last, rules: rules, replaceable: replaceable, desk: &desk)
            }
        }
        for sight in next { take(sight, walk: walk, last: last, rules: rules, desk: &desk) }
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
