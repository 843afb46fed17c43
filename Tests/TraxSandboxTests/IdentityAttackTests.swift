import Crypto
import HTTPClient
import JSON
import Testing
import TraxSandbox

/// Signing in, attacked as an OAuth server is.
@Suite struct IdentityAttackTests {
    private let client: SandboxClient
    private let person: SignIn

    init() throws {
        client = try SandboxClient()
        _ = try client.sandbox.state.createAccount("a")
        person = SignIn(client: client)
    }

    @Test(arguments: [
        "https://evil.example/callback", "http://127.0.0.1:50123/other",
        "http://127.0.0.1:50123/callback/",
        "http://127.0.0.1:50123/callback?x=1", "http://127.0.0.1:50123/callback#x",
        "http://127.0.0.1:50123@evil.example/callback", "http://127.0.0.1.evil.example/callback",
        "http://127.0.0.1:99999/callback", "http://127.0.0.1:/callback",
        "http://127.0.0.1:+80/callback",
        "http://localhost:50123/callback", "https://127.0.0.1:50123/callback",
        "http://127.0.0.2/callback",
        "http://127.0.0.1:50123/callback/../x", "http://127.0.0.1:50123\\callback",
        "javascript:alert(1)",
        "http://127.0.0.1:50123/callback\r\nX: y", "HTTP://127.0.0.1:50123/callback", "",
        "live.traxstreaming.ios://oauth/callback", "http://127.0.0.1:80:80/callback",
    ])
    func `an address that is not the client's own is answered with a page, never followed`(
        _ address: String
    ) throws {
        let refused = try BrowserSession(client).get(person.url(["redirect_uri": address]))
        #expect(refused.status == 400)
        #expect(refused.header("location") == nil)
        #expect(!refused.text.contains("evil"))
    }

    @Test(arguments: [
        "http://127.0.0.1:1/callback", "http://127.0.0.1:65535/callback",
        "http://[::1]:8080/callback",
        "http://127.0.0.1/callback",
    ])
    func `on the loopback interface the port is free`(_ address: String) throws {
        var own = person
        own.redirect = address
        #expect(try own.location(BrowserSession(client)).hasPrefix(address + "?code="))
    }

    @Test func `an app's own scheme matches to the letter`() throws {
        var app = person
        app.id = "385862192278274086"
        app.redirect = "live.traxstreaming.ios://oauth/callback"
        #expect(try app.location(BrowserSession(client)).hasPrefix(app.redirect + "?code="))
        for wrong in [app.redirect + "/", "live.traxstreaming.ios:80//oauth/callback"] {
            app.redirect = wrong
            #expect(try BrowserSession(client).get(app.url()).status == 400)
        }
    }

    @Test(
        arguments: [
            (["code_challenge": nil], "invalid_request"),
            (["code_challenge_method": nil], "invalid_request"),
            (["code_challenge_method": "plain"], "invalid_request"),
            (["code_challenge": ""], "invalid_request"),
            (["response_type": "token"], "unsupported_response_type"),
            (["scope": "profile"], "invalid_scope"),
            (["response_mode": "fragment"], "invalid_request"),
            (["prompt": "none"], "login_required"),
            (["request": "x"], "request_not_supported"),
        ] as [([String: String?], String)])
    func `a request without S256, or of another kind, is sent back with the error`(
        _ change: [String: String?], _ error: String
    ) throws {
        let place = try BrowserSession.location(BrowserSession(client).get(person.url(change)))
        #expect(place.hasPrefix(person.redirect + "?error=\(error)&state=s%20t%26te&iss="))
    }

    @Test func `a parameter that comes twice is believed in neither form`() throws {
        let refused = try BrowserSession(client).get(
            person.url() + "&redirect_uri=http%3A%2F%2Fevil")
        #expect(refused.status == 400 && refused.header("location") == nil)
        let code = try person.code()
        let twice = try person.token([
            ("grant_type", "authorization_code"), ("client_id", "trax-relay"), ("code", code),
            ("redirect_uri", person.redirect), ("code_verifier", SignIn.verifier), ("code", code),
        ])
        #expect(try twice.json["error"] == "invalid_request")
    }

    @Test(arguments: [
        ["code_verifier": String(repeating: "w", count: 43)], ["code_verifier": "v"],
        ["code_verifier": SignIn.challenge], ["redirect_uri": "http://127.0.0.1:50124/callback"],
        ["client_id": "385862192278274086"],
    ])
    func `a code is bound to verifier, address and client, and over after a wrong try`(
        _ change: [String: String?]
    ) throws {
        let code = try person.code()
        #expect(try person.redeem(code, change).json["error"] == "invalid_grant")
        #expect(try person.redeem(code).json["error"] == "invalid_grant")
    }

