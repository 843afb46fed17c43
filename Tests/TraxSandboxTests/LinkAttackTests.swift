import HTTPClient
import JSON
import Testing
import TraxSandbox

/// Linking, attacked as an OAuth client and server are.
@Suite struct LinkAttackTests {
    private let client: SandboxClient
    private let key: String

    init() throws {
        client = try SandboxClient()
        key = try client.sandbox.state.createAccount("a")
    }

    @Test(arguments: [
        "http://account.traxstreaming.live/", "https://evil.example/",
        "//account.traxstreaming.live",
        "https://account.traxstreaming.live.evil.example/",
        "https://evilaccount.traxstreaming.live",
        "https://traxstreaming.live.evil.example",
        "https://account.traxstreaming.live@evil.example/",
        "https://user:pass@account.traxstreaming.live/", "https://account.traxstreaming.live:8443/",
        "https://account.traxstreaming.live:443@evil.example/",
        "https://account.traxstreaming.live:443/",
        "https://account.traxstreaming.live\\@evil.example/",
        "https:\\\\account.traxstreaming.live/",
        "https:/account.traxstreaming.live/", "https:account.traxstreaming.live", "https://",
        "https://account.traxstreaming.live/\\evil.example",
        "https://account.traxstreaming.live//evil",
        "https://account.traxstreaming.live/%2f%2fevil.example",
        "https://account.traxstreaming.live/..",
        "https://account.traxstreaming.live/redirect?to=https://evil.example",
        "https://account.traxstreaming.live/?next=//evil.example",
        "https://account.traxstreaming.live/?next=%2F%2Fevil.example",
        "https://account.traxstreaming.live/#@evil.example",
        "https://account.traxstreaming.live/\r\nX: y",
        "https://account.traxstreaming.live/\n", " https://account.traxstreaming.live/",
        "https://ACCOUNT.traxstreaming.live/", "https://account.traxstreaming.live./",
        "https://account。traxstreaming.live/", "https://аccount.traxstreaming.live/",
        "https://connect.traxstreaming.live/oauth/kick/callback", "https://127.0.0.1/",
        "javascript:alert(1)",
        "live.traxstreaming.ios://oauth/callback", "https://account.traxstreaming.live/\t", "",
        "HTTPS://account.traxstreaming.live/", "https://account.traxstreaming.live/a\u{0}b",
        "https://[::1]/", "https://account.traxstreaming.live;evil.example/",
        "https://.traxstreaming.live",
    ])
    func `a returnTo that is not plainly TRaX's own is refused`(_ target: String) throws {
        let response = try client.send(
            .post, "/v1/connections/link", key: key,
            body: ["platform": "kick", "returnTo": .string(target)])
        #expect(response.status == 400)
        #expect(try response.code == "invalid_request")
    }

