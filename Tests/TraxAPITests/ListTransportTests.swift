import Crypto
import HTTPServer
import RelayCore
import Testing
import Threading

@testable import TraxAPI

@Suite struct ListTransportTests {
    private func request(
        _ cursor: String? = nil, key: String = "sk_CANARY", timeout: Duration = .seconds(30)
    ) -> PageRequest {
        PageRequest(
            credential: Secret(key), cursor: cursor, requestID: "w_01.1", timeout: timeout)
    }

    @Test func `a page is asked for as the API wants it`() throws {
        let upstream = try Upstream { _ in Upstream.page(["c1"]) }
        let transport = try ListTransport(upstream.endpoint(), pageLimit: 150)
        let outcomes = OneByOne.run(transport, request())
        guard case .answered(200, nil, false, _, let body) = outcomes.first else {
            Issue.record("\(outcomes)")
            return
        }
        #expect(body.contains(#""id":"c1""#))
        let sent = try #require(upstream.requests.first)
        #expect(sent.method == "GET")
        #expect(sent.path == "/v1/connections")
        #expect(sent.query.map { "\($0.name)=\($0.value)" } == ["limit=150"])
        #expect(sent.header("Authorization") == "Bearer sk_CANARY")
        #expect(sent.header("User-Agent") == "trax-relay/9.8.7")
        #expect(sent.header("X-Request-Id") == "w_01.1")
        #expect(sent.header("Accept") == "application/json")
        #expect(sent.header("Cookie") == nil)
    }

    @Test(arguments: ["abc", "a b&c=d+e%2F/?#", "ü🎥", "-._~", "\"<>\\^`{|}"])
    func `any cursor arrives as it was given`(cursor: String) throws {
        let upstream = try Upstream { _ in Upstream.page([]) }
        let transport = try ListTransport(upstream.endpoint(), pageLimit: 1)
        _ = OneByOne.run(transport, request(cursor))
        let sent = try #require(upstream.requests.first)
        #expect(sent.parameter("cursor") == cursor)
        #expect(sent.query.count == 2)
    }

    @Test func `every status is an answer, and a redirect leads nowhere`() throws {
        let upstream = try Upstream { request in
            if request.path == "/stolen" { return .text("{}") }
            let status = Int(request.parameter("cursor") ?? "") ?? 500
            return HTTPServerReply(
                status: status,
                headers: [
                    ("Location", "/stolen"), ("Retry-After", "7"), ("X-Request-Id", "req_9"),
                ])
        }
        let transport = try ListTransport(upstream.endpoint(), pageLimit: 1)
        let statuses = [301, 302, 307, 308, 401, 404, 429, 500, 503]
        let driver = OneByOne(transport, statuses.map { request("\($0)") })
        transport.run(driver)
        for (status, outcome) in zip(statuses, driver.outcomes) {
            let isThrottled = status == 429 || status == 503
            #expect(
                outcome
                    == .answered(
                        status: status, retryAfter: isThrottled ? "7" : nil, date: isThrottled,
                        requestID: "req_9", body: ""))
        }
        #expect(driver.outcomes.count == statuses.count)
        #expect(upstream.requests.count == statuses.count)
    }

    @Test(arguments: ["reset", "truncated", "too_large", "timed_out"])
    func `what brings no whole answer is named, and shows neither key nor cursor`(
        code: String
    ) throws {
        let upstream = try Upstream { _ in
            let page = Upstream.page((0..<200).map { "c\($0)" })
            switch code {
            case "reset": return .dropped(reset: true)
            case "truncated": return page.truncated(after: 50)
            case "timed_out": return page.delayed(by: .seconds(60))
            default: return page
            }
        }
        let limit = code == "too_large" ? 1000 : 4 << 20
        let transport = try ListTransport(upstream.endpoint(maximumBody: limit), pageLimit: 1)
        let timeout: Duration = code == "timed_out" ? .milliseconds(300) : .seconds(30)
        let outcomes = OneByOne.run(transport, request("CANARY", timeout: timeout))
        #expect(outcomes.map(\.code) == [code])
        #expect(!"\(outcomes)".contains("CANARY"))
    }

    @Test func `nobody there is unreachable`() throws {
        let endpoint: TraxEndpoint
        do {
            let upstream = try Upstream { _ in Upstream.page([]) }
            endpoint = upstream.endpoint()
            upstream.server.stop()
        }
        let outcomes = OneByOne.run(try ListTransport(endpoint, pageLimit: 1), request())
        #expect(outcomes.map(\.code) == ["unreachable"])
    }

    @Test func `a key that no header can hold is refused before anything is sent`() throws {
        let upstream = try Upstream { _ in Upstream.page([]) }
        let transport = try ListTransport(upstream.endpoint(), pageLimit: 1)
        let outcomes = OneByOne.run(transport, request(key: "CANARY\r\nX-Evil: 1"))
        #expect(outcomes.map(\.code) == ["invalid_request"])
        #expect(!"\(outcomes)".contains("CANARY"))
        #expect(upstream.requests.isEmpty)
    }

    @Test func `a cancelled request is not heard of again, and its place is free`() throws {
        let upstream = try Upstream { _ in Upstream.page([]).delayed(by: .seconds(60)) }
        let transport = try ListTransport(upstream.endpoint(), pageLimit: 1)
        let driver = OneByOne(transport, (0..<9).map { request("\($0)") })
        driver.cancels = true
        transport.run(driver)
        #expect(driver.outcomes.isEmpty)
        #expect(transport.free == 4)
    }

    @Test func `it stops when another thread says so`() throws {
        final class Idle: PageDriver {
            func turn() -> Duration? { nil }
            func answered(_ token: WalkToken, _ answer: PageAnswer) {}
            func failed(_ token: WalkToken, _ failure: PageFailure) {}
        }
        let upstream = try Upstream { _ in Upstream.page([]) }
        let transport = try ListTransport(upstream.endpoint(), pageLimit: 1)
        let thread = OSThread(name: "transport") { transport.run(Idle()) }
        transport.wake()
        transport.stop()
        #expect(thread.join(timeout: .seconds(60)))
    }

    @Test func `certificates that cannot be read are said at once`() throws {
        let endpoint = TraxEndpoint(
            baseURL: "https://127.0.0.1", userAgent: "x", caFile: "/nowhere/ca.pem")
        #expect(throws: TraxError.self) { try ListTransport(endpoint, pageLimit: 1) }
    }
}
