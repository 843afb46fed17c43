internal import ConnectionEvents
internal import Crypto
internal import JSON

/// Numbers, names and writes down the events of one happening to one account.
struct EventDesk {
    let account: AccountID
    let decidedAt: Timestamp
    /// The walk that decides; nil without a walk.
    let walk: SealedWalk?
    /// The hold whose end decides; nil where a walk does, or neither.
    var hold: HoldID?
    /// The hold that was open when this came, for evidence.
    var openHold: HoldID?
    /// Which open attempts to link the walk's rows come from.
    var links: [ConnectionID: LinkMatch] = [:]
    var decision = Decision()

    /// Writes one event, which takes the account's next number.
    mutating func publish(
        _ type: EventType, kind: EventKind, time: Timestamp, content: ConnectionEvent.Content,
        evidence: JSONValue, head: inout BeliefHead
    ) {
        head.sequence += 1
        decision.headChanged = true
        let event = ConnectionEvent(
            id: Self.id(
                account: account, epoch: head.epoch, lane: .raw, sequence: head.sequence,
                cause: walk?.id.description ?? hold?.text ?? ""),
            account: account, type: type, kind: kind, lane: .raw, epoch: head.epoch,
            sequence: head.sequence, time: time, decidedAt: decidedAt, content: content)
        decision.entries.append(
            NewEntry(
                account: account, event: event, state: nil, evidence: evidence.serialized()))
    }

    /// Adds the state record of a row to the entry just written, or as an entry of its own.
    mutating func record(
        _ row: BelievedRow?, id: ConnectionID, epoch: Int64, withEvent: Bool = true
    ) {
        let state = StateWrite(
            key: StateRecord.key(account, id),
            value: row?.stateRecord(of: account, epoch: epoch).json.serialized())
        decision.changedRows.insert(id)
        if withEvent, !decision.entries.isEmpty {
            decision.entries[decision.entries.count - 1].state = state
        } else {
            decision.entries.append(NewEntry(account: account, event: nil, state: state))
        }
    }

    /// 128 bits of SHA-256 over what makes an event that event, as 32 hexadecimal digits.
    static func id(
        account: AccountID, epoch: Int64, lane: EventLane, sequence: Int64, cause: String
    ) -> EventID {
        let text = "\(account.text)\n\(epoch)\n\(lane.rawValue)\n\(sequence)\n\(cause)"
        return EventID(Hex.encode(SHA256.hash(text).prefix(16)))
    }

    /// What `explain` shows of a judgement about a row.
    ///
    /// - Parameter leavesHold: whether the row was held until now.
    func evidence(
        rule: String, before: BelievedRow?, after: Connection?, lastSealed: WalkID?,
        leavesHold: Bool = false
    ) -> JSONValue {
        var object: JSONObject = ["rule": .string(rule)]
        object["before"] = before?.json ?? .null
        object["after"] = after?.json ?? .null
        object["lastSealed"] = lastSealed.map { .string($0.description) } ?? .null
        if leavesHold, let left = hold ?? openHold { object["hold"] = .string(left.text) }
        if let id = after?.id, let match = links[id] {
            object["attempt"] = .string(match.watch.attempt.text)
            object["attemptRule"] = .string(match.rule.rawValue)
        }
        if let walk { object["walk"] = walk.evidence }
        return .object(object)
    }
}

extension SealedWalk {
    /// The walk as evidence: id, start, seal, and how its pages came.
    var evidence: JSONValue {
        [
            "id": .string(id.description),
            "start": .string(id.start.description),
            "sealed": .string(sealedAt.description),
            "rows": .number(JSONNumber(Int64(rows.count))),
            "pages": .array(
                pages.map { page in
                    [
                        "status": .number(JSONNumber(Int64(page.status))),
                        "requestId": .string(page.requestID),
                        "bytes": .number(JSONNumber(Int64(page.bytes))),
                    ]
                }),
        ]
    }
}