    @Test(arguments: [
        ("https://account.traxstreaming.live", "?"), ("https://app.traxstreaming.live/", "?"),
        ("https://account.traxstreaming.live/settings/integrations", "?"),
        ("https://studio.traxstreaming.live/a.b/c?tab=links", "&"),
        ("https://studio.traxstreaming.live/?", ""), ("https://studio.traxstreaming.live/?a&", ""),
    ])
    func `a good returnTo gets the outcome appended to its query`(
        _ target: String, _ joint: String
    ) throws {
        let body: JSONValue = ["platform": "twitch", "returnTo": .string(target)]
        let allowed = try BrowserSession(client).decide(
            try client.link(key, body).url, scopes: ["chat:read"])
        #expect(allowed.header("location") == target + joint + "connected=twitch")
        let denied = try BrowserSession(client).decide(
            try client.link(key, body).url, "deny", scopes: [])
        #expect(
            denied.header("location")
                == target + joint + "error=access_denied&error_provider=twitch")
    }

    @Test func `a state is good once, for its platform alone, and is not guessed`() throws {
        let link = try client.link(key, ["platform": "twitch"])
        let other = try client.link(key, ["platform": "youtube"])
        #expect(link.state != other.state && link.state.utf8.count >= 43)
        let browser = BrowserSession(client)
        let ticket = try browser.consent(link.url)
        let back = try BrowserSession.location(
            try browser.post(
                "/platforms/twitch/decision", [("ticket", ticket), ("decision", "allow")]))
        // The mix-up: another platform's callback, or another attempt's state.
        let code = try #require(BrowserSession.parameter("code", of: back))
        for wrong in [
            "/oauth/youtube/callback?code=\(code)&state=\(link.state)",
            "/oauth/twitch/callback?code=\(code)&state=\(other.state)",
            "/oauth/twitch/callback?code=\(code)", "/oauth/twitch/callback?code=\(code)&state=",
            "/oauth/twitch/callback?code=\(code)&state=guess",
            "/oauth/twitch/callback?code=\(code)&state=\(link.state)&state=\(other.state)",
        ] {
            let refused = try browser.get(wrong, accept: "*/*")
            #expect(refused.status == 400)
            #expect(try refused.json["error"] == "invalid_state")
        }
        #expect(try client.rows(key).isEmpty)
        #expect(try browser.get(back, accept: "*/*").status == 200)
        let again = try browser.get(back, accept: "*/*")
        #expect(try again.json["error"] == "invalid_state")
        #expect(try client.rows(key).count == 1)
    }

    @Test func `a code is good once, with the attempt it belongs to`() throws {
        let first = try client.link(key, ["platform": "twitch"])
        let second = try client.link(key, ["platform": "twitch"])
        let browser = BrowserSession(client)
        func allow(_ url: String) throws -> String {
            let ticket = try browser.consent(url)
            let answer = try browser.post(
                "/platforms/twitch/decision", [("ticket", ticket), ("decision", "allow")])
            return try BrowserSession.location(answer)
        }
        let back = try allow(first.url)
        let code = try #require(BrowserSession.parameter("code", of: back))
        #expect(try browser.get(back, accept: "*/*").status == 200)
        let replayed = try browser.get(
            "/oauth/twitch/callback?code=\(code)&state=\(second.state)", accept: "*/*")
        #expect(try replayed.json["error"] == "exchange_failed")
        #expect(try client.rows(key).count == 1)
    }

    @Test func `a code is redeemed for the attempt that asked for it alone`() throws {
        let first = try client.link(key, ["platform": "twitch"])
        let second = try client.link(key, ["platform": "twitch"])
        let browser = BrowserSession(client)
        let ticket = try browser.consent(first.url)
        let back = try BrowserSession.location(
            try browser.post(
                "/platforms/twitch/decision", [("ticket", ticket), ("decision", "allow")]))
        let code = try #require(BrowserSession.parameter("code", of: back))
        let mixed = try browser.get(
            "/oauth/twitch/callback?code=\(code)&state=\(second.state)", accept: "*/*")
        #expect(mixed.status == 400)
        #expect(try mixed.json["error"] == "exchange_failed")
        // The code is burnt: its own attempt does not get it any more either.
        #expect(try browser.get(back, accept: "*/*").json["error"] == "exchange_failed")
        #expect(try client.rows(key).isEmpty)
    }

    @Test(arguments: [
        "connected=kick", "a=1&error=x", "error_provider", "error=",
    ])
    func `a returnTo that tells an outcome itself is refused`(_ query: String) throws {
        let response = try client.send(
            .post, "/v1/connections/link", key: key,
            body: [
                "platform": "kick",
                "returnTo": .string("https://app.traxstreaming.live/links?\(query)"),
            ])
        #expect(response.status == 400)
        #expect(try response.code == "invalid_request")
    }

    @Test func `an attempt ends in time`() throws {
        try client.control(.put, "/linking", ["attemptSeconds": 0])
        let link = try client.link(key, ["platform": "kick"])
        let ended = try client.control(.post, "/links/\(link.state)", [:])
        #expect(ended["error"] == "expired_state")
        #expect(try client.rows(key).isEmpty)
    }

    @Test func `Kick's verifier stays on the server, and PKCE cannot be taken off on the way`()
        throws
    {
        let link = try client.link(key, ["platform": "kick"])
        #expect(!link.url.contains("code_verifier"))
        #expect(link.url.contains("code_challenge_method=S256"))
        let challenge = try #require(BrowserSession.parameter("code_challenge", of: link.url))
        let stripped = link.url.replacing("&code_challenge=\(challenge)", with: "")
            .replacing("&code_challenge_method=S256", with: "")
        let plain = link.url.replacing("=S256", with: "=plain")
        let browser = BrowserSession(client)
        for url in [stripped, plain] {
            let refused = try browser.get(url)
            #expect(refused.header("location")?.contains("error=invalid_request") == true)
        }
        // Another's challenge: the code is not redeemed with this attempt's verifier.
        let foreign = try client.link(key, ["platform": "kick"])
        let other = try #require(BrowserSession.parameter("code_challenge", of: foreign.url))
        let swapped = link.url.replacing(challenge, with: other)
        let ended = try browser.decide(swapped, scopes: ["chat:write"], accept: "*/*")
        #expect(try ended.json["error"] == "exchange_failed")
        #expect(try client.rows(key).isEmpty)
    }

    @Test func `a stolen code is nothing at the platform without secret and verifier`() throws {
        let link = try client.link(key, ["platform": "kick"])
        let browser = BrowserSession(client)
        let ticket = try browser.consent(link.url)
        let back = try BrowserSession.location(
            try browser.post(
                "/platforms/kick/decision", [("ticket", ticket), ("decision", "allow")]))
        let code = try #require(BrowserSession.parameter("code", of: back))
        let stolen = try browser.post(
            "/platforms/kick/token",
            [
                ("grant_type", "authorization_code"), ("client_id", "trax-connect"), ("code", code),
                ("redirect_uri", "\(client.sandbox.url)/oauth/kick/callback"),
            ])
        #expect(stolen.status == 401)
        #expect(try browser.get(back, accept: "*/*").status == 200)
    }

    @Test func `a platform sends nobody to an address it does not know`() throws {
        let link = try client.link(key, ["platform": "youtube"])
        let own = BrowserSession.encodeURL("\(client.sandbox.url)/oauth/youtube/callback")
        let browser = BrowserSession(client)
        for wrong in [
            link.url.replacing(own, with: BrowserSession.encode("https://evil.example/")),
            link.url.replacing(own, with: own + "%2F"),
            link.url.replacing(own, with: own + "%3Fx=1"),
            link.url.replacing("client_id=trax-connect", with: "client_id=other"),
            link.url + "&redirect_uri=https%3A%2F%2Fevil.example",
        ] {
            let refused = try browser.get(wrong)
            #expect(refused.status == 400)
            #expect(refused.header("location") == nil)
        }
    }

    @Test func `YouTube turns embedded web views away, and no other platform does`() throws {
        let link = try client.link(key, ["platform": "youtube"])
        let browser = BrowserSession(client)
        for agent in [
            "Mozilla/5.0 (Linux; Android 14; Pixel 8; wv) AppleWebKit/537.36 Chrome/150 Mobile",
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 Mobile/15E",
        ] {
            browser.agent = agent
            let refused = try browser.get(link.url)
            #expect(refused.status == 403 && refused.text.contains("disallowed_useragent"))
            let twitch = try client.link(key, ["platform": "twitch"])
            #expect(try browser.get(twitch.url).status == 303)
        }
        browser.agent =
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 "
            + "Version/18.0 Mobile/15E148 Safari/604.1"
        #expect(try browser.get(link.url).status == 303)
    }

    @Test func `another browser cannot answer a question, nor keep a name it planted`() throws {
        let link = try client.link(key, ["platform": "twitch"])
        let browser = BrowserSession(client)
        browser.cookie = "trax_sandbox_browser=planted"
        let ticket = try browser.consent(link.url)
        #expect(browser.cookie != "trax_sandbox_browser=planted")
        for cookie in [nil, "trax_sandbox_browser=planted", "trax_sandbox_browser=x"] {
            let other = BrowserSession(client)
            other.cookie = cookie
            let refused = try other.post(
                "/platforms/twitch/decision", [("ticket", ticket), ("decision", "allow")])
            #expect(refused.status == 400)
        }
        let wrongPlatform = try browser.post(
            "/platforms/kick/decision", [("ticket", ticket), ("decision", "allow")])
        #expect(wrongPlatform.status == 400)
    }

    @Test func `a HEAD, as previews send it, uses nothing up`() throws {
        let link = try client.link(key, ["platform": "twitch"])
        let path = "/oauth/twitch/callback?error=access_denied&state=\(link.state)"
        #expect(try client.plain("HEAD", path).status == 405)
        #expect(try client.control(.post, "/links/\(link.state)", [:])["connected"] != nil)
    }
}
