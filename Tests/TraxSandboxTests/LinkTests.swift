import HTTPClient
import JSON
import Testing
import TraxSandbox

@Suite struct LinkTests {
    private static let youtube = ["youtube", "youtube.force-ssl", "youtube.readonly"]

    @Test(arguments: [
        ("twitch", ["chat:edit", "chat:read"]), ("youtube", youtube),
        ("kick", ["chat:write", "channel:read"]), ("facebook", ["publish_video"]),
        ("linkedin", ["profile"]),
    ])
    func `a person who allows gets a row with what was granted, and the page that says so`(
        _ platform: String, _ scopes: [String]
    ) throws {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        let link = try client.link(key, ["platform": .string(platform)])
        #expect(link.url.hasPrefix(client.sandbox.url))
        #expect(link.url.contains("state=\(link.state)"))
        #expect(try client.rows(key).isEmpty)
        let browser = BrowserSession(client)
        let ended = try browser.decide(link.url, scopes: scopes)
        #expect(ended.status == 302)
        #expect(
            ended.header("location")
                == "\(client.sandbox.url)/oauth/return?connected=\(platform)")
        let rows = try client.rows(key)
        let row = try #require(rows.first)
        #expect(rows.count == 1 && row["platform"] == .string(platform))
        #expect(row["status"] == "active" && row["state"] == .string(link.state))
        let granted = row["grantedScopes"]?.arrayValue?.compactMap(\.stringValue) ?? []
        #expect(Set(granted) == Set(scopes))
        let page = try browser.get(try BrowserSession.location(ended))
        #expect(page.status == 200 && page.text.contains("connected</h1>"))
    }

    @Test func `scopes that are left out are the platform's own; unknown ones are not granted`()
        throws
    {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        let all = try client.link(key, ["platform": "youtube"])
        let page = BrowserSession(client)
        let ticket = try page.consent(all.url)
        let shown = try page.get("/platforms/youtube/consent?ticket=\(ticket)").text
        for scope in Self.youtube { #expect(shown.contains("value=\"\(scope)\"")) }
        let some = try client.link(
            key, ["platform": "youtube", "scopes": ["youtube.readonly", "moon"]])
        _ = try BrowserSession(client).decide(
            some.url, scopes: ["youtube.readonly", "moon", "youtube"])
        #expect(try client.rows(key).first?["grantedScopes"] == ["youtube.readonly"])
    }

    @Test func `who is signed in is asked at once, and waiting decides nothing`() throws {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        let browser = BrowserSession(client)
        _ = try browser.decide(
            try client.link(key, ["platform": "twitch"]).url, scopes: [], as: "ann")
        let second = try client.link(key, ["platform": "twitch"])
        let page = try browser.get(try BrowserSession.location(browser.get(second.url)))
        #expect(page.text.contains("Signed in as <b>ann</b>"))
        let ticket = try BrowserSession.ticket(page)
        let waiting = try browser.post(
            "/platforms/twitch/decision", [("ticket", ticket), ("decision", "wait")])
        #expect(waiting.status == 200 && waiting.text.contains("Nothing is decided"))
        #expect(try client.rows(key).count == 1)
        _ = try browser.post(
            "/platforms/twitch/decision", [("ticket", ticket), ("decision", "switch")])
        let again = try browser.get("/platforms/twitch/consent?ticket=\(ticket)")
        #expect(again.text.contains("Sign in to Twitch"))
    }

    @Test func `a person who denies leaves no row; programs get the exact JSON`() throws {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        for accept in ["*/*", "", "application/json"] {
            let link = try client.link(key, ["platform": "kick"])
            let denied = try BrowserSession(client).decide(
                link.url, "deny", scopes: [], accept: accept)
            #expect(denied.status == 400 && denied.header("location") == nil)
            #expect(
                denied.text
                    == #"{"status":"error","error":"access_denied","error_provider":"kick"}"#)
        }
        let link = try client.link(key, ["platform": "kick"])
        let browser = BrowserSession(client)
        let denied = try browser.decide(link.url, "deny", scopes: [])
        let page = try browser.get(try BrowserSession.location(denied))
        #expect(page.text.contains("Kick was not connected"))
        #expect(page.text.contains("access_denied"))
        #expect(try client.rows(key).isEmpty)
    }

    @Test func `a program that allows gets the row's id as JSON`() throws {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        let link = try client.link(key, ["platform": "twitch"])
        let ended = try BrowserSession(client).decide(
            link.url, scopes: ["chat:read"], accept: "*/*")
        let id = try #require(try client.rows(key).first?["id"]?.stringValue)
        #expect(ended.status == 200)
        #expect(ended.text == #"{"status":"ok","platform":"twitch","connectionId":"\#(id)"}"#)
    }

    @Test func `a repair keeps the row; a link without it makes a second and orphans the first`()
        throws
    {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        func link(_ more: JSONObject) throws {
            var body: JSONObject = ["platform": "youtube"]
            for (name, value) in more { body[name] = value }
            let link = try client.link(key, .object(body))
            _ = try BrowserSession(client).decide(link.url, scopes: ["youtube"])
        }
        func destinations() throws -> [JSONValue] {
            try client.control(.get, "/accounts/a")["destinations"]?.arrayValue ?? []
        }
        try link([:])
        let id = try #require(try client.rows(key).first?["id"]?.stringValue)
        try client.sandbox.state.setStatus("expired", of: id, account: "a")
        #expect(
            try destinations() == [
                ["connection": .string(id), "orphaned": false, "goesLive": false]
            ])
        try link(["reconnectConnectionId": .string(id)])
        #expect(try client.rows(key).count == 1)
        #expect(try client.rows(key).first?["status"] == "active")
        #expect(
            try destinations() == [
                ["connection": .string(id), "orphaned": false, "goesLive": true]
            ])
        try link([:])
        #expect(try client.rows(key).count == 2)
        let old = try #require(try destinations().first { $0["connection"] == .string(id) })
        #expect(old["orphaned"] == true && old["goesLive"] == false)
    }

    @Test func `to repair what is not there, or of another platform, is 404`() throws {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        let other = try client.sandbox.state.createAccount("b")
        try client.sandbox.state.addConnection(to: "a", platform: "kick", id: "c1")
        for (key, platform, id) in [
            (key, "kick", "c2"), (key, "twitch", "c1"), (other, "kick", "c1"),
        ] {
            let response = try client.send(
                .post, "/v1/connections/link", key: key,
                body: ["platform": .string(platform), "reconnectConnectionId": .string(id)])
            #expect(response.status == 404)
            #expect(try response.code == "not_found")
        }
    }

    @Test(arguments: [
        #"{}"#, #"{"platform":"trovo"}"#, #"{"platform":"instagram"}"#, #"{"platform":"x"}"#,
        #"{"platform":7}"#, "[]", "{", "", #"{"platform":"kick","scopes":[]}"#,
        #"{"platform":"kick","scopes":"chat"}"#, #"{"platform":"kick","scopes":["a b"]}"#,
        #"{"platform":"kick","scopes":[1]}"#, #"{"platform":"kick","returnTo":null}"#,
        #"{"platform":"kick","reconnectConnectionId":""}"#,
    ])
    func `a bad request to link is 400 invalid_request`(_ body: String) throws {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        let response = try client.plain(
            "POST", "/v1/connections/link",
            headers: [("Authorization", "Bearer \(key)"), ("Content-Type", "application/json")],
            body: body)
        #expect(response.status == 400)
        #expect(try response.code == "invalid_request")
    }

    @Test
    func `writing needs its scope, and is 503 write_disabled behind the switch; reading is not`()
        throws
    {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        let reader = try client.sandbox.state.createAccount("b", scopes: ["connections:read"])
        let writes: [(HTTPMethod, String, JSONValue?)] = [
            (.post, "/v1/connections/link", ["platform": "kick"]),
            (.post, "/v1/connections/manual", ["platform": "x", "streamKey": "k"]),
            (.delete, "/v1/connections/c", nil),
        ]
        for (method, path, body) in writes {
            let refused = try client.send(method, path, key: reader, body: body)
            #expect(try refused.json["error"]?["requiredScope"] == "connections:write")
            #expect(try client.send(method, path, body: body).status == 401)
        }
        try client.control(.put, "/writes", ["enabled": false])
        for (method, path, body) in writes {
            let response = try client.send(method, path, key: key, body: body)
            #expect(response.status == 503)
            #expect(try response.code == "write_disabled")
        }
        #expect(try client.list(key).status == 200)
    }

    @Test func `a stream key makes a row and is never shown again`() throws {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        for platform in ["facebook", "instagram", "rumble", "x", "tiktok", "custom"] {
            let made = try client.send(
                .post, "/v1/connections/manual", key: key,
                body: ["platform": .string(platform), "streamKey": "very-secret"])
            #expect(made.status == 201)
            #expect(try made.json["status"] == "active")
            #expect(!made.text.contains("very-secret"))
        }
        let list = try client.list(key)
        #expect(try list.ids.count == 6)
        #expect(!list.text.contains("very-secret"))
    }

    @Test func `what is unlinked is in no list, and is not another account's to unlink`() throws {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        let other = try client.sandbox.state.createAccount("b")
        try client.sandbox.state.addConnection(to: "a", platform: "kick", id: "c/1")
        #expect(try client.send(.delete, "/v1/connections/c%2F1", key: other).status == 404)
        let gone = try client.send(.delete, "/v1/connections/c%2F1", key: key)
        #expect(gone.status == 204 && gone.header("x-request-id") != nil && gone.body.isEmpty)
        #expect(try client.rows(key).isEmpty)
        #expect(try client.send(.delete, "/v1/connections/c%2F1", key: key).status == 404)
    }

    @Test func `the control decides without a browser`() throws {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        for platform in ["kick", "youtube"] {
            let link = try client.link(key, ["platform": .string(platform)])
            let ended = try client.control(.post, "/links/\(link.state)", [:])
            #expect(
                ended["connected"]
                    == (try client.rows(key).first {
                        $0["platform"] == .string(platform)
                    }?["id"]))
            #expect(
                try client.control(.post, "/links/\(link.state)", [:])["error"] == "invalid_state")
        }
        let denied = try client.link(key, ["platform": "twitch"])
        let ended = try client.control(.post, "/links/\(denied.state)", ["decision": "deny"])
        #expect(ended["error"] == "access_denied")
        #expect(try client.control(.get, "/links")["data"]?.arrayValue?.count == 3)
    }
}
