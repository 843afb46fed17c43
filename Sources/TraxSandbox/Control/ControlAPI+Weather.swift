internal import HTTPServer
internal import JSON

/// What concerns the whole sandbox: faults, rate, counters, a new beginning.
extension ControlAPI {
    func faults(_ path: [String]) throws(SandboxError) -> HTTPServerReply {
        switch (request.method, path.count) {
        case ("GET", 0):
            let all = state.read { $0.faults.map { $0.fault.json(id: $0.id) } }
            return Self.json(["data": .array(all)])
        case ("POST", 0):
            let body = try ControlBody(request.body)
            try body.allow(
                "kind", "account", "count", "laterPages", "status", "code", "retryAfter",
                "milliseconds")
            let fault = try SandboxFault(body)
            return Self.json(fault.json(id: try state.inject(fault)), status: 201)
        case ("DELETE", 0):
            let account = request.parameter("account")
            state.read { $0.clearFaults(of: account) }
            return Self.done
        case ("DELETE", 1):
            guard let id = Int(path[0]) else {
                throw SandboxError(.notFound, "A fault is named by its number.")
            }
            try state.change { (state) throws(SandboxError) in try state.clearFault(id) }
            return Self.done
        case (_, 0): return .methodNotAllowed("GET", "POST", "DELETE")
        default: return .methodNotAllowed("DELETE")
        }
    }

    func rate() throws(SandboxError) -> HTTPServerReply {
        if request.method == "PUT" {
            let body = try ControlBody(request.body)
            try body.allow("perSecond", "burst")
            let old = state.read { $0.rate }
            let perSecond = try body.optionalNumber("perSecond") ?? old.perSecond
            let burst = try body.optionalNumber("burst") ?? max(1, perSecond)
            guard perSecond > 0, burst >= 1 else {
                throw SandboxError(
                    .invalid, "\"perSecond\" must be above 0 and \"burst\" at least 1.")
            }
            state.read { $0.rate = SandboxRate(perSecond: perSecond, burst: burst) }
        } else if request.method != "GET" {
            return .methodNotAllowed("GET", "PUT")
        }
        let rate = state.read { $0.rate }
        return Self.json([
            "perSecond": JSONNumber(rate.perSecond).map(JSONValue.number) ?? .null,
            "burst": JSONNumber(rate.burst).map(JSONValue.number) ?? .null,
        ])
    }

    /// The switch that refuses all writing under `/v1`.
    func writes() throws(SandboxError) -> HTTPServerReply {
        if request.method == "PUT" {
            let body = try ControlBody(request.body)
            try body.allow("enabled")
            guard let enabled = try body.optionalBool("enabled") else {
                throw SandboxError(.invalid, "\"enabled\" is missing.")
            }
            state.read { $0.writesEnabled = enabled }
        } else if request.method != "GET" {
            return .methodNotAllowed("GET", "PUT")
        }
        return Self.json(["enabled": .bool(state.read { $0.writesEnabled })])
    }

    func stats() -> HTTPServerReply {
        guard request.method == "GET" else { return .methodNotAllowed("GET") }
        let (accounts, connections, answers) = state.read { state in
            (
                state.accounts.count,
                state.accounts.values.reduce(0) { $0 + $1.connections.count }, state.answers
            )
        }
        let byStatus = answers.sorted { $0.key < $1.key }.map {
            (String($0.key), JSONValue($0.value))
        }
        return Self.json([
            "accounts": JSONValue(accounts), "connections": JSONValue(connections),
            "answers": .object(JSONObject(byStatus.map { (key: $0.0, value: $0.1) })),
        ])
    }

    func reset() throws(SandboxError) -> HTTPServerReply {
        guard request.method == "POST" else { return .methodNotAllowed("POST") }
        let body = try ControlBody(request.body)
        try body.allow("seed")
        let seed = try body.optionalInteger("seed") ?? 1
        state.read { state in
            let deployment = state.deployment
            state = SandboxState(seed: UInt64(bitPattern: Int64(seed)), rate: state.rate)
            state.deployment = deployment
        }
        return Self.done
    }
}

/// How the control API shows the world.
extension SandboxState {
    /// An account without its rows.
    func summary(of id: String) -> JSONValue {
        [
            "account": .string(id), "connections": JSONValue(accounts[id]?.connections.count ?? 0),
            "keys": .array(
                (accounts[id]?.keys ?? []).map { key in
                    [
                        "apiKey": .string(key),
                        "scopes": .array((keys[key]?.scopes ?? []).map(JSONValue.string)),
                        "revoked": .bool(keys[key]?.isRevoked ?? true),
                    ]
                }),
        ]
    }

    /// An account with its rows.
    func json(of id: String) throws(SandboxError) -> JSONValue {
        let account = try existing(id)
        var object = summary(of: id).objectValue ?? [:]
        object["connections"] = .array(account.connections.map(Self.row))
        object["destinations"] = .array(
            account.connections.map { row in
                let isActive = row.fields["status"]?.stringValue == "active"
                return [
                    "connection": .string(row.id), "orphaned": .bool(row.isOrphaned),
                    "goesLive": .bool(isActive && !row.isOrphaned),
                ]
            })
        object["studios"] = .array(
            account.studios.map { ["id": .string($0.id), "name": .string($0.name)] })
        return .object(object)
    }

    /// A row.
    func json(of id: String, account: String) throws(SandboxError) -> JSONValue {
        guard let found = try existing(account).connections.first(where: { $0.id == id }) else {
            throw SandboxError(.notFound, "Account \(account) has no connection \(id).")
        }
        return Self.row(found)
    }

    /// Names that no account has: the prefix and the lowest numbers that are free from 1 on.
    func freeNames(_ prefix: String, _ count: Int) -> [String] {
        var names: [String] = []
        var number = 0
        while names.count < count {
            number += 1
            let name = prefix + String(number)
            if accounts[name] == nil { names.append(name) }
        }
        return names
    }
}
