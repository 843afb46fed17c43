internal import Crypto
internal import HTTPServer
internal import JSON

/// What the identity provider wants to know: who signs in for a client.
struct SignInQuestion: Sendable {
    let client: String
    let redirectURI: String
    let scopes: [String]
    let state: String?
    let nonce: String?
    let challenge: String
    let hint: String
}

/// The identity provider: discovery, `/oauth/v2`, `/oidc/v1` and the login page.
struct IdentitySite {
    let request: HTTPServerRequest
    let state: SharedState
    let browser: Browser

    init(_ request: HTTPServerRequest, _ state: SharedState) {
        self.request = request
        self.state = state
        browser = Browser(request)
    }

    /// The reply; nil where there is no such address.
    func answer() -> HTTPServerReply? {
        do throws(CryptoError) {
            return try route()
        } catch {
            return Self.json(["error": "server_error"], status: 500)
        }
    }

    private func route() throws(CryptoError) -> HTTPServerReply? {
        let isGet = request.method == "GET"
        switch request.path {
        case "/.well-known/openid-configuration":
            return isGet ? discovery() : .methodNotAllowed("GET", "HEAD")
        case "/oauth/v2/keys":
            return isGet ? Self.json(try state.signer.keys()) : .methodNotAllowed("GET", "HEAD")
        case "/oauth/v2/authorize":
            return isGet && !request.isHead ? authorize() : .methodNotAllowed("GET")
        case "/ui/login":
            if isGet { return loginPage() }
            return request.method == "POST" ? signIn() : .methodNotAllowed("GET", "POST")
        case "/oauth/v2/token":
            guard request.method == "POST" else { return .methodNotAllowed("POST") }
            let delay = state.read { $0.identity.tokenDelay }
            return Self.late(try token(), by: delay)
        case "/oauth/v2/revoke":
            return request.method == "POST" ? ended(revoke()) : .methodNotAllowed("POST")
        case "/oidc/v1/userinfo":
            return isGet ? person() : .methodNotAllowed("GET", "HEAD")
        case "/oidc/v1/end_session":
            if isGet, !request.isHead { return ended(endSession(request.query)) }
            return request.method == "POST"
                ? ended(endSession(request.form)) : .methodNotAllowed("GET", "POST")
        default: return nil
        }
    }

    private func ended(_ reply: HTTPServerReply) -> HTTPServerReply {
        Self.late(reply, by: state.read { $0.identity.endDelay })
    }

    private static func late(_ reply: HTTPServerReply, by delay: Duration) -> HTTPServerReply {
        delay > .zero ? reply.delayed(by: delay) : reply
    }

