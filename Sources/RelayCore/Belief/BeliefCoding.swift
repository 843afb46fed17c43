public import ConnectionEvents
internal import Crypto
public import JSON

// Beliefs are stored as JSON: small, readable in a support case, and open to new fields. A field
// that is missing reads as its default, so an older belief stays readable.

extension BeliefHead {
    /// The head as it is stored.
    public var json: JSONValue {
        var object: JSONObject = [
            "epoch": .number(JSONNumber(epoch)),
            "sequence": .number(JSONNumber(sequence)),
            "incarnation": .number(JSONNumber(incarnation)),
            "baselined": .bool(isBaselined),
            "rules": .string(String(rulesDigest, radix: 16)),
        ]
        if !credentialTag.isEmpty {
            object["credential"] = .string(Hex.encode(credentialTag))
        }
        if let lastSealed { object["lastSealed"] = .string(lastSealed.description) }
        if let refusal { object["refusal"] = refusal.json }
        if let blindSince { object["blindSince"] = .string(blindSince.description) }
        if missingRows > 0 { object["missing"] = .number(JSONNumber(Int64(missingRows))) }
        if !missingSince.isEmpty {
            object["missingSince"] = .array(missingSince.map { .string($0.description) })
        }
        object["rows"] = .number(JSONNumber(Int64(rowCount)))
        if let hold { object["hold"] = hold.json }
        if isCredentialNew { object["newCredential"] = .bool(true) }
        if !departed.isEmpty { object["departed"] = .array(departed.map(\.json)) }
        return .object(object)
    }

    /// Reads what `json` wrote; nil where it is no head.
    public init?(json: JSONValue) {
        guard let object = json.objectValue, let epoch = object["epoch"]?.integerValue,
            let sequence = object["sequence"]?.integerValue,
            let rules = object["rules"]?.stringValue.flatMap({ UInt64($0, radix: 16) })
        else { return nil }
        self.init(
            epoch: epoch, incarnation: object["incarnation"]?.integerValue ?? 0,
            rulesDigest: rules)
        self.sequence = sequence
        isBaselined = object["baselined"]?.boolValue ?? false
        credentialTag = object["credential"]?.stringValue.flatMap { Hex.decode($0) } ?? []
        lastSealed = object["lastSealed"]?.stringValue.flatMap { WalkID($0) }
        refusal = object["refusal"].flatMap { Refusal(json: $0) }
        blindSince = object.timestamp("blindSince")
        missingRows = object["missing"]?.integerValue.map { Int($0) } ?? 0
        missingSince =
            object["missingSince"]?.arrayValue?
            .compactMap { $0.stringValue.flatMap { Timestamp($0) } } ?? []
        // A head from before rows were counted: better asked in vain than not at all.
        rowCount = object["rows"]?.integerValue.map { Int($0) } ?? 1
        hold = object["hold"].flatMap { Hold(json: $0) }
        isCredentialNew = object["newCredential"]?.boolValue ?? false
        departed = object["departed"]?.arrayValue?.compactMap { Departed(json: $0) } ?? []
    }
}

extension BelievedRow {
    /// The row as it is stored.
    public var json: JSONValue {
        var object: JSONObject = [
            "shown": shown.json,
            "observedAt": .string(observedAt.description),
            "recordedAt": .number(JSONNumber(recordedAt)),
        ]
        if let standing { object["standing"] = .string(standing.rawValue) }
        if let failingSince { object["failingSince"] = .string(failingSince.description) }
        if let since { object["since"] = .string(since.description) }
        if let missing { object["missing"] = missing.json }
        if let held { object["held"] = held.json }
        if let scopesShown { object["scopesShown"] = .string(scopesShown.description) }
        if !possibleReplacementOf.isEmpty {
            object["replaces"] = .array(possibleReplacementOf.map { .string($0.text) })
        }
        if let attempt { object["attempt"] = .string(attempt.text) }
        return .object(object)
    }

    /// Reads what `json` wrote; nil where it is no row.
    public init?(json: JSONValue) {
        guard let object = json.objectValue,
            let shown = object["shown"].flatMap({ Connection(json: $0) }),
            let observedAt = object.timestamp("observedAt")
        else { return nil }
        self.init(
            shown: shown, observedAt: observedAt,
            recordedAt: object["recordedAt"]?.integerValue ?? 0)
        standing = object["standing"]?.stringValue.flatMap { Standing(rawValue: $0) }
        failingSince = object.timestamp("failingSince")
        since = object.timestamp("since")
        missing = object["missing"].flatMap { Missing(json: $0) }
        held = object["held"].flatMap { HeldChange(json: $0) }
        scopesShown = object.timestamp("scopesShown")
        possibleReplacementOf =
            object["replaces"]?.arrayValue?
            .compactMap { $0.stringValue.flatMap { ConnectionID($0) } } ?? []
        attempt = object["attempt"]?.stringValue.flatMap { AttemptHash($0) }
    }

    /// What state topics hold of the row.
    public func stateRecord(of account: AccountID, epoch: Int64) -> StateRecord {
        StateRecord(
            account: account, epoch: epoch, sequence: recordedAt, connection: shown,
            standing: standing, observedAt: observedAt, since: since)
    }
}

extension Refusal {
    fileprivate var json: JSONValue {
        var object: JSONObject = [
            "count": .number(JSONNumber(Int64(count))),
            "since": .string(since.description),
            "status": .number(JSONNumber(Int64(status))),
            "code": .string(code),
        ]
        if let requiredScope { object["requiredScope"] = .string(requiredScope) }
        if !requests.isEmpty { object["requests"] = .array(requests.map { .string($0) }) }
        return .object(object)
    }

    fileprivate init?(json: JSONValue) {
        guard let object = json.objectValue, let count = object["count"]?.integerValue,
            let since = object.timestamp("since"), let status = object["status"]?.integerValue,
            let code = object["code"]?.stringValue
        else { return nil }
        self.init(
            count: Int(count), since: since, status: Int(status), code: code,
            requiredScope: object["requiredScope"]?.stringValue,
            requests: object["requests"]?.arrayValue?.compactMap(\.stringValue) ?? [])
    }
}

extension Departed {
    fileprivate var json: JSONValue {
        [
            "id": .string(id.text),
            "platform": platform.map { .string($0) } ?? .null,
            "at": .string(at.description),
        ]
    }

    fileprivate init?(json: JSONValue) {
        guard let object = json.objectValue,
            let id = object["id"]?.stringValue.flatMap({ ConnectionID($0) }),
            let at = object.timestamp("at")
        else { return nil }
        self.init(id: id, platform: object["platform"]?.stringValue, at: at)
    }
}

extension Missing {
    fileprivate var json: JSONValue {
        var object: JSONObject = [
            "walk": .string(walk.description),
            "firstSeal": .string(firstSeal.description),
            "count": .number(JSONNumber(Int64(count))),
        ]
        if let lastShown { object["lastShown"] = .string(lastShown.description) }
        return .object(object)
    }

    fileprivate init?(json: JSONValue) {
        guard let object = json.objectValue,
            let walk = object["walk"]?.stringValue.flatMap({ WalkID($0) }),
            let firstSeal = object.timestamp("firstSeal"),
            let count = object["count"]?.integerValue
        else { return nil }
        self.init(
            walk: walk, firstSeal: firstSeal, count: Int(count),
            lastShown: object.timestamp("lastShown"))
    }
}
