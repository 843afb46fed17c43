import Crypto
import JSON

/// A person who signs in with a browser for a public client, as the guides' app does.
struct SignIn {
    static let verifier = String(repeating: "v", count: 43)
    static let challenge = Base64.encode(SHA256.hash(verifier))

    let client: SandboxClient
    var id = "trax-relay"
    var redirect = "http://127.0.0.1:50123/callback"
    var scope = "openid profile email offline_access"

    /// The address to open, with parameters changed, added, or taken away by nil.
    func url(_ change: [String: String?] = [:]) -> String {
        var parameters: [String: String?] = [
            "response_type": "code", "client_id": id, "redirect_uri": redirect, "scope": scope,
            "code_challenge": Self.challenge, "code_challenge_method": "S256", "state": "s t&te",
            "nonce": "n0nce",
        ]
        for (name, value) in change { parameters[name] = value }
        let query = parameters.compactMap { name, value in
            value.map { "\(name)=\(BrowserSession.encode($0))" }
        }
        return "/oauth/v2/authorize?" + query.sorted().joined(separator: "&")
    }

    /// Signs in; where the browser is sent.
    func location(_ browser: BrowserSession, account: String = "a") throws -> String {
        let first = try browser.get(url())
        let place = try BrowserSession.location(first)
        guard place.hasPrefix("/ui/login") else { return place }
        let ticket = try BrowserSession.ticket(try browser.get(place))
        let answer = try browser.post(
            "/ui/login", [("ticket", ticket), ("account", account), ("decision", "allow")])
        return try BrowserSession.location(answer)
    }

    func code(_ browser: BrowserSession? = nil) throws -> String {
        let place = try location(browser ?? BrowserSession(client))
        guard let code = BrowserSession.parameter("code", of: place) else {
            throw BrowserSession.Missing(what: "a code in \(place)")
        }
        return code
    }

    /// Asks the token endpoint.
    func token(
        _ fields: [(String, String)], headers: [(name: String, value: String)] = []
    ) throws -> Answer {
        try BrowserSession(client).post("/oauth/v2/token", fields, headers: headers)
    }

    /// Redeems a code, with fields changed, or taken away by nil.
    func redeem(_ code: String, _ change: [String: String?] = [:]) throws -> Answer {
        var fields: [String: String?] = [
            "grant_type": "authorization_code", "client_id": id, "code": code,
            "redirect_uri": redirect, "code_verifier": Self.verifier,
        ]
        for (name, value) in change { fields[name] = value }
        return try token(fields.compactMap { name, value in value.map { (name, $0) } })
    }

    /// - Parameter exchange: the `Idempotency-Key`.
    func refresh(
        _ token: String, client id: String? = nil, exchange: String? = nil, scope: String? = nil
    ) throws -> Answer {
        try self.token(
            [
                ("grant_type", "refresh_token"), ("client_id", id ?? self.id),
                ("refresh_token", token),
            ] + (scope.map { [("scope", $0)] } ?? []),
            headers: exchange.map { [("Idempotency-Key", $0)] } ?? [])
    }

    /// The claims of a token, unchecked.
    static func claims(_ token: String) throws -> JSONValue {
        let parts = token.split(separator: ".")
        guard parts.count == 3, let bytes = Base64.decode(String(parts[1])) else {
            throw BrowserSession.Missing(what: "a token in \(token)")
        }
        return try JSONValue(parsing: bytes)
    }
}

extension Answered {
    /// A string in the body's object.
    func member(_ name: String) throws -> String {
        guard let value = try json[name]?.stringValue else {
            throw BrowserSession.Missing(what: "\(name) in \(status) \(text)")
        }
        return value
    }
}
