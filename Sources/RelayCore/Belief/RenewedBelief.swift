public import ConnectionEvents
internal import JSON

/// Why a belief was read anew, as `account.resynced` tells it.
public enum ResyncReason: String, Hashable, Sendable, CaseIterable {
    /// The journal was lost.
    case loss
    /// The journal was restored from an older copy, or took another's place.
    case restore
    /// A new credential showed another account, and an operator said that it is right.
    case wrongAccount
}

extension Belief {
    /// The belief that a state topic remembers, in a new epoch whose first event says so.
    ///
    /// What the topic does not tell is over: refusals, blindness, missing rows, holds. An account
    /// without a record has no rows; its next sealed walk is its baseline.
    ///
    /// - Parameters:
    ///   - records: what the topic holds of the account.
    ///   - epoch: larger than any before.
    ///   - walkTimeout: how long a walk may take: a record tells when its walk ended, and windows
    ///     begin where it began.
    public static func renewed(
        _ account: AccountID, from records: [StateRecord], epoch: Int64, incarnation: Int64,
        reason: ResyncReason, rules: Detection, walkTimeout: Duration, decidedAt: Timestamp
    ) -> (belief: Belief, decision: Decision) {
        var belief = Belief(
            meeting: account, epoch: epoch, incarnation: incarnation, rules: rules)
        var desk = EventDesk(account: account, decidedAt: decidedAt, walk: nil)
        var evidence = JSONObject()
        evidence["rule"] = .string("resynced: \(reason.rawValue), read from the state topic")
        evidence["rows"] = .number(JSONNumber(Int64(records.count)))
        desk.publish(
            .accountResynced, kind: .resync, time: decidedAt,
            content: .account(.resynced(reason: reason.rawValue)), evidence: .object(evidence),
            head: &belief.head)
        var decision = desk.decision
        guard let earliest = records.map(\.observedAt).min() else { return (belief, decision) }
        for record in records {
            belief.rows[record.connection.id] = BelievedRow(
                record, recordedAt: belief.head.sequence)
            decision.changedRows.insert(record.connection.id)
        }
        belief.head.isBaselined = true
        // What was last seen of some row is true of none of them later: earlier than the truth.
        belief.head.lastSealed = WalkID(
            start: earliest.adding(.zero - walkTimeout), random: (0, 0))
        belief.count()
        // Judged under rules that nobody remembers: where health differs now, that is told.
        belief.head.rulesDigest = ~rules.digest
        decision.append(belief.rejudge(rules: rules, decidedAt: decidedAt))
        return (belief, decision)
    }

    /// A state record of every row, in the epoch of now.
    ///
    /// For an account that is met again later than its journal was renewed: no filling tells them.
    public func recorded(decidedAt: Timestamp) -> Decision {
        var desk = EventDesk(account: account, decidedAt: decidedAt, walk: nil)
        for id in rows.keys.sorted() {
            desk.record(rows[id], id: id, epoch: head.epoch, withEvent: false)
        }
        return desk.decision
    }
}

extension BelievedRow {
    /// A row as a state topic remembers it.
    init(_ record: StateRecord, recordedAt: Int64) {
        self.init(
            shown: record.connection, observedAt: record.observedAt, recordedAt: recordedAt)
        standing = record.standing
        since = record.since
        // Since a baseline, or since a later change: not before it began to fail.
        if standing == .failing { failingSince = record.since ?? record.observedAt }
    }
}