    @Test func `a code that comes twice ends what it gave`() throws {
        let code = try person.code()
        let tokens = try person.redeem(code)
        #expect(tokens.status == 200)
        #expect(try person.redeem(code).json["error"] == "invalid_grant")
        #expect(try person.refresh(tokens.member("refresh_token")).json["error"] == "invalid_grant")
    }

    @Test func `a refresh token is its client's alone, and a made-up end ends the session`() throws
    {
        let refresh = try person.redeem(try person.code()).member("refresh_token")
        let stolen = try person.refresh(refresh, client: "385862192278274086")
        #expect(try stolen.json["error"] == "invalid_grant")
        let next = try person.refresh(refresh).member("refresh_token")
        #expect(try person.refresh(next + "x").status == 400)
        #expect(try person.refresh("").status == 400)
        #expect(try person.refresh(next, client: "nobody").status == 401)
    }

    @Test func `a forged token is 401: other algorithm, other use, other claims, no signature`()
        throws
    {
        let tokens = try person.redeem(try person.code())
        let access = try tokens.member("access_token")
        let parts = access.split(separator: ".").map(String.init)
        func header(_ text: String) -> String { Base64.encode(Array(text.utf8)) }
        let head = try #require(Base64.decode(parts[0]))
        let kid = try #require(try JSONValue(parsing: head)["kid"]?.stringValue)
        let claims = header(#"{"sub":"a","iss":"\#(client.sandbox.url)","exp":99999999999}"#)
        for forged in [
            "\(header(#"{"alg":"none","typ":"at+jwt","kid":"\#(kid)"}"#)).\(parts[1]).",
            "\(header(#"{"alg":"HS256","typ":"at+jwt","kid":"\#(kid)"}"#)).\(parts[1]).\(parts[2])",
            "\(parts[0]).\(claims).\(parts[2])", "\(parts[0]).\(parts[1]).", "..", ".", "a.b.c",
            "\(parts[0]).\(parts[1])", access + ".x", String(access.dropLast(3)),
            try tokens.member("id_token"), try tokens.member("refresh_token"),
        ] {
            #expect(try client.list(forged).code == "invalid_key")
        }
        #expect(try client.list(access).status == 200)
        // The alias is for keys alone.
        let alias = try client.send(.get, "/v1/connections", headers: [("X-API-Key", access)])
        #expect(alias.status == 401)
    }

    @Test func `another sandbox's token is none here`() throws {
        let other = try SandboxClient()
        _ = try other.sandbox.state.createAccount("a")
        let tokens = try other.control(.post, "/accounts/a/tokens", [:])
        #expect(try client.list(tokens["access_token"]?.stringValue).code == "invalid_key")
    }

    @Test func `another browser cannot finish a sign-in, and names are shown as text`() throws {
        let browser = BrowserSession(client)
        let hint = #""><script>alert(1)</script>"#
        let place = try BrowserSession.location(browser.get(person.url(["login_hint": hint])))
        let page = try browser.get(place)
        #expect(!page.text.contains("<script") && page.text.contains("&lt;script&gt;"))
        let ticket = try BrowserSession.ticket(page)
        let fields = [("ticket", ticket), ("account", "a"), ("decision", "allow")]
        #expect(try BrowserSession(client).post("/ui/login", fields).status == 400)
        let unknown = try browser.post(
            "/ui/login", [("ticket", ticket), ("account", "<b>"), ("decision", "allow")])
        #expect(unknown.status == 400 && !unknown.text.contains("<b><"))
        #expect(try browser.post("/ui/login", fields).status == 303)
        #expect(try browser.post("/ui/login", fields).status == 400)
    }

    @Test func `logging out leads nowhere but to the client's own address`() throws {
        let hint = try person.redeem(try person.code()).member("id_token")
        let evil = BrowserSession.encode("https://evil.example/")
        for query in [
            "?post_logout_redirect_uri=\(evil)",
            "?client_id=trax-relay&post_logout_redirect_uri=\(evil)",
            "?id_token_hint=\(hint)&post_logout_redirect_uri=\(evil)", "?id_token_hint=a.b.c",
            "?id_token_hint=\(hint)&client_id=385862192278274086",
        ] {
            let refused = try BrowserSession(client).get("/oidc/v1/end_session" + query)
            #expect(refused.status == 400 && refused.header("location") == nil)
        }
    }
}
