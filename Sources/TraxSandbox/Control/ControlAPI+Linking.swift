internal import HTTPServer
internal import JSON

/// Links, without a browser.
extension ControlAPI {
    /// `/sandbox/linking`: how long an attempt lasts, and whether rows show its state.
    func linking() throws(SandboxError) -> HTTPServerReply {
        if request.method == "PUT" {
            let body = try ControlBody(request.body)
            try body.allow("attemptSeconds", "rowState")
            let seconds = try body.optionalInteger("attemptSeconds")
            let rowState = try body.optionalBool("rowState")
            guard seconds.map({ (0...86_400).contains($0) }) ?? true else {
                throw SandboxError(.invalid, "\"attemptSeconds\" must be 0 to 86,400.")
            }
            state.read { state in
                if let seconds { state.links.lifetime = .seconds(seconds) }
                if let rowState { state.links.showsState = rowState }
            }
        } else if request.method != "GET" {
            return .methodNotAllowed("GET", "PUT")
        }
        return Self.json(
            state.read { state in
                [
                    "attemptSeconds": JSONValue(Int(state.links.lifetime / .seconds(1))),
                    "rowState": .bool(state.links.showsState),
                ]
            })
    }

    /// `/sandbox/links`: the attempts, and a person's decision in one call.
    func links(_ path: [String]) throws(SandboxError) -> HTTPServerReply {
        switch (request.method, path.count) {
        case ("GET", 0): return listLinks()
        case ("POST", 1): return try decide(path[0])
        case (_, 0): return .methodNotAllowed("GET")
        case (_, 1): return .methodNotAllowed("POST")
        default: throw SandboxError(.notFound, "There is no such page; GET /sandbox lists them.")
        }
    }

    private func listLinks() -> HTTPServerReply {
        let now = state.now
        let rows = state.read { state in
            state.links.order.suffix(1000).compactMap { name -> JSONValue? in
                guard let attempt = state.links.attempts[name] else { return nil }
                return [
                    "state": .string(name), "account": .string(attempt.account),
                    "platform": .string(attempt.platform.id),
                    "scopes": .array(attempt.scopes.map(JSONValue.string)),
                    "reconnectConnectionId": JSONValue(attempt.reconnect),
                    "open": .bool(!attempt.isUsed && attempt.expires > now),
                ]
            }
        }
        return Self.json(["data": .array(rows)])
    }

    /// What a person would do with a browser, consent screen and callback in one.
    private func decide(_ name: String) throws(SandboxError) -> HTTPServerReply {
        let body = try ControlBody(request.body)
        try body.allow("decision", "scopes", "person")
        let decision = try body.optionalString("decision") ?? "allow"
        guard ["allow", "deny"].contains(decision) else {
            throw SandboxError(.invalid, "\"decision\" is allow or deny.")
        }
        let scopes = try body.optionalStrings("scopes")
        let person = try body.optionalString("person") ?? "streamer"
        let code = Token.make()
        let now = state.now
        let outcome = try state.change { (state) throws(SandboxError) in
            guard let attempt = state.links.attempts[name] else {
                throw SandboxError(.notFound, "There is no link attempt of that state.")
            }
            let platform = attempt.platform
            state.links.add(
                PlatformCode(
                    platform: platform.id, redirectURI: state.callback(of: platform.id),
                    challenge: attempt.verifier.map { Token.challenge(of: $0) }, state: name,
                    granted: attempt.scopes.filter {
                        platform.scopes.contains($0) && scopes?.contains($0) ?? true
                    }, person: person, expires: now + Links.codeLifetime), code, at: now)
            return state.endLink(
                platform.id, state: name, code: decision == "allow" ? code : nil,
                error: decision == "allow" ? nil : "access_denied", at: now)
        }
        switch outcome.result {
        case .connected(let id): return Self.json(["connected": .string(id)])
        case .failed(let error): return Self.json(["error": .string(error)])
        }
    }
}
