public import JSON

extension ConnectionEvent {
    /// The structured CloudEvent (JSON event format, RFC 8259), attributes first, `data` last.
    public var json: JSONValue {
        var object = JSONObject()
        object["specversion"] = "1.0"
        object["id"] = .string(id.text)
        object["source"] = .string("/accounts/\(account.text)")
        object["type"] = .string(type.cloudEventsType)
        if let subject { object["subject"] = .string(subject.text) }
        object["time"] = .string(time.description)
        object["datacontenttype"] = "application/json"
        object["dataschema"] = .string(Self.dataSchema)
        object["partitionkey"] = .string(account.text)
        object["sequence"] = .string(sequenceAttribute)
        object["data"] = .object(data)
        return .object(object)
    }

    /// The event's bytes on every sink.
    public func serialized() -> [UInt8] { json.serialized() }

    private var data: JSONObject {
        var data = JSONObject()
        data["account"] = .string(account.text)
        data["kind"] = .string(kind.rawValue)
        data["lane"] = .string(lane.rawValue)
        data["epoch"] = .number(JSONNumber(epoch))
        data["sequence"] = .number(JSONNumber(sequence))
        switch content {
        case .connection(let change): change.write(into: &data, decidedAt: decidedAt)
        case .account(let change):
            data["decidedAt"] = .string(decidedAt.description)
            change.write(into: &data)
        }
        return data
    }
}

extension ConnectionChange {
    fileprivate func write(into data: inout JSONObject, decidedAt: Timestamp) {
        data["connection"] = connection.json
        data["previous"] = previous?.json ?? .null
        data["changed"] = .array(changed.map { .string($0) })
        if let scopes {
            data["scopes"] = [
                "added": .array(scopes.added.map { .string($0) }),
                "removed": .array(scopes.removed.map { .string($0) }),
            ]
        }
        if let window = changedBetween {
            data["changedBetween"] = [
                "after": window.after.map { .string($0.description) } ?? .null,
                "before": .string(window.before.description),
            ]
        }
        data["decidedAt"] = .string(decidedAt.description)
        if let walk { data["walk"] = .string(walk) }
        data["statusRecognised"] = .bool(statusRecognised)
        data["userActionable"] = .bool(userActionable)
        if let failedFor { data["failedFor"] = .string(failedFor.iso8601) }
        if !possibleReplacementOf.isEmpty {
            data["possibleReplacementOf"] = .array(
                possibleReplacementOf.map { .string($0.text) })
        }
        if let attempt { data["attempt"] = .string(attempt.text) }
    }
}

extension AccountChange {
    fileprivate func write(into data: inout JSONObject) {
        switch self {
        case .blind(let status, let code, let requiredScope, let since):
            data["status"] = .number(JSONNumber(Int64(status)))
            data["code"] = .string(code)
            if let requiredScope { data["requiredScope"] = .string(requiredScope) }
            data["since"] = .string(since.description)
        case .restored(let blindFor):
            data["blindFor"] = .string(blindFor.iso8601)
        case .removed:
            break
        case .resynced(let reason):
            data["reason"] = .string(reason)
        case .held(let hold, let reason, let removals, let failures, let connections):
            data["hold"] = .string(hold)
            data["reason"] = .string(reason)
            data["removals"] = .number(JSONNumber(Int64(removals)))
            data["failures"] = .number(JSONNumber(Int64(failures)))
            data["connections"] = .array(connections.map { .string($0.text) })
        case .released(let hold, let recovered, let published, let discarded):
            data["hold"] = .string(hold)
            data["recovered"] = .number(JSONNumber(Int64(recovered)))
            data["published"] = .number(JSONNumber(Int64(published)))
            data["discarded"] = .number(JSONNumber(Int64(discarded)))
        case .unknown(let fields):
            for (key, value) in fields where data[key] == nil { data[key] = value }
        }
    }
}
