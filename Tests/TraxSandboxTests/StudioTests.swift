import HTTPClient
import JSON
import Testing
import TraxSandbox

@Suite struct StudioTests {
    @Test func `an account has a studio from the first, and more by the control, in pages`() throws
    {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        for name in ["two", "three"] {
            try client.control(.post, "/accounts/a/studios", ["name": .string(name)])
        }
        var names: [String] = []
        var ids: [String] = []
        var query = "?limit=2"
        while true {
            let page = try client.send(.get, "/v1/studios" + query, key: key)
            #expect(page.status == 200)
            ids += try page.ids
            names += try page.json["data"]?.arrayValue?.compactMap { $0["name"]?.stringValue } ?? []
            guard let cursor = try page.json["nextCursor"]?.stringValue else { break }
            query = "?limit=2&cursor=\(cursor)"
        }
        #expect(ids == ids.sorted() && ids.count == 3)
        #expect(Set(names) == ["Studio of a", "two", "three"])
    }

    @Test func `the list needs studios:read and is of the key's account alone`() throws {
        let client = try SandboxClient()
        let other = try client.sandbox.state.createAccount("b", scopes: ["connections:read"])
        let refused = try client.send(.get, "/v1/studios", key: other)
        #expect(refused.status == 403)
        #expect(try refused.json["error"]?["requiredScope"] == "studios:read")
        #expect(try client.send(.get, "/v1/studios").status == 401)
        #expect(try client.send(.get, "/v1/studios?limit=0", key: other).status == 403)
    }
}
