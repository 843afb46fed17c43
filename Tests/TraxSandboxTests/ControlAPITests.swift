import HTTPClient
import JSON
import Testing
import TraxSandbox

@Suite struct ControlAPITests {
    @Test func `a connection is created, broken, repaired, changed and removed from outside`()
        throws
    {
        let client = try SandboxClient()
        let account = try client.control(.post, "/accounts", ["account": "acct_1"])
        let key = try #require(account["apiKey"]?.stringValue)
        #expect(key.hasPrefix("sk_live_"))
        let row = try client.control(
            .post, "/accounts/acct_1/connections",
            ["platform": "twitch", "grantedScopes": ["x"], "color": "blue"])
        let id = try #require(row["id"]?.stringValue)
        let path = "/accounts/acct_1/connections/\(id)"
        func shown() throws -> JSONValue? { try client.list(key).json["data"]?.arrayValue?.first }
        #expect(try shown()?["status"] == "active")
        #expect(try shown()?["color"] == "blue")
        try client.control(.post, path + "/break")
        #expect(try shown()?["status"] == "expired")
        try client.control(.post, path + "/break", ["status": "revoked"])
        #expect(try shown()?["status"] == "revoked")
        try client.control(.post, path + "/repair")
        #expect(try shown()?["status"] == "active")
        try client.control(
            .patch, path,
            ["status": 7, "grantedScopes": nil, "id": "other", "remove": ["color"]])
        #expect(try shown()?["status"] == 7)
        #expect(try shown()?["grantedScopes"] == JSONValue.null)
        #expect(try shown()?["color"] == nil)
        #expect(try shown()?["id"] == .string(id))
        try client.control(.delete, path)
        #expect(try shown() == nil)
    }

    @Test func `many accounts are made at once, and given out as an accounts file`() throws {
        let client = try SandboxClient()
        let made = try client.control(
            .post, "/accounts", ["count": 3, "prefix": "u", "connections": 2])
        let keys = made["data"]?.arrayValue?.compactMap { $0["apiKey"]?.stringValue } ?? []
        #expect(Set(keys).count == 3)
        for key in keys { #expect(try client.list(key).ids.count == 2) }
        let csv = try client.send(.get, "/sandbox/accounts.csv").text
        #expect(
            csv
                == "account,credential\n"
                + zip(["u1", "u2", "u3"], keys).map { "\($0),\($1)\n" }.joined())
        let page = try client.control(.get, "/accounts?limit=2")
        #expect(page["nextAfter"] == "u2")
        let rest = try client.control(.get, "/accounts?limit=2&after=u2")
        #expect(rest["data"]?.arrayValue?.count == 1 && rest["nextAfter"] == nil)
        #expect(try client.control(.get, "/accounts/u1")["connections"]?.arrayValue?.count == 2)
        #expect(try client.control(.get, "/stats")["connections"] == 6)
    }

    @Test func `keys are added, revoked and restored`() throws {
        let client = try SandboxClient()
        _ = try client.sandbox.state.createAccount("a")
        let made = try client.control(.post, "/accounts/a/keys", ["scopes": ["studios:read"]])
        let key = try #require(made["apiKey"]?.stringValue)
        #expect(try client.list(key).status == 403)
        try client.control(.delete, "/keys/\(key)")
        #expect(try client.list(key).status == 401)
        try client.control(.put, "/keys/\(key)", ["scopes": ["connections:read"]])
        #expect(try client.list(key).status == 200)
        try client.control(.delete, "/accounts/a")
        #expect(try client.list(key).status == 401)
    }

    @Test func `the same seed gives the same keys and ids, also after a reset`() throws {
        let client = try SandboxClient(SandboxState(seed: 7))
        let body: JSONValue = ["account": "a", "connections": 2]
        let first = try client.control(.post, "/accounts", body)
        let rows = try client.control(.get, "/accounts/a")
        try client.control(.post, "/reset", ["seed": 7])
        #expect(try client.control(.post, "/accounts", body) == first)
        #expect(try client.control(.get, "/accounts/a") == rows)
        try client.control(.post, "/reset", ["seed": 8])
        #expect(try client.control(.post, "/accounts", body) != first)
    }

    @Test(arguments: [
        ("POST", "/accounts", #"{"account":"a b"}"#, 400), ("POST", "/accounts", "[]", 400),
        ("POST", "/accounts", "{", 400), ("POST", "/accounts", #"{"acount":"a"}"#, 400),
        ("POST", "/accounts", #"{"account":"taken"}"#, 409),
        ("POST", "/accounts", #"{"count":0}"#, 400), ("GET", "/accounts/none", "", 404),
        ("POST", "/accounts/none/connections", #"{"platform":"x"}"#, 404),
        ("POST", "/accounts/taken/connections", "{}", 400),
        ("DELETE", "/accounts/taken/connections/none", "", 404), ("DELETE", "/keys/x", "", 404),
        ("POST", "/faults", #"{"kind":"nonsense"}"#, 400),
        ("POST", "/faults", #"{"kind":"status","status":200}"#, 400),
        ("POST", "/faults", #"{"kind":"empty","account":"none"}"#, 404),
        ("DELETE", "/faults/9", "", 404), ("PUT", "/rate", #"{"perSecond":0}"#, 400),
        ("GET", "/nothing", "", 404), ("GET", "/accounts/%zz", "", 400),
        ("DELETE", "/accounts", "", 405), ("GET", "/reset", "", 405),
    ])
    func `a wrong request to the control says what is wrong`(
        _ method: String, _ path: String, _ body: String, _ status: Int
    ) throws {
        let client = try SandboxClient()
        _ = try client.sandbox.state.createAccount("taken")
        let http = try HTTPClient()
        let response = try http.perform(
            HTTPRequest(
                HTTPMethod(rawValue: method) ?? .get, url: client.sandbox.url + "/sandbox" + path,
                body: body.isEmpty ? nil : Array(body.utf8), timeout: .seconds(20)))
        #expect(response.status == status)
        if status != 405 { #expect(try response.json["error"]?["message"]?.stringValue != nil) }
    }

    @Test func `the guide names every fault and every page`() throws {
        let client = try SandboxClient()
        let guide = try client.send(.get, "/sandbox").text
        for kind in SandboxFault.Kind.allCases { #expect(guide.contains(kind.rawValue)) }
        #expect(guide.split(separator: "\n").allSatisfy { $0.count <= 110 })
    }

    @Test func `a taken port says so`() throws {
        let client = try SandboxClient()
        do {
            _ = try Sandbox(port: client.sandbox.port)
            Issue.record("two sandboxes on one port")
        } catch {
            #expect(error.kind == .cannotListen)
            #expect(error.reason.contains("Choose another port"))
        }
    }
}
