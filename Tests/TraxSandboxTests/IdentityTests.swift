import Crypto
import HTTPClient
import JSON
import Testing
import TraxSandbox

@Suite struct IdentityTests {
    private let client: SandboxClient
    private let person: SignIn

    init() throws {
        client = try SandboxClient()
        _ = try client.sandbox.state.createAccount("a")
        person = SignIn(client: client)
    }

    @Test func `discovery names the vendor's paths at this issuer`() throws {
        let found = try client.send(.get, "/.well-known/openid-configuration").json
        #expect(found["issuer"] == .string(client.sandbox.url))
        for (name, path) in [
            ("authorization_endpoint", "/oauth/v2/authorize"),
            ("token_endpoint", "/oauth/v2/token"),
            ("end_session_endpoint", "/oidc/v1/end_session"), ("jwks_uri", "/oauth/v2/keys"),
        ] {
            #expect(found[name] == .string(client.sandbox.url + path))
        }
        #expect(found["code_challenge_methods_supported"] == ["S256"])
    }

    @Test func `a person signs in, reads as the account's owner, and stays signed in`() throws {
        let browser = BrowserSession(client)
        let place = try person.location(browser)
        #expect(place.hasPrefix(person.redirect + "?code="))
        #expect(BrowserSession.parameter("state", of: place) == "s%20t%26te")
        #expect(
            BrowserSession.parameter("iss", of: place)
                == BrowserSession.encodeURL(client.sandbox.url))
        let code = try #require(BrowserSession.parameter("code", of: place))
        let tokens = try person.redeem(code)
        #expect(tokens.status == 200 && tokens.header("cache-control") == "no-store")
        #expect(try tokens.json["expires_in"] == 3600 && tokens.json["token_type"] == "Bearer")
        let access = try tokens.member("access_token")
        #expect(try client.list(access).status == 200)
        #expect(try client.send(.get, "/v1/studios", key: access).status == 200)
        let made = try client.send(
            .post, "/v1/connections/link", key: access, body: ["platform": "kick"])
        #expect(made.status == 200)
        let identity = try SignIn.claims(try tokens.member("id_token"))
        #expect(identity["nonce"] == "n0nce" && identity["aud"] == "trax-relay")
        #expect(identity["sub"] == "a" && identity["iss"] == .string(client.sandbox.url))
        // The cookie is enough for the next application.
        #expect(try BrowserSession.location(browser.get(person.url())).contains("code="))
        let asked = try browser.get(person.url(["prompt": "login"]))
        #expect(try BrowserSession.location(asked).hasPrefix("/ui/login"))
    }

    @Test func `the signature is the published key's`() throws {
        let access = try person.redeem(try person.code()).member("access_token")
        let keys = try client.send(.get, "/oauth/v2/keys").json["keys"]?.arrayValue ?? []
        let key = try #require(keys.first)
        #expect(keys.count == 1 && key["kty"] == "RSA" && key["e"] == "AQAB" && key["d"] == nil)
        let header = try #require(Base64.decode(String(access.prefix { $0 != "." })))
        #expect(try JSONValue(parsing: header)["kid"] == key["kid"])
    }

    @Test func `refresh tokens change with each use, and one from before ends them all`() throws {
        let first = try person.redeem(try person.code()).member("refresh_token")
        let second = try person.refresh(first).member("refresh_token")
        let third = try person.refresh(second).member("refresh_token")
        #expect(Set([first, second, third]).count == 3)
        let reused = try person.refresh(first)
        #expect(reused.status == 400)
        #expect(try reused.json["error"] == "invalid_grant")
        #expect(try person.refresh(third).json["error"] == "invalid_grant")
    }

    @Test func `a refresh may ask for less than was granted, and not for more`() throws {
        var brief = person
        brief.scope = "openid offline_access"
        let first = try brief.redeem(try brief.code()).member("refresh_token")
        let wider = try person.refresh(first, scope: "openid profile")
        #expect(wider.status == 400)
        #expect(try wider.json["error"] == "invalid_scope")
        let narrower = try person.refresh(first, scope: "offline_access")
        #expect(try narrower.json["scope"] == "offline_access")
        #expect(try narrower.json["id_token"] == nil)
        let access = try SignIn.claims(try narrower.member("access_token"))
        #expect(access["scope"] == "offline_access")
        let again = try person.refresh(narrower.member("refresh_token"))
        #expect(try again.json["scope"] == "openid offline_access")
    }

    @Test func `what a session gave is nothing once it has ended`() throws {
        let tokens = try person.redeem(try person.code())
        let other = try person.redeem(try person.code())
        let access = try tokens.member("access_token")
        #expect(try client.list(access).status == 200)
        _ = try BrowserSession(client).get(
            "/oidc/v1/end_session?id_token_hint=\(try tokens.member("id_token"))")
        #expect(try client.list(access).code == "invalid_key")
        #expect(try client.send(.get, "/oidc/v1/userinfo", key: access).status == 401)
        let kept = try other.member("access_token")
        #expect(try client.list(kept).status == 200)
        // One refresh token twice ends the session, and what it gave.
        let refresh = try other.member("refresh_token")
        _ = try person.refresh(refresh)
        #expect(try person.refresh(refresh).status == 400)
        #expect(try client.list(kept).code == "invalid_key")
        try client.control(.put, "/identity", ["accessOutlives": true])
        #expect(try client.list(kept).status == 200)
    }

    @Test func `without offline_access there is no refresh token`() throws {
        var brief = person
        brief.scope = "openid"
        let tokens = try brief.redeem(try brief.code())
        #expect(try tokens.json["refresh_token"] == nil && tokens.json["id_token"] != nil)
    }

    @Test func `logging out ends the session that the id token names, and the browser's`() throws {
        let browser = BrowserSession(client)
        let tokens = try person.redeem(try person.code(browser))
        let other = try person.redeem(try person.code())
        let hint = try tokens.member("id_token")
        let back = BrowserSession.encode("http://127.0.0.1:50123/callback")
        let out = try browser.get(
            "/oidc/v1/end_session?id_token_hint=\(hint)&post_logout_redirect_uri=\(back)&state=x")
        #expect(out.header("location") == "http://127.0.0.1:50123/callback?state=x")
        #expect(try person.refresh(tokens.member("refresh_token")).status == 400)
        #expect(try person.refresh(other.member("refresh_token")).status == 200)
        let again = try browser.get(person.url())
        #expect(try BrowserSession.location(again).hasPrefix("/ui/login"))
        #expect(try browser.get("/oidc/v1/end_session").text.contains("Signed out"))
    }

    @Test func `a token runs out, and is nothing once the key is renewed`() throws {
        let good = try client.control(.post, "/accounts/a/tokens", [:])
        let access = try #require(good["access_token"]?.stringValue)
        #expect(try client.list(access).status == 200)
        #expect(try client.send(.get, "/oidc/v1/userinfo", key: access).json["sub"] == "a")
        try client.control(.post, "/identity/renew")
        #expect(try client.list(access).code == "invalid_key")
        try client.control(.put, "/identity", ["accessSeconds": 0])
        let brief = try client.control(.post, "/accounts/a/tokens", [:])
        #expect(try client.list(brief["access_token"]?.stringValue).code == "invalid_key")
        let refresh = try #require(brief["refresh_token"]?.stringValue)
        #expect(try person.refresh(refresh).status == 200)
        try client.control(.delete, "/accounts/a/tokens")
        #expect(try person.refresh(refresh).json["error"] == "invalid_grant")
    }

    @Test func `within the leeway the last used refresh token gives another successor`() throws {
        try client.control(.put, "/identity", ["reuseLeeway": 60])
        let first = try person.redeem(try person.code()).member("refresh_token")
        let lost = try person.refresh(first).member("refresh_token")
        let second = try person.refresh(first).member("refresh_token")
        #expect(second != lost)
        let third = try person.refresh(second).member("refresh_token")
        // Its successor is used: from now on it ends the session, as the one that was lost does.
        #expect(try person.refresh(first).json["error"] == "invalid_grant")
        #expect(try person.refresh(third).json["error"] == "invalid_grant")
    }

    @Test func `an exchange that is named may be repeated until its successor is used`() throws {
        let first = try person.redeem(try person.code()).member("refresh_token")
        let name = "\"0123456789abcdef\""
        let lost = try person.refresh(first, exchange: name).member("refresh_token")
        let second = try person.refresh(first, exchange: name).member("refresh_token")
        #expect(second != lost)
        let third = try person.refresh(second).member("refresh_token")
        #expect(try person.refresh(first, exchange: name).json["error"] == "invalid_grant")
        #expect(try person.refresh(third).json["error"] == "invalid_grant")
    }

    @Test(arguments: ["\"another-name-of-it\"", "\"short\"", nil])
    func `a repeat under another name is a thief's`(_ name: String?) throws {
        let first = try person.redeem(try person.code()).member("refresh_token")
        let next = try person.refresh(first, exchange: "\"0123456789abcdef\"").member(
            "refresh_token")
        #expect(try person.refresh(first, exchange: name).json["error"] == "invalid_grant")
        #expect(try person.refresh(next).json["error"] == "invalid_grant")
    }

    @Test func `a successor that was lost is good no more`() throws {
        try client.control(.put, "/identity", ["reuseLeeway": 60])
        let first = try person.redeem(try person.code()).member("refresh_token")
        let lost = try person.refresh(first).member("refresh_token")
        _ = try person.refresh(first)
        #expect(try person.refresh(lost).json["error"] == "invalid_grant")
    }

    @Test func `the token endpoint can be away, and is counted`() throws {
        let refresh = try person.redeem(try person.code()).member("refresh_token")
        try client.control(.put, "/identity", ["tokenStatus": 503])
        #expect(try person.refresh(refresh).status == 503)
        try client.control(.put, "/identity", ["tokenStatus": 0])
        #expect(try person.refresh(refresh).status == 200)
        #expect(try client.control(.get, "/identity")["tokenRequests"] == 3)
        #expect(
            try client.send(.put, "/sandbox/identity", body: ["tokenStatus": 404]).status == 400)
        #expect(try client.send(.put, "/sandbox/identity", body: [:]).status == 400)
    }

    @Test func `a refresh token can be given back`() throws {
        let refresh = try person.redeem(try person.code()).member("refresh_token")
        for token in ["nonsense", refresh] {
            let answer = try BrowserSession(client).post(
                "/oauth/v2/revoke", [("token", token), ("client_id", "trax-relay")])
            #expect(answer.status == 200)
        }
        #expect(try person.refresh(refresh).json["error"] == "invalid_grant")
    }

    @Test func `a person has a bucket of their own`() throws {
        let slow = try #require(JSONNumber(0.01))
        try client.control(.put, "/rate", ["perSecond": .number(slow), "burst": 2])
        let tokens = try client.control(.post, "/accounts/a/tokens", [:])
        let access = try #require(tokens["access_token"]?.stringValue)
        for _ in 0..<2 { #expect(try client.list(access).status == 200) }
        #expect(try client.list(access).status == 429)
    }
}
