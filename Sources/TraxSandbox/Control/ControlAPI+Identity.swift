internal import Crypto
internal import HTTPServer
internal import JSON

/// The identity provider, without a browser.
extension ControlAPI {
    /// `/sandbox/identity`: how long access tokens last; and a new signing key.
    func identity(_ path: [String]) throws(SandboxError) -> HTTPServerReply {
        if path == ["renew"] {
            guard request.method == "POST" else { return .methodNotAllowed("POST") }
            state.signer.renew()
            return Self.done
        }
        guard path.isEmpty else {
            throw SandboxError(.notFound, "There is no such page; GET /sandbox lists them.")
        }
        if request.method == "PUT" {
            let body = try ControlBody(request.body)
            try body.allow(
                "accessSeconds", "reuseLeeway", "tokenStatus", "tokenDelay", "endDelay",
                "takesRepeats", "accessOutlives")
            let lifetime = try Self.seconds("accessSeconds", body)
            let leeway = try Self.seconds("reuseLeeway", body)
            let (status, delay, endDelay) = try Self.trouble(body)
            let repeats = try body.optionalBool("takesRepeats")
            let outlives = try body.optionalBool("accessOutlives")
            guard
                lifetime != nil || leeway != nil || status != nil || delay != nil
                    || endDelay != nil || repeats != nil || outlives != nil
            else {
                throw SandboxError(
                    .invalid,
                    "\"accessSeconds\", \"reuseLeeway\", \"tokenStatus\", \"tokenDelay\","
                        + " \"endDelay\", \"takesRepeats\" or \"accessOutlives\" is needed.")
            }
            state.read { state in
                if let lifetime { state.identity.accessLifetime = lifetime }
                if let leeway { state.identity.reuseLeeway = leeway }
                if let repeats { state.identity.takesRepeats = repeats }
                if let outlives { state.identity.accessOutlives = outlives }
                if let status { state.identity.tokenStatus = status }
                if let delay { state.identity.tokenDelay = delay }
                if let endDelay { state.identity.endDelay = endDelay }
            }
        } else if request.method != "GET" {
            return .methodNotAllowed("GET", "PUT")
        }
        return Self.json(
            state.read { state in
                [
                    "accessSeconds": JSONValue(Int(state.identity.accessLifetime / .seconds(1))),
                    "reuseLeeway": JSONValue(Int(state.identity.reuseLeeway / .seconds(1))),
                    "takesRepeats": .bool(state.identity.takesRepeats),
                    "accessOutlives": .bool(state.identity.accessOutlives),
                    "tokenStatus": JSONValue(state.identity.tokenStatus),
                    "tokenRequests": JSONValue(state.identity.tokenRequests),
                    "sessions": JSONValue(state.identity.families.count),
                    "clients": .object(
                        JSONObject(
                            state.identity.clients.sorted { $0.key < $1.key }.map {
                                (key: $0.key, value: .array($0.value.map(JSONValue.string)))
                            })),
                ]
            })
    }

    /// `/sandbox/clients/ID`: the return addresses of a client.
    func client(_ id: String) throws(SandboxError) -> HTTPServerReply {
        guard request.method == "PUT" else { return .methodNotAllowed("PUT") }
        let body = try ControlBody(request.body)
        try body.allow("redirectURIs")
        guard let addresses = try body.optionalStrings("redirectURIs"),
            addresses.allSatisfy(Self.isAddress)
        else { throw SandboxError(.invalid, "\"redirectURIs\" must be an array of addresses.") }
        try state.change { (state) throws(SandboxError) in
            guard state.identity.clients.count < 1000 || state.identity.clients[id] != nil else {
                throw SandboxError(.full, "The sandbox holds at most 1,000 clients.")
            }
            state.identity.clients[id] = addresses
        }
        return Self.done
    }

    /// `/sandbox/accounts/ID/tokens`: signs a person in as if they had been there, or out.
    func tokens(_ account: String) throws(SandboxError) -> HTTPServerReply {
        switch request.method {
        case "POST":
            let body = try ControlBody(request.body)
            try body.allow("client")
            let client = try body.optionalString("client") ?? "trax-relay"
            let fresh = Token.make()
            let secret = Token.make()
            let now = state.now
            let (family, refresh) = try state.change { (state) throws(SandboxError) in
                _ = try state.existing(account)
                guard state.identity.families.count < Identity.maximum else {
                    throw SandboxError(.full, "The sandbox holds at most 100,000 sessions.")
                }
                let family = Identity.Family(
                    account: account, client: client, scopes: IdentitySite.scopes, nonce: nil,
                    session: Token.make(), current: [])
                state.identity.families[fresh] = family
                return (family, state.identity.rotate(fresh, secret: secret, at: now))
            }
            do throws(CryptoError) {
                return Self.json(try state.tokens(family, refresh: refresh), status: 201)
            } catch {
                throw SandboxError(.full, error.reason)
            }
        case "DELETE":
            try state.change { (state) throws(SandboxError) in
                _ = try state.existing(account)
                state.identity.families.end { $0.account == account }
            }
            return Self.done
        default: return .methodNotAllowed("POST", "DELETE")
        }
    }

    /// What is to be wrong with the token endpoint, and how late those that end sessions answer.
    private static func trouble(
        _ body: ControlBody
    ) throws(SandboxError) -> (status: Int?, delay: Duration?, endDelay: Duration?) {
        let status = try body.optionalInteger("tokenStatus")
        guard status.map({ [0, 429].contains($0) || (500...599).contains($0) }) ?? true else {
            throw SandboxError(.invalid, "\"tokenStatus\" must be 0, 429 or 500 to 599.")
        }
        return (status, try delay("tokenDelay", body), try delay("endDelay", body))
    }

    private static func delay(
        _ name: String, _ body: ControlBody
    ) throws(SandboxError) -> Duration? {
        guard let delay = try body.optionalInteger(name) else { return nil }
        guard (0...60_000).contains(delay) else {
            throw SandboxError(.invalid, "\"\(name)\" must be 0 to 60,000 milliseconds.")
        }
        return .milliseconds(delay)
    }

    private static func seconds(
        _ name: String, _ body: ControlBody
    ) throws(SandboxError) -> Duration? {
        guard let seconds = try body.optionalInteger(name) else { return nil }
        guard (0...1_000_000).contains(seconds) else {
            throw SandboxError(.invalid, "\"\(name)\" must be 0 to 1,000,000.")
        }
        return .seconds(seconds)
    }

    private static func isAddress(_ text: String) -> Bool {
        text.contains(":") && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
