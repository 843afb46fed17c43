import Crypto
import HTTPClient
import HTTPServer
import JSON
import RelayCore
import Testing

@testable import RelayDashboard
@testable import RelayRuntime

@Suite struct RelayPagesTests {
    /// The pages behind a server of their own.
    private final class Site {
        let server: HTTPServer
        let client: HTTPClient

        init(token: String? = nil, status: RelayStatus = busyStatus()) throws {
            let secret = token.map { Secret($0) }
            let pages = RelayPages(token: { secret }, version: "1.2.3", libraries: []) { status }
            server = try HTTPServer(host: "127.0.0.1", port: 0) { pages.reply(to: $0) }
            client = try HTTPClient()
        }

        func ask(
            _ path: String, _ method: HTTPMethod = .get,
            headers: [(name: String, value: String)] = []
        ) throws -> HTTPResponse {
            try client.perform(
                HTTPRequest(
                    method, url: "http://127.0.0.1:\(server.port)\(path)", headers: headers,
                    timeout: .seconds(30)))
        }
    }

    @Test func `alive says ok`() throws {
        let answer = try Site().ask("/healthz")
        #expect(answer.status == 200)
        #expect(String(decoding: answer.body, as: UTF8.self) == "ok\n")
    }

    @Test func `ready is 200 and says how things stand`() throws {
        let answer = try Site().ask("/readyz")
        #expect(answer.status == 200)
        #expect(answer.header("content-type") == "application/json")
        let body = try JSONValue(parsing: answer.body)
        #expect(body["ready"]?.boolValue == true)
        #expect(body["reasons"]?.arrayValue?.isEmpty == true)
        #expect(body["details"]?["accounts"]?.integerValue == 7)
        #expect(body["details"]?["blind"]?.integerValue == 1)
        #expect(body["details"]?["secondsSinceSealedWalk"]?.integerValue == 1)
    }

    @Test func `not ready is 503 with each reason`() throws {
        var status = busyStatus()
        status.accountsFileProblem = "line 3: \"quoted\""
        status.poll.fleetRefused = 1
        status.poll.lastSealed = nil
        let answer = try Site(status: status).ask("/readyz")
        #expect(answer.status == 503)
        let body = try JSONValue(parsing: answer.body)
        #expect(body["ready"]?.boolValue == false)
        let reasons = body["reasons"]?.arrayValue ?? []
        #expect(reasons.map { $0["code"]?.stringValue } == ["accounts_file", "fleet_refused"])
        #expect(reasons.first?["message"]?.stringValue == "line 3: \"quoted\"")
        #expect(body["details"]?["secondsSinceSealedWalk"] == .null)
    }

    @Test func `metrics are Prometheus text`() throws {
        let answer = try Site().ask("/metrics")
        #expect(answer.status == 200)
        #expect(answer.header("content-type") == "text/plain; version=0.0.4; charset=utf-8")
        #expect(
            try PrometheusPage(String(decoding: answer.body, as: UTF8.self)).value("ready") == 1)
    }

    @Test(arguments: ["/healthz", "/readyz", "/metrics"])
    func `a page answers GET and HEAD without a token, and nothing else`(path: String) throws {
        let site = try Site(token: "s3cret")
        #expect(try site.ask(path).status == 200)
        let head = try site.ask(path, .head)
        #expect(head.status == 200)
        #expect(head.body.isEmpty)
        for method in [HTTPMethod.post, .put, .delete] {
            let refused = try site.ask(path, method)
            #expect(refused.status == 405)
            let error = try JSONValue(parsing: refused.body)["error"]
            #expect(error?["message"]?.stringValue == "This page answers GET, HEAD alone.")
            #expect(error?["code"]?.stringValue == "method_not_allowed")
            #expect(error?["requestId"]?.stringValue?.isEmpty == false)
        }
    }

    @Test func `with a token all else asks for it, and without one there is nothing`() throws {
        #expect(try Site().ask("/api/accounts").status == 404)
        let site = try Site(token: "s3cret")
        let path = "/api/accounts"
        let refused = try site.ask(path)
        #expect(refused.status == 401)
        #expect(refused.header("www-authenticate") == "Bearer")
        let body = try JSONValue(parsing: refused.body)
        #expect(body["error"]?["code"]?.stringValue == "unauthorized")
        for wrong in ["Bearer s3cre", "Bearer s3crets", "Basic s3cret", "s3cret", "Bearer "] {
            #expect(try site.ask(path, headers: [("Authorization", wrong)]).status == 401)
        }
        for right in ["Bearer s3cret", "bearer s3cret"] {
            #expect(try site.ask(path, headers: [("Authorization", right)]).status == 404)
        }
    }
}
