import HTTPClient
import JSON
import Testing
import TraxSandbox

@Suite struct ScenarioTests {
    private static let text = #"""
        {"speed": 1000000, "accounts": 50, "prefix": "u", "connections": 3,
         "breakage": {"perDay": 2, "repairAfter": 7200, "repaired": 0.6, "statuses": ["revoked"]},
         "outages": [{"at": 3600, "seconds": 60, "every": 7200, "kind": "status", "status": 503}]}
        """#

    @Test func `the same seed tells the same story, however often one looks`() throws {
        func story(_ looks: Int) throws -> JSONValue {
            let client = try SandboxClient(SandboxState(seed: 5))
            let scenario = try Scenario(parsing: Array(Self.text.utf8))
            let state = client.sandbox.state
            return try state.change { (state) throws(SandboxError) in
                _ = try state.begin(scenario)
                for look in 1...looks {
                    state.catchUp(at: .milliseconds(400 * look / looks))
                }
                return state.story
            }
        }
        let once = try story(1)
        #expect(try story(1) == once)
        #expect(try story(97) == once)
        #expect((once["breaks"]?.integerValue ?? 0) > 500)
        #expect((once["repairs"]?.integerValue ?? 0) > 100)
        #expect((once["relinks"]?.integerValue ?? 0) > 20)
        #expect((once["unlinks"]?.integerValue ?? 0) > 20)
        #expect((once["outages"]?.integerValue ?? 0) > 40)
    }

    @Test func `a scenario is begun, seen and ended from outside`() throws {
        let client = try SandboxClient()
        let scenario = try JSONValue(parsing: Array(Self.text.utf8))
        let made = try client.control(.post, "/scenario", scenario)["data"]?.arrayValue ?? []
        #expect(made.count == 50)
        let key = try #require(made.first?["apiKey"]?.stringValue)
        #expect(try client.control(.get, "/scenario")["breaks"] != nil)
        try client.control(.delete, "/scenario")
        try client.control(.delete, "/faults")
        #expect(try client.list(key).ids.count >= 3)
        #expect(try client.send(.get, "/sandbox/scenario").status == 404)
    }

    @Test(arguments: [
        #"{"speed":0}"#, #"{"accounts":-1}"#, #"{"account":1}"#, #"{"breakage":[]}"#,
        #"{"breakage":{"perDay":-1}}"#, #"{"breakage":{"repaired":2}}"#, #"{"outages":[1]}"#,
        #"{"outages":[{"kind":"none"}]}"#, #"{"outages":[{"kind":"empty","seconds":0}]}"#, "[]",
        "{",
        #"{"outages":[{"kind":"empty","seconds":60,"every":60}]}"#,
        #"{"breakage":{"statuses":[]}}"#,
    ])
    func `a wrong scenario says what is wrong`(_ text: String) {
        #expect(throws: SandboxError.self) { try Scenario(parsing: Array(text.utf8)) }
    }
}
