import ConnectionEvents
import Crypto
import HTTPClient
import HTTPServer
import Testing
import Threading

@testable import TraxAPI

@Suite struct TraxRetryTests {
    /// Answers by the number of the request, from 1.
    private func upstream(
        _ replies: @escaping @Sendable (Int) -> HTTPServerReply
    ) throws -> Upstream {
        let count = Lock(0)
        return try Upstream { _ in
            replies(
                count.withLock { count in
                    count += 1
                    return count
                })
        }
    }

    @Test func `what reads is asked again after trouble`() async throws {
        let troubles: [HTTPServerReply] = [
            Upstream.error(500, "internal"), .text("", status: 502), .dropped(reset: true),
            Upstream.error(429, "rate_limited"), Upstream.page(["c1"]).truncated(after: 5),
            .text("", status: 503),
        ]
        for trouble in troubles {
            let upstream = try upstream { $0 < 3 ? trouble : Upstream.page(["c1"]) }
            let rows = try await upstream.client().connections().all()
            #expect(rows.count == 1)
            #expect(upstream.requests.count >= 3)
        }
    }

    @Test func `attempts are bounded`() async throws {
        let upstream = try upstream { _ in Upstream.error(500, "internal") }
        let client = try upstream.client()
        let error = await failure { try await client.connections().all() }
        #expect(error?.code == "internal")
        #expect(upstream.requests.count == 3)
        let once = try upstream.client(.never)
        _ = await failure { try await once.connections().all() }
        #expect(upstream.requests.count == 4)
    }

    @Test func `what makes something is never sent twice when it may have been done`() async throws
    {
        let troubles: [HTTPServerReply] = [
            Upstream.error(500, "internal"), .text("", status: 502), .dropped(reset: true),
            .dropped(), Upstream.error(503, "write_disabled"), Upstream.error(429, "rate_limited"),
            Upstream.json(#"{"authorizationUrl""#).truncated(after: 5),
        ]
        for trouble in troubles {
            let upstream = try upstream { number in
                number == 1 ? Upstream.page([]) : trouble
            }
            let client = try upstream.client()
            // Over a kept connection, a client might send anything again by itself.
            _ = try await client.connections().all()
            let error = await failure { try await client.link(LinkRequest(.kick)) }
            #expect(error != nil)
            #expect(upstream.requests.count == 2)
        }
    }

    @Test func `what makes something is sent again when it was surely not done`() async throws {
        for status in [429, 503] {
            let upstream = try upstream { number in
                number < 3
                    ? Upstream.error(status, "rate_limited", retryAfter: "1")
                    : Upstream.json(#"{"authorizationUrl":"https://a/","state":"s"}"#)
            }
            _ = try await upstream.client().link(LinkRequest(.kick))
            #expect(upstream.requests.count == 3)
        }
    }

    @Test func `a server that asks for too long a wait is not waited for`() async throws {
        let upstream = try upstream { _ in
            Upstream.error(503, "maintenance", retryAfter: "900")
        }
        let client = try upstream.client()
        let error = await failure { try await client.connections().all() }
        #expect(error?.kind == .throttled)
        #expect(error?.retryAfter == .seconds(900))
        #expect(upstream.requests.count == 1)
    }

    @Test func `a deletion whose answer was lost is done when the row is gone`() async throws {
        let lost = try upstream { number in
            number == 1 ? .dropped(reset: true) : Upstream.error(404, "not_found")
        }
        try await lost.client().unlink(try #require(ConnectionID("c1")))
        #expect(lost.requests.count == 2)
        let never = try upstream { _ in Upstream.error(404, "not_found") }
        let client = try never.client()
        let id = try #require(ConnectionID("c1"))
        #expect(await failure { try await client.unlink(id) }?.code == "not_found")
    }

    @Test func `an error says whether the call may have been carried out`() async throws {
        let reset = try upstream { _ in .dropped(reset: true) }
        let client = try reset.client()
        let lost = await failure { try await client.link(LinkRequest(.kick)) }
        #expect(lost?.mayHaveBeenDone == true)
        let refused = try upstream { _ in Upstream.error(401, "invalid_key") }.client()
        let plain = await failure { try await refused.link(LinkRequest(.kick)) }
        #expect(plain?.mayHaveBeenDone == false)
        let read = await failure { try await client.connections().all() }
        #expect(read?.mayHaveBeenDone == false)
    }

    @Test func `nobody there is worth another attempt for every call`() {
        let rules = RetryRules()
        for method in HTTPMethod.allCases {
            let unreachable = rules.pause(
                after: 1, .failed(HTTPError(.unreachable, "No.")), method: method, chance: 0)
            #expect(unreachable == .milliseconds(125))
            let certificate = rules.pause(
                after: 1, .failed(HTTPError(.tls, "No.")), method: method, chance: 0)
            #expect(certificate == nil)
            let timedOut = rules.pause(
                after: 1, .failed(HTTPError(.timedOut, "No.")), method: method, chance: 0)
            #expect((timedOut == nil) == (method == .post || method == .patch))
        }
    }

    @Test func `pauses double, are spread, and end`() {
        let rules = RetryRules(
            attempts: 10, firstPause: .seconds(1), longestPause: .seconds(3))
        func pause(_ attempt: Int, _ chance: Double) -> Duration? {
            rules.pause(
                after: attempt, .failed(HTTPError(.reset, "No.")), method: .get, chance: chance)
        }
        #expect(pause(1, 0) == .milliseconds(500))
        #expect(pause(2, 0) == .seconds(1))
        #expect(pause(9, 0) == .milliseconds(1500))
        #expect(pause(10, 0) == nil)
    }
}
