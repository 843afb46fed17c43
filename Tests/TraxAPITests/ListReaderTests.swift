import ConnectionEvents
import Crypto
import HTTPServer
import RelayCore
import Testing

@testable import TraxAPI

@Suite struct ListReaderTests {
    private let id = WalkID(start: Timestamp(milliseconds: 1_796_040_000_000), random: (1, 2))
    private let now = Timestamp(milliseconds: 1_796_040_001_000)

    private func walk(
        _ upstream: Upstream, limits: WalkLimits = WalkLimits(), maximumBody: Int = 4 << 20,
        timeout: Duration = .seconds(30), pause: () -> Void = {}
    ) throws -> Result<SealedWalk, WalkFailure> {
        let reader = try ListReader(
            upstream.endpoint(maximumBody: maximumBody), pageLimit: 2, limits: limits,
            requestTimeout: timeout)
        return reader.walk(id, credential: Secret("sk_CANARY"), pause: pause, now: { now })
    }

    private func code(_ result: Result<SealedWalk, WalkFailure>) -> String? {
        guard case .failure(let failure) = result else { return nil }
        #expect(!"\(failure)".contains("CANARY"))
        return failure.code
    }

    @Test func `it reads all pages, pausing between them`() throws {
        let upstream = try Upstream { request in
            switch request.parameter("cursor") {
            case nil: Upstream.page(["c1", "c2"], next: "p&2")
            case "p&2": Upstream.page(["c3", "c4"], next: "p3")
            default: Upstream.page(["c5"])
            }
        }
        var pauses = 0
        let sealed = try walk(upstream, pause: { pauses += 1 }).get()
        #expect(sealed.rows.map(\.id.text) == ["c1", "c2", "c3", "c4", "c5"])
        #expect(sealed.id == id)
        #expect(sealed.sealedAt == now)
        #expect(pauses == 2)
        let requests = upstream.requests
        #expect(requests.map { $0.parameter("limit") } == ["2", "2", "2"])
        #expect(
            requests.map { $0.header("X-Request-Id") }
                == [1, 2, 3].map { id.requestID(page: $0) })
        #expect(requests.allSatisfy { $0.header("Authorization") == "Bearer sk_CANARY" })
        #expect(requests.allSatisfy { $0.header("Accept") == "application/json" })
        #expect(requests.allSatisfy { $0.header("User-Agent") == "trax-relay/9.8.7" })
    }

    @Test func `what is no list is a failure, named`() throws {
        let cases: [(HTTPServerReply, String)] = [
            (.text("<html>"), "not_json"),
            (.text("{}"), "bad_envelope"),
            (.text(#"{"data":[{}]}"#), "bad_row"),
            (Upstream.page(["c1", "c1"]), "duplicate_id"),
            (HTTPServerReply(status: 204), "no_content"),
            (HTTPServerReply(status: 302, headers: [("Location", "/x")]), "redirect"),
            (.text("no", status: 404), "not_found"),
            (.text("no", status: 401), "unauthorized_without_envelope"),
            (.text(#"{"error":{"code":"invalid_key"}}"#, status: 401), "refused"),
            (
                HTTPServerReply(status: 429, headers: [("Retry-After", "3")]), "throttled"
            ),
            (.text("oops", status: 500), "http_5xx"),
            (.dropped(reset: true), "reset"),
            (Upstream.page(["c1"]).truncated(after: 9), "truncated"),
        ]
        for (reply, expected) in cases {
            let upstream = try Upstream { _ in reply }
            #expect(code(try walk(upstream)) == expected)
            #expect(upstream.requests.allSatisfy { $0.path == "/v1/connections" })
        }
    }

    @Test func `a second page that fails leaves nothing`() throws {
        let upstream = try Upstream { request in
            request.parameter("cursor") == nil
                ? Upstream.page(["c1"], next: "CANARY") : .text("oops", status: 502)
        }
        #expect(code(try walk(upstream)) == "http_5xx")
    }

    @Test func `cursors that cycle, and limits that trip, fail the walk`() throws {
        let cycling = try Upstream { _ in Upstream.page(["c1"], next: "again") }
        #expect(code(try walk(cycling)) == "cursor_repeated")
        let endless = try Upstream { request in
            let number = Int(request.parameter("cursor") ?? "0") ?? 0
            return Upstream.page(["c\(number)"], next: "\(number + 1)")
        }
        #expect(code(try walk(endless, limits: WalkLimits(pages: 5))) == "too_many_pages")
        #expect(endless.requests.count == 5)
        #expect(code(try walk(endless, limits: WalkLimits(rows: 3))) == "too_many_rows")
        #expect(code(try walk(endless, maximumBody: 20)) == "too_large")
    }

    @Test func `a slow answer times out`() throws {
        let upstream = try Upstream { _ in Upstream.page([]).delayed(by: .seconds(60)) }
        #expect(code(try walk(upstream, timeout: .milliseconds(300))) == "timed_out")
    }

    @Test func `a probe asks for the API's health, without a credential`() throws {
        let upstream = try Upstream { _ in .text("sick", status: 503) }
        let reader = try ListReader(
            upstream.endpoint(), pageLimit: 2, limits: WalkLimits(), requestTimeout: .seconds(30))
        #expect(try reader.probe() == 503)
        let sent = try #require(upstream.requests.first)
        #expect(sent.path == "/v1/health")
        #expect(sent.query.isEmpty)
        #expect(sent.header("Authorization") == nil)
        upstream.server.stop()
        #expect {
            try reader.probe()
        } throws: { error in
            (error as? TraxError)?.kind == .unavailable
        }
    }
}
