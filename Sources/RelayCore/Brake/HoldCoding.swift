internal import ConnectionEvents
internal import Crypto
internal import JSON

// Holds are stored with the belief: the hold in its head, what is held with each row.

extension HoldID {
    /// The id of the hold that a walk opens for an account.
    static func of(account: AccountID, epoch: Int64, walk: WalkID) -> HoldID {
        let text = "\(account.text)\n\(epoch)\nhold\n\(walk)"
        return HoldID("h_" + Hex.encode(SHA256.hash(text).prefix(16)))
    }
}

extension Hold {
    var json: JSONValue {
        var object: JSONObject = [
            "id": .string(id.text),
            "reason": .string(reason.rawValue),
            "since": .string(since.description),
            "removals": .number(JSONNumber(Int64(removals))),
            "failures": .number(JSONNumber(Int64(failures))),
            "recovered": .number(JSONNumber(Int64(recovered))),
            "published": .number(JSONNumber(Int64(published))),
        ]
        if let lastSealed { object["lastSealed"] = .string(lastSealed.description) }
        if let list {
            object["list"] = [
                "walk": .string(list.walk.description),
                "sealed": .string(list.sealedAt.description),
                "rows": .array(list.rows.map(\.connection.json)),
            ]
        }
        return .object(object)
    }

    init?(json: JSONValue) {
        guard let object = json.objectValue, let id = object["id"]?.stringValue,
            let reason = object["reason"]?.stringValue.flatMap({ HoldReason(rawValue: $0) }),
            let since = object.timestamp("since")
        else { return nil }
        self.init(id: HoldID(id), reason: reason, since: since)
        removals = object.count("removals")
        failures = object.count("failures")
        recovered = object.count("recovered")
        published = object.count("published")
        lastSealed = object["lastSealed"]?.stringValue.flatMap { WalkID($0) }
        if let list = object["list"]?.objectValue,
            let walk = list["walk"]?.stringValue.flatMap({ WalkID($0) }),
            let sealedAt = list.timestamp("sealed"), let rows = list["rows"]?.arrayValue
        {
            self.list = HeldList(
                walk: walk, sealedAt: sealedAt,
                rows: rows.compactMap { Connection(json: $0).map { ListedRow($0) } })
        }
    }
}

extension HeldChange {
    var json: JSONValue {
        var object: JSONObject = [
            "kind": .string(kind.rawValue),
            "firstSight": .string(firstSight.description),
            "seenAt": .string(seenAt.description),
            "walk": .string(walk.description),
        ]
        if let lastShown { object["lastShown"] = .string(lastShown.description) }
        if let seen { object["seen"] = seen.json }
        return .object(object)
    }

    init?(json: JSONValue) {
        guard let object = json.objectValue,
            let kind = object["kind"]?.stringValue.flatMap({ Kind(rawValue: $0) }),
            let firstSight = object.timestamp("firstSight"),
            let seenAt = object.timestamp("seenAt"),
            let walk = object["walk"]?.stringValue.flatMap({ WalkID($0) })
        else { return nil }
        self.init(
            kind: kind, firstSight: firstSight, lastShown: object.timestamp("lastShown"),
            seen: object["seen"].flatMap { Connection(json: $0) }, seenAt: seenAt, walk: walk)
    }
}

extension JSONObject {
    func timestamp(_ key: String) -> Timestamp? {
        self[key]?.stringValue.flatMap { Timestamp($0) }
    }

    fileprivate func count(_ key: String) -> Int {
        self[key]?.integerValue.map { Int($0) } ?? 0
    }
}
