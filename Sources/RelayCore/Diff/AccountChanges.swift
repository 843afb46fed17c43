public import ConnectionEvents
internal import JSON

/// What the other accounts' answers say about a refusal.
public enum FleetVerdict: Hashable, Sendable {
    /// The refusal concerns this account: the others are read, or there are too few to ask.
    case thisAccount
    /// Too few others were heard since the first refusal: not now.
    case tooFewHeard
    /// Half of the others or more are refused as well: the API's trouble, not the account's.
    case fleetRefused
}

extension Belief {
    /// Takes in a refusal of the credential; from the second in a row on, the account may be blind.
    ///
    /// - Parameters:
    ///   - requestID: the request that was refused, for evidence.
    ///   - at: when the refusal came.
    public mutating func refuse(
        status: Int, code: String, requiredScope: String?, requestID: String? = nil,
        at: Timestamp, fleet: FleetVerdict, decidedAt: Timestamp
    ) -> Decision {
        guard head.blindSince == nil else { return Decision() }
        var desk = EventDesk(account: account, decidedAt: decidedAt, walk: nil)
        let refusal = Refusal(
            count: (head.refusal?.count ?? 0) + 1, since: head.refusal?.since ?? at,
            status: status, code: code, requiredScope: requiredScope,
            requests: (head.refusal?.requests ?? []) + [requestID].compactMap(\.self))
        desk.decision.headChanged = true
        guard refusal.count >= 2, fleet == .thisAccount else {
            head.refusal = refusal
            return desk.decision
        }
        head.refusal = nil
        head.blindSince = refusal.since
        var evidence = JSONObject()
        evidence["rule"] = "blind: refused twice or more in a row, the others are not"
        evidence["refusals"] = .number(JSONNumber(Int64(refusal.count)))
        evidence["requests"] = .array(refusal.requests.map { .string($0) })
        desk.publish(
            .accountBlind, kind: .change, time: decidedAt,
            content: .account(
                .blind(
                    status: status, code: code, requiredScope: requiredScope,
                    since: refusal.since)),
            evidence: .object(evidence), head: &head)
        return desk.decision
    }

    /// Takes note of the credential in use; a new one resets the count of refusals.
    public mutating func useCredential(tag: [UInt8]) -> Decision {
        var decision = Decision()
        guard head.credentialTag != tag else { return decision }
        // The first list with rows after a change must be of the same account.
        if !head.credentialTag.isEmpty, head.isBaselined { head.isCredentialNew = true }
        head.credentialTag = tag
        head.refusal = nil
        decision.headChanged = true
        return decision
    }

    /// Judges all believed rows anew under changed rules, without a walk.
    public mutating func rejudge(rules: Detection, decidedAt: Timestamp) -> Decision {
        var desk = EventDesk(account: account, decidedAt: decidedAt, walk: nil)
        guard head.rulesDigest != rules.digest else { return desk.decision }
        head.rulesDigest = rules.digest
        desk.decision.headChanged = true
        for id in rows.keys.sorted() {
            guard var row = rows[id] else { continue }
            let before = row
            row.shown.health = rules.health(of: row.shown.status)
            guard row.shown.health != before.shown.health else { continue }
            row.since = decidedAt
            let change = ConnectionChange(
                connection: row.shown, previous: before.shown, changed: ["health"],
                statusRecognised: rules.recognises(row.shown.status),
                possibleReplacementOf: row.possibleReplacementOf)
            desk.publish(
                .statusChanged, kind: .resync, time: decidedAt, content: .connection(change),
                evidence: desk.evidence(
                    rule: "status_changed: the pipeline's detection changed", before: before,
                    after: row.shown, lastSealed: head.lastSealed),
                head: &head)
            row.settle(at: decidedAt)
            row.recordedAt = head.sequence
            if row.shown.health == .healthy {
                row.possibleReplacementOf = []
                row.attempt = nil
            }
            rows[id] = row
            desk.record(row, id: id, epoch: head.epoch)
        }
        return desk.decision
    }

    /// The account is gone from the register: told, and a tombstone for each row.
    ///
    /// The belief is over; the journal drops it with the same commit.
    public mutating func remove(decidedAt: Timestamp) -> Decision {
        var desk = EventDesk(account: account, decidedAt: decidedAt, walk: nil)
        desk.publish(
            .accountRemoved, kind: .change, time: decidedAt, content: .account(.removed),
            evidence: ["rule": "removed: gone from the register"], head: &head)
        for id in rows.keys.sorted() {
            rows[id] = nil
            desk.record(nil, id: id, epoch: head.epoch, withEvent: false)
        }
        return desk.decision
    }
}
