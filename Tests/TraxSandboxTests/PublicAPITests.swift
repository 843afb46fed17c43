import HTTPClient
import JSON
import Testing
import TraxSandbox

@Suite struct PublicAPITests {
    @Test func `health needs no key and has a request id`() throws {
        let client = try SandboxClient()
        let response = try client.send(.get, "/v1/health")
        #expect(response.status == 200)
        #expect(response.header("x-request-id")?.wholeMatch(of: /req_[0-9a-f]{16}/) != nil)
    }

    @Test func `a request id of the client's is echoed, on errors too`() throws {
        let client = try SandboxClient()
        for path in ["/v1/health", "/v1/connections", "/v1/nothing"] {
            let response = try client.send(.get, path, headers: [("X-Request-Id", "mine-1")])
            #expect(response.header("x-request-id") == "mine-1")
            if response.status != 200 {
                #expect(try response.json["error"]?["requestId"]?.stringValue == "mine-1")
            }
        }
    }

    @Test func `a row has id, platform, status, scopes and more`() throws {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        let id = try client.sandbox.state.addConnection(
            to: "a", platform: "youtube", grantedScopes: ["b", "a"])
        let response = try client.list(key)
        #expect(response.status == 200)
        #expect(response.header("content-type") == "application/json")
        let row = try #require(response.json["data"]?.arrayValue?.first)
        #expect(row["id"] == .string(id))
        #expect(row["platform"] == "youtube")
        #expect(row["status"] == "active")
        #expect(row["grantedScopes"] == ["b", "a"])
        #expect(row["displayName"] == "youtube of a")
        #expect(row["createdAt"]?.stringValue?.hasSuffix("Z") == true)
        #expect(try response.json["nextCursor"] == nil)
    }

    @Test func `a key sees its own account only, by either header`() throws {
        let client = try SandboxClient()
        let first = try client.sandbox.state.createAccount("a")
        let second = try client.sandbox.state.createAccount("b")
        try client.sandbox.state.addConnection(to: "a", platform: "kick", id: "c1")
        #expect(try client.list(first).ids == ["c1"])
        #expect(try client.list(second).text == #"{"data":[]}"#)
        let alias = try client.send(.get, "/v1/connections", headers: [("X-API-Key", first)])
        #expect(try alias.ids == ["c1"])
    }

    @Test func `a missing, unknown, malformed or revoked key is 401 invalid_key`() throws {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        try client.sandbox.state.revokeKey(key)
        let headers: [[(name: String, value: String)]] = [
            [], [("Authorization", "Bearer sk_live_none")], [("Authorization", "Basic \(key)")],
            [("Authorization", "Bearer \(key)")], [("X-API-Key", key)], [("Authorization", "")],
        ]
        for headers in headers {
            let response = try client.send(.get, "/v1/connections", headers: headers)
            #expect(response.status == 401)
            #expect(try response.code == "invalid_key")
        }
    }

    @Test func `a key without the scope is 403 and names it`() throws {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a", scopes: ["connections:write"])
        let response = try client.list(key)
        #expect(response.status == 403)
        #expect(try response.code == "insufficient_scope")
        #expect(try response.json["error"]?["requiredScope"] == "connections:read")
    }

    @Test func `pages follow each other by id, ascending by bytes, and the last has no cursor`()
        throws
    {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        let ids = ["b", "B", "a2", "a10", "é", "Z"]
        for id in ids {
            try client.sandbox.state.addConnection(to: "a", platform: "kick", id: id)
        }
        var seen: [String] = []
        var query = "?limit=2"
        while true {
            let page = try client.list(key, query)
            seen += try page.ids
            guard let cursor = try page.json["nextCursor"]?.stringValue else { break }
            #expect(cursor.wholeMatch(of: /[A-Za-z0-9_-]+/) != nil)
            query = "?limit=2&cursor=\(cursor)"
        }
        #expect(seen == ["B", "Z", "a10", "a2", "b", "é"])
    }

    @Test func `a cursor stays good when its row goes and others come`() throws {
        let client = try SandboxClient()
        let state = client.sandbox.state
        let key = try state.createAccount("a")
        for id in ["c1", "c3", "c5"] {
            try state.addConnection(to: "a", platform: "kick", id: id)
        }
        let cursor = try #require(
            try client.list(key, "?limit=2").json["nextCursor"]?.stringValue)
        try state.removeConnection("c3", of: "a")
        try state.addConnection(to: "a", platform: "kick", id: "c2")
        try state.addConnection(to: "a", platform: "kick", id: "c4")
        #expect(try client.list(key, "?cursor=\(cursor)").ids == ["c4", "c5"])
    }

    @Test func `the limit is 50 by default and 200 at most`() throws {
        let client = try SandboxClient()
        let state = client.sandbox.state
        let key = try state.createAccount("a")
        for _ in 0..<201 { try state.addConnection(to: "a", platform: "kick") }
        let counts = ["": 50, "?limit=200": 200, "?limit=9999": 200, "?limit=007": 7]
        for (query, count) in counts { #expect(try client.list(key, query).ids.count == count) }
        #expect(try client.list(key, "?limit=99999999999999999999999").ids.count == 200)
    }

    @Test(arguments: [
        "limit=0", "limit=-1", "limit=x", "limit=", "limit=1.5", "limit=%20", "cursor=!!",
        "cursor=YWJj", "cursor=_w",
    ])
    func `a bad limit or cursor is 400 invalid_request`(_ query: String) throws {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        let response = try client.list(key, "?" + query)
        #expect(response.status == 400)
        #expect(try response.code == "invalid_request")
    }

    @Test func `an empty cursor is the start`() throws {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        #expect(try client.list(key, "?cursor=").status == 200)
    }

    @Test func `beyond the bucket is 429 with Retry-After, for that key alone`() throws {
        let client = try SandboxClient(
            SandboxState(rate: SandboxRate(perSecond: 0.01, burst: 3)))
        let first = try client.sandbox.state.createAccount("a")
        let second = try client.sandbox.state.createAccount("b")
        for _ in 0..<3 { #expect(try client.list(first).status == 200) }
        let refused = try client.list(first)
        #expect(refused.status == 429)
        #expect(try refused.code == "rate_limited")
        let wait = try #require(refused.header("retry-after").flatMap { Int($0) })
        #expect((90...100).contains(wait))
        #expect(try client.list(second).status == 200)
    }

    @Test func `what is not there is 404, and another method 405, in the envelope`() throws {
        let client = try SandboxClient()
        #expect(try client.send(.get, "/v1/platforms").code == "not_found")
        #expect(try client.send(.get, "/").status == 404)
        let response = try client.send(.post, "/v1/connections", body: [:])
        #expect(response.status == 405)
        #expect(try response.code == "invalid_request")
    }
}
