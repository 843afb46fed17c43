internal import HTTPServer
internal import JSON

/// One request to the strings that can be pulled, under `/sandbox`; `ControlGuide` describes them.
struct ControlAPI {
    let request: HTTPServerRequest
    let state: SharedState

    /// The reply; errors have the envelope of the API, without request ids.
    func answer() -> HTTPServerReply {
        do throws(SandboxError) {
            return try route()
        } catch {
            let status =
                switch error.kind {
                case .notFound: 404
                case .exists: 409
                default: 400
                }
            let envelope: JSONValue = [
                "error": ["code": .string(error.code), "message": .string(error.reason)]
            ]
            return Self.json(envelope, status: status)
        }
    }

    private func route() throws(SandboxError) -> HTTPServerReply {
        guard let path = request.segments?.dropFirst() else {
            throw SandboxError(.invalid, "The path holds a malformed escape.")
        }
        let rest = Array(path.dropFirst())
        switch path.first {
        case nil: return .text(ControlGuide.text)
        case "accounts": return try accounts(rest)
        case "accounts.csv" where rest.isEmpty: return csv()
        case "keys" where rest.count == 1: return try key(rest[0])
        case "faults": return try faults(rest)
        case "rate" where rest.isEmpty: return try rate()
        case "writes" where rest.isEmpty: return try writes()
        case "linking" where rest.isEmpty: return try linking()
        case "scenario" where rest.isEmpty: return try scenario()
        case "identity": return try identity(rest)
        case "clients" where rest.count == 1: return try client(rest[0])
        case "links": return try links(rest)
        case "stats" where rest.isEmpty: return stats()
        case "reset" where rest.isEmpty: return try reset()
        default: throw SandboxError(.notFound, "There is no such page; GET /sandbox lists them.")
        }
    }

    // MARK: - Accounts and keys

    private func accounts(_ path: [String]) throws(SandboxError) -> HTTPServerReply {
        switch (request.method, path.count) {
        case ("GET", 0): return listAccounts()
        case ("POST", 0): return try createAccounts()
        case ("GET", 1):
            let account = path[0]
            return Self.json(
                try state.change { (state) throws(SandboxError) in try state.json(of: account) })
        case ("DELETE", 1):
            let account = path[0]
            try state.change { (state) throws(SandboxError) in try state.removeAccount(account) }
            return Self.done
        case ("POST", 2) where path[1] == "keys": return try createKey(path[0])
        case (_, 2) where path[1] == "tokens": return try tokens(path[0])
        case ("POST", 2) where path[1] == "studios": return try createStudio(path[0])
        case (_, 2...) where path[1] == "connections":
            return try connections(path[0], Array(path.dropFirst(2)))
        case (_, 0): return .methodNotAllowed("GET", "POST")
        case (_, 1): return .methodNotAllowed("GET", "DELETE")
        default: throw SandboxError(.notFound, "There is no such page; GET /sandbox lists them.")
        }
    }