    private func discovery() -> HTTPServerReply {
        let origin = state.read { $0.origin }
        func at(_ path: String) -> JSONValue { .string(origin + path) }
        return Self.json([
            "issuer": .string(origin), "authorization_endpoint": at("/oauth/v2/authorize"),
            "token_endpoint": at("/oauth/v2/token"), "jwks_uri": at("/oauth/v2/keys"),
            "revocation_endpoint": at("/oauth/v2/revoke"),
            "userinfo_endpoint": at("/oidc/v1/userinfo"),
            "end_session_endpoint": at("/oidc/v1/end_session"),
            "response_types_supported": ["code"], "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": .array(Self.scopes.map(JSONValue.string)),
            "token_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        ])
    }

    static let scopes = ["openid", "profile", "email", "offline_access"]

    // MARK: - Tokens

    private func token() throws(CryptoError) -> HTTPServerReply {
        do throws(IdentityFailure) {
            let outage = state.read { state in
                state.identity.tokenRequests += 1
                return state.identity.tokenStatus
            }
            guard outage == 0 else {
                throw IdentityFailure("temporarily_unavailable", "Not now.", status: outage)
            }
            guard let form = HTTPServerRequest.single(request.form), !form.isEmpty else {
                throw IdentityFailure(
                    "invalid_request", "The body must be a form, each field once.")
            }
            let client = form["client_id"] ?? ""
            guard state.read({ $0.identity.clients[client] != nil }) else {
                throw IdentityFailure("invalid_client", "There is no such client.", status: 401)
            }
            let (family, refresh) = try grant(form, client)
            return Self.json(
                try Self.crypto { () throws(CryptoError) in
                    try state.tokens(family, refresh: refresh)
                })
        } catch {
            return Self.failure(error)
        }
    }

    /// An error of OpenSSL's as the provider tells it.
    private static func crypto<Result>(
        _ body: () throws(CryptoError) -> Result
    ) throws(IdentityFailure) -> Result {
        do throws(CryptoError) {
            return try body()
        } catch {
            throw IdentityFailure("server_error", "Nothing could be signed.", status: 500)
        }
    }

    /// What names the exchange, where the client says so; at least as long as cannot be guessed.
    private var idempotencyKey: String? {
        request.header("Idempotency-Key").flatMap { (18...258).contains($0.utf8.count) ? $0 : nil }
    }

    private func grant(
        _ form: [String: String], _ client: String
    ) throws(IdentityFailure) -> (Identity.Family, refresh: String?) {
        let now = state.now
        let fresh = Token.make()
        let secret = Token.make()
        switch form["grant_type"] {
        case "authorization_code":
            guard let code = form["code"], let redirectURI = form["redirect_uri"],
                let verifier = form["code_verifier"]
            else {
                throw IdentityFailure(
                    "invalid_request", "code, redirect_uri and code_verifier are needed.")
            }
            return try state.exchange { (state) throws(IdentityFailure) in
                let family = try state.identity.redeem(
                    code, client: client, redirectURI: redirectURI, verifier: verifier,
                    fresh: fresh, session: Token.make(), at: now)
                guard family.scopes.contains("offline_access") else { return (family, nil) }
                return (family, state.identity.rotate(fresh, secret: secret, at: now))
            }
        case "refresh_token":
            guard let old = form["refresh_token"] else {
                throw IdentityFailure("invalid_request", "refresh_token is needed.")
            }
            let key = idempotencyKey
            return try state.exchange { (state) throws(IdentityFailure) in
                var (name, family) = try state.identity.family(
                    of: old, client: client, key: key, at: now)
                guard state.accounts[family.account] != nil else { throw .badGrant }
                family.scopes = try Identity.narrowed(family.scopes, to: form["scope"])
                return (family, state.identity.rotate(name, secret: secret, key: key, at: now))
            }
        default:
            throw IdentityFailure(
                "unsupported_grant_type", "authorization_code and refresh_token are known.")
        }
    }

    /// RFC 7009: whatever it is, it is good no more, and nobody learns whether it was.
    private func revoke() -> HTTPServerReply {
        let form = HTTPServerRequest.single(request.form) ?? [:]
        let name = (form["token"] ?? "").prefix { $0 != "." }
        state.read { state in
            guard let family = state.identity.families[String(name)],
                family.client == form["client_id"]
            else { return }
            state.identity.families[String(name)] = nil
        }
        return HTTPServerReply(status: 200, headers: [("Cache-Control", "no-store")])
    }

    private func person() -> HTTPServerReply {
        let words = (request.header("Authorization") ?? "").split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer",
            let account = state.owner(of: String(words[1]))
        else {
            var reply = Self.json(["error": "invalid_token"], status: 401)
            reply.headers.append(("WWW-Authenticate", "Bearer error=\"invalid_token\""))
            return reply
        }
        return Self.json(["sub": .string(account), "name": .string("Owner of \(account)")])
    }

    // MARK: - Replies

    static func json(_ value: JSONValue, status: Int = 200) -> HTTPServerReply {
        var reply = ControlAPI.json(value, status: status)
        reply.headers += [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")]
        return reply
    }

    static func failure(_ error: IdentityFailure) -> HTTPServerReply {
        json(
            ["error": .string(error.code), "error_description": .string(error.description)],
            status: error.status)
    }
}
