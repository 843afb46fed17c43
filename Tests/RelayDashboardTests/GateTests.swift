import JSON
import Testing

@testable import HTTPServer
@testable import RelayDashboard

@Suite struct GateTests {
    private func refusal(
        _ headers: [(name: String, value: String)], bearsToken: Bool? = nil
    ) -> HTTPServerReply? {
        Gate.refusal(
            of: HTTPServerRequest(
                method: "GET", target: "/api/holds", headers: headers, body: [],
                peer: "127.0.0.1"),
            bearsToken: bearsToken)
    }

    @Test(arguments: [
        "127.0.0.1", "127.0.0.1:7080", "127.9.8.7:1", "localhost", "LOCALHOST:7080", "localhost.",
        "[::1]", "[::1]:7080",
    ])
    func `without a token whoever names this machine may ask`(host: String) {
        #expect(refusal([("Host", host)]) == nil)
    }

    @Test(arguments: [
        "", "example.com", "example.com:7080", "127.0.0.1.example.com", "localhost.example.com",
        "10.0.0.1:7080", "0.0.0.0", "127.0.0", "127.0.0.256", "127.0.0.+1", "127.0.0.1 ", "[::2]",
        "[::1", "localhost@example.com", "[::1].example.com",
    ])
    func `a name that leads here from elsewhere is refused`(host: String) {
        #expect(refusal([("Host", host)])?.status == 403)
    }

    @Test func `without a Host nobody may ask`() {
        #expect(refusal([])?.status == 403)
    }

    @Test func `a page of this address may ask, and no page from elsewhere`() {
        let host = (name: "Host", value: "127.0.0.1:7080")
        #expect(refusal([host, ("Origin", "http://127.0.0.1:7080")]) == nil)
        for origin in [
            "http://evil.example", "https://127.0.0.1:7080", "http://127.0.0.1:7081",
            "http://localhost:7080", "null", "",
        ] {
            #expect(refusal([host, ("Origin", origin)])?.status == 403, "\(origin)")
        }
    }

    @Test func `where a token is set it alone decides`() throws {
        let elsewhere: [(name: String, value: String)] = [
            ("Host", "relay.example"), ("Origin", "http://evil.example"),
        ]
        #expect(refusal(elsewhere, bearsToken: true) == nil)
        let refused = try #require(refusal([("Host", "localhost")], bearsToken: false))
        #expect(refused.status == 401)
        #expect(refused.headers.contains { $0.name == "WWW-Authenticate" && $0.value == "Bearer" })
    }
}