    private func listAccounts() -> HTTPServerReply {
        let limit = min(10_000, max(1, request.parameter("limit").flatMap { Int($0) } ?? 1000))
        let after = request.parameter("after")
        let page = state.read { state in
            let ids = state.accountIDs
            let start = after.flatMap { ids.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
            let end = min(ids.count, start + limit)
            var members: [(key: String, value: JSONValue)] = [
                ("data", .array(ids[start..<end].map { state.summary(of: $0) }))
            ]
            if end < ids.count { members.append(("nextAfter", .string(ids[end - 1]))) }
            return JSONValue.object(JSONObject(members))
        }
        return Self.json(page)
    }

    private func createAccounts() throws(SandboxError) -> HTTPServerReply {
        let body = try ControlBody(request.body)
        try body.allow("account", "count", "prefix", "connections", "scopes")
        let scopes = try body.optionalStrings("scopes") ?? SandboxState.defaultScopes
        let connections = try body.optionalInteger("connections") ?? 0
        let one = try body.optionalString("account")
        let count = try body.optionalInteger("count") ?? 1
        guard (1...100_000).contains(count), (0...1000).contains(connections) else {
            throw SandboxError(
                .invalid, "\"count\" must be 1 to 100,000, \"connections\" 0 to 1,000.")
        }
        let prefix = try body.optionalString("prefix") ?? "acct_"
        let now = state.now
        let made = try state.change { (state) throws(SandboxError) in
            var made: [JSONValue] = []
            let names = one.map { [$0] } ?? state.freeNames(prefix, count)
            for name in names {
                let key = try state.createAccount(name, scopes: scopes, at: now)
                for number in 0..<connections {
                    _ = try state.addConnection(
                        to: name, platform: Self.platforms[number % Self.platforms.count])
                }
                made.append(["account": .string(name), "apiKey": .string(key)])
            }
            return made
        }
        let several = body.object["count"] != nil && one == nil
        return Self.json(several ? ["data": .array(made)] : made[0], status: 201)
    }

    private static let platforms = ["youtube", "twitch", "kick", "facebook", "linkedin"]

    private func createKey(_ account: String) throws(SandboxError) -> HTTPServerReply {
        let body = try ControlBody(request.body)
        try body.allow("scopes")
        let scopes = try body.optionalStrings("scopes") ?? SandboxState.defaultScopes
        let now = state.now
        let key = try state.change { (state) throws(SandboxError) in
            try state.createKey(for: account, scopes: scopes, at: now)
        }
        return Self.json(["account": .string(account), "apiKey": .string(key)], status: 201)
    }

    private func createStudio(_ account: String) throws(SandboxError) -> HTTPServerReply {
        let body = try ControlBody(request.body)
        try body.allow("name")
        let name = try body.string("name")
        let id = try state.change { (state) throws(SandboxError) in
            try state.addStudio(to: account, name: name)
        }
        return Self.json(["id": .string(id), "name": .string(name)], status: 201)
    }

    private func key(_ key: String) throws(SandboxError) -> HTTPServerReply {
        switch request.method {
        case "DELETE":
            try state.revokeKey(key)
        case "PUT":
            let body = try ControlBody(request.body)
            try body.allow("scopes")
            let scopes = try body.optionalStrings("scopes") ?? SandboxState.defaultScopes
            try state.change { (state) throws(SandboxError) in
                try state.restoreKey(key, scopes: scopes)
            }
        default: return .methodNotAllowed("DELETE", "PUT")
        }
        return Self.done
    }

    private func csv() -> HTTPServerReply {
        let text = state.read { state in
            var text = "account,credential\n"
            for id in state.accountIDs {
                guard let key = state.accounts[id]?.keys.first else { continue }
                text += "\(id),\(key)\n"
            }
            return text
        }
        return .text(text, contentType: "text/csv")
    }

    // MARK: - Connections

    private func connections(
        _ account: String, _ path: [String]
    ) throws(SandboxError) -> HTTPServerReply {
        switch (request.method, path.count) {
        case ("POST", 0): return try addConnection(account)
        case ("PATCH", 1): return try changeConnection(account, path[0])
        case ("DELETE", 1):
            try state.removeConnection(path[0], of: account)
            return Self.done
        case ("POST", 2) where path[1] == "break":
            let body = try ControlBody(request.body)
            try body.allow("status")
            let status = try body.optionalString("status") ?? "expired"
            try state.setStatus(status, of: path[0], account: account)
            return Self.done
        case ("POST", 2) where path[1] == "repair":
            try state.setStatus("active", of: path[0], account: account)
            return Self.done
        case (_, 0): return .methodNotAllowed("POST")
        case (_, 1): return .methodNotAllowed("PATCH", "DELETE")
        default: throw SandboxError(.notFound, "There is no such page; GET /sandbox lists them.")
        }
    }

    private func addConnection(_ account: String) throws(SandboxError) -> HTTPServerReply {
        let body = try ControlBody(request.body)
        let platform = try body.string("platform")
        let id = try body.optionalString("id")
        let row = try state.change { (state) throws(SandboxError) in
            // The body's members are the row's, of whatever type: that is what tests need.
            let id = try state.addConnection(
                to: account, platform: platform, id: id, extra: body.object)
            return try state.json(of: id, account: account)
        }
        return Self.json(row, status: 201)
    }

    private func changeConnection(
        _ account: String, _ id: String
    ) throws(SandboxError) -> HTTPServerReply {
        let body = try ControlBody(request.body)
        let removed = try body.optionalStrings("remove") ?? []
        var members: [(name: String, value: JSONValue?)] = removed.map { ($0, nil) }
        for (name, value) in body.object where name != "remove" { members.append((name, value)) }
        let row = try state.change { (state) throws(SandboxError) in
            try state.changeConnection(id, of: account, to: members)
            return try state.json(of: id, account: account)
        }
        return Self.json(row)
    }

    // MARK: - Replies

    static let done = HTTPServerReply(status: 204)

    static func json(_ value: JSONValue, status: Int = 200) -> HTTPServerReply {
        HTTPServerReply(
            status: status, headers: [("Content-Type", "application/json")],
            body: value.serialized())
    }
}
