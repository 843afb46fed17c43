import HTTPClient
import JSON
import Testing
import TraxSandbox

@Suite struct SandboxFaultTests {
    /// A sandbox with one account of two rows.
    private func ready() throws -> (client: SandboxClient, key: String) {
        let client = try SandboxClient()
        let key = try client.sandbox.state.createAccount("a")
        for id in ["c1", "c2"] {
            try client.sandbox.state.addConnection(to: "a", platform: "youtube", id: id)
        }
        return (client, key)
    }

    private func failure(_ client: SandboxClient, _ key: String) -> HTTPError.Kind? {
        do {
            _ = try client.list(key)
            return nil
        } catch let error as HTTPError {
            return error.kind
        } catch {
            return nil
        }
    }

    @Test func `a fault acts as often as it should, then the truth is back`() throws {
        let (client, key) = try ready()
        let made = try client.control(
            .post, "/faults", ["kind": "status", "status": 503, "retryAfter": 7, "count": 2])
        #expect(made["count"] == 2)
        for _ in 0..<2 {
            let response = try client.list(key)
            #expect(response.status == 503)
            #expect(response.header("retry-after") == "7")
            #expect(try response.code == "internal")
        }
        #expect(try client.list(key).ids == ["c1", "c2"])
        #expect(try client.control(.get, "/faults")["data"] == [])
    }

    @Test func `a fault without a count acts until it is cleared, for its account alone`() throws {
        let (client, key) = try ready()
        let other = try client.sandbox.state.createAccount("b")
        let made = try client.control(
            .post, "/faults", ["kind": "status", "status": 401, "account": "a"])
        for _ in 0..<5 { #expect(try client.list(key).code == "invalid_key") }
        #expect(try client.list(other).status == 200)
        try client.control(.delete, "/faults/\(made["id"]?.integerValue ?? 0)")
        #expect(try client.list(key).status == 200)
        try client.control(.post, "/faults", ["kind": "empty"])
        try client.control(.delete, "/faults")
        #expect(try client.list(key).ids.count == 2)
    }

    @Test func `answers that break off or never come are what a client sees as such`() throws {
        let (client, key) = try ready()
        let kinds: [(SandboxFault.Kind, HTTPError.Kind)] = [
            (.truncate, .truncated), (.reset, .reset), (.drop, .reset),
        ]
        for (fault, expected) in kinds {
            // Two, for a client may try a kept connection's failure once more.
            try client.sandbox.state.inject(SandboxFault(fault, count: 2))
            #expect(failure(client, key) == expected)
            client.sandbox.state.clearFaults()
            #expect(try client.list(key).status == 200)
        }
    }

    @Test func `answers that are none of the API come as they should`() throws {
        let (client, key) = try ready()
        func answer(_ fault: SandboxFault) throws -> HTTPResponse {
            var once = fault
            once.count = 1
            try client.sandbox.state.inject(once)
            return try client.list(key)
        }
        let html = try answer(SandboxFault(.html))
        #expect(html.status == 200 && html.text.hasPrefix("<!doctype html>"))
        let proxy = try answer(SandboxFault(.proxy, status: 502))
        #expect(proxy.status == 502 && proxy.header("content-type") == "text/html")
        #expect(try answer(SandboxFault(.garbage)).json["data"]?.arrayValue == nil)
        #expect(try answer(SandboxFault(.empty)).text == #"{"data":[]}"#)
        let none = try answer(SandboxFault(.noContent))
        #expect(none.status == 204 && none.body.isEmpty)
        let redirect = try answer(SandboxFault(.redirect))
        #expect(redirect.status == 302 && redirect.header("location") == "/v1/elsewhere")
        #expect(try answer(SandboxFault(.doubleRow)).ids == ["c1", "c2", "c2"])
        #expect(try answer(SandboxFault(.badRow)).json["data"]?.arrayValue?.count == 3)
    }

    @Test func `a cursor can cycle, and a later page alone can fail`() throws {
        let (client, key) = try ready()
        let fault = try client.sandbox.state.inject(SandboxFault(.cursorLoop))
        let first = try #require(try client.list(key).json["nextCursor"]?.stringValue)
        let second = try client.list(key, "?cursor=\(first)")
        #expect(try second.json["nextCursor"]?.stringValue == first)
        #expect(try second.ids == ["c1", "c2"])
        try client.sandbox.state.change { (state) throws(SandboxError) in
            try state.clearFault(fault)
        }
        try client.sandbox.state.inject(SandboxFault(.status, laterPages: true, status: 500))
        let page = try client.list(key, "?limit=1")
        let cursor = try #require(try page.json["nextCursor"]?.stringValue)
        #expect(try client.list(key, "?limit=1&cursor=\(cursor)").status == 500)
    }

    @Test func `a delay comes with whatever else fits, and holds no other account up`() throws {
        let (client, key) = try ready()
        let other = try client.sandbox.state.createAccount("b")
        try client.sandbox.state.inject(
            SandboxFault(.delay, account: "a", count: 1, delay: .milliseconds(150)))
        try client.sandbox.state.inject(SandboxFault(.status, account: "a", count: 1, status: 500))
        #expect(try client.list(other).totalTime < .seconds(10))
        let late = try client.list(key)
        #expect(late.status == 500)
        #expect(late.totalTime >= .milliseconds(150))
        #expect(try client.list(key).status == 200)
    }
}
