import ConnectionEvents
import Crypto
import HTTPServer
import JSON
import Testing
import Threading
import TraxSandbox

@testable import TraxAPI

/// A client of an upstream that does what a test says.
extension Upstream {
    func client(
        _ rules: RetryRules = RetryRules(
            attempts: 3, firstPause: .milliseconds(1), longestPause: .seconds(2)),
        timeout: Duration = .seconds(20)
    ) throws -> TraxClient {
        try TraxClient(
            endpoint(), credential: Secret("sk_CANARY"), requestTimeout: timeout, retrying: rules)
    }

    static func error(
        _ status: Int, _ code: String, scope: String? = nil, retryAfter: String? = nil
    ) -> HTTPServerReply {
        let more = scope.map { #","requiredScope":"\#($0)""# } ?? ""
        return HTTPServerReply(
            status: status,
            headers: [("Content-Type", "application/json"), ("X-Request-Id", "req_1")]
                + (retryAfter.map { [("Retry-After", $0)] } ?? []),
            body: Array(
                #"{"error":{"code":"\#(code)","message":"No.","requestId":"req_1"\#(more)}}"#.utf8))
    }

    static func json(_ text: String, status: Int = 200) -> HTTPServerReply {
        .text(text, status: status, contentType: "application/json")
    }
}

/// The error of a call that must fail.
func failure(_ body: () async throws -> some Sendable) async -> TraxError? {
    do {
        _ = try await body()
        return nil
    } catch {
        #expect(!"\(error)".contains("CANARY"))
        return error as? TraxError
    }
}

@Suite struct TraxClientTests {
    private let id: ConnectionID

    init() throws { id = try #require(ConnectionID("c/1 ä")) }

    @Test func `each call goes to its path with its body and the credential`() async throws {
        let upstream = try Upstream { request in
            switch (request.method, request.path) {
            case ("POST", "/v1/connections/link"):
                Upstream.json(#"{"authorizationUrl":"https://p.example/a?b=c","state":"s1"}"#)
            case ("POST", "/v1/connections/manual"):
                Upstream.json(#"{"id":"m1","platform":"rumble","status":"active"}"#, status: 201)
            case ("DELETE", _): HTTPServerReply(status: 204)
            case ("GET", "/v1/studios"): Upstream.json(#"{"data":[{"id":"s1","name":"One"}]}"#)
            default: Upstream.json("{}")
            }
        }
        let client = try upstream.client()
        let ticket = try await client.link(
            LinkRequest(
                .youtube, returnTo: "https://app.traxstreaming.live/x", scopes: ["a"],
                reconnecting: id))
        #expect(ticket.authorizationURL == "https://p.example/a?b=c")
        #expect(ticket.state.text == "s1")
        let manual = try await client.addManualKey(ManualKey(.rumble, streamKey: "live_1"))
        #expect(manual.id.text == "m1")
        #expect(manual.platform == .rumble)
        #expect(manual.status == .active)
        try await client.unlink(id)
        try await client.health()
        let studios = try await client.studios(pageSize: 7).all()
        #expect(studios.map(\.id) == ["s1"])
        #expect(studios.first?.name == "One")
        let asked = upstream.requests
        #expect(
            asked.map(\.path) == [
                "/v1/connections/link", "/v1/connections/manual", "/v1/connections/c%2F1%20%C3%A4",
                "/v1/health", "/v1/studios",
            ])
        #expect(
            try JSONValue(parsing: asked[0].body) == [
                "platform": "youtube", "returnTo": "https://app.traxstreaming.live/x",
                "scopes": ["a"], "reconnectConnectionId": "c/1 ä",
            ])
        #expect(
            try JSONValue(parsing: asked[1].body) == ["platform": "rumble", "streamKey": "live_1"])
        #expect(asked[4].parameter("limit") == "7")
        #expect(
            asked.map { $0.header("Authorization") != nil } == [true, true, true, false, true])
    }

    @Test func `a link asks for nothing that it was not given`() async throws {
        let upstream = try Upstream { _ in
            Upstream.json(#"{"authorizationUrl":"http://p.example/","state":"s"}"#)
        }
        _ = try await upstream.client().link(LinkRequest(TraxPlatform(rawValue: "new")))
        #expect(try JSONValue(parsing: upstream.requests[0].body) == ["platform": "new"])
    }

    @Test func `every error keeps code, message, request id and scope`() async throws {
        let cases: [(HTTPServerReply, TraxError.Kind, String, Int)] = [
            (Upstream.error(400, "invalid_request"), .invalid, "invalid_request", 400),
            (Upstream.error(401, "invalid_key"), .refused, "invalid_key", 401),
            (
                Upstream.error(403, "insufficient_scope", scope: "connections:write"), .refused,
                "insufficient_scope", 403
            ),
            (Upstream.error(404, "not_found"), .invalid, "not_found", 404),
            (Upstream.error(409, "brand_new_code"), .invalid, "brand_new_code", 409),
            (
                Upstream.error(429, "rate_limited", retryAfter: "60"), .throttled, "rate_limited",
                429
            ),
            (Upstream.error(500, "internal"), .unavailable, "internal", 500),
            (Upstream.error(503, "write_disabled"), .unavailable, "write_disabled", 503),
        ]
        for (reply, kind, code, status) in cases {
            let upstream = try Upstream { _ in reply }
            let client = try upstream.client()
            let error = await failure { try await client.link(LinkRequest(.youtube)) }
            #expect(error?.kind == kind)
            #expect(error?.code == code)
            #expect(error?.status == status)
            #expect(error?.requestID == "req_1")
            #expect(error?.requiredScope == (status == 403 ? "connections:write" : nil))
            #expect(error?.retryAfter == (status == 429 ? .seconds(60) : nil))
            #expect(error?.reason.contains("\(status) \(code): No.") == true)
            #expect(upstream.requests.count == 1)
        }
    }

    @Test func `what is not the API's is never taken for its word`() async throws {
        let cases: [(HTTPServerReply, String, TraxError.Kind)] = [
            (.text("<h1>no</h1>", status: 401), "unauthorized_without_envelope", .unavailable),
            (.text("<h1>no</h1>", status: 404), "not_found_without_envelope", .invalid),
            (.text("<h1>no</h1>", status: 418), "http_4xx", .invalid),
            (.text("<h1>no</h1>", status: 502), "http_5xx", .unavailable),
            (
                HTTPServerReply(status: 302, headers: [("Location", "/CANARY")]), "redirect",
                .unavailable
            ),
            (.text("<h1>yes</h1>"), "not_json", .unavailable),
            (.text("[]"), "bad_envelope", .unavailable),
            (.text("{}"), "bad_ticket", .unavailable),
            (
                .text(#"{"authorizationUrl":"javascript:x","state":"s"}"#), "bad_ticket",
                .unavailable
            ),
            (
                .text(#"{"authorizationUrl":"https://a/\nb","state":"s"}"#), "bad_ticket",
                .unavailable
            ),
        ]
        for (reply, code, kind) in cases {
            let upstream = try Upstream { _ in reply }
            let client = try upstream.client()
            let error = await failure { try await client.link(LinkRequest(.youtube)) }
            #expect(error?.code == code)
            #expect(error?.kind == kind)
            #expect(error?.requestID?.hasPrefix("tc_") == true)
        }
    }

    @Test func `a state shows only its hash`() throws {
        let state = try #require(LinkState("CANARY"))
        var dumped = ""
        dump(state, to: &dumped)
        for text in ["\(state)", String(reflecting: state), dumped] {
            #expect(!text.contains("CANARY"))
            #expect(text.contains(state.attempt.text))
        }
        #expect(!"\(ManualKey(.x, streamKey: "CANARY"))".contains("CANARY"))
    }

    @Test func `threads can wait for a call`() throws {
        let upstream = try Upstream { _ in Upstream.error(404, "not_found") }
        let client = try upstream.client()
        #expect {
            try client.wait(for: .unlink(id))
        } throws: { error in
            (error as? TraxError)?.code == "not_found"
        }
    }

    @Test func `a client for another credential shares nothing but the line`() async throws {
        let upstream = try Upstream { _ in Upstream.page(["c1"]) }
        let client = try upstream.client()
        _ = try await client.acting(with: Secret("sk_other")).connections().all()
        _ = try await client.connections().all()
        #expect(
            upstream.requests.map { $0.header("Authorization") } == [
                "Bearer sk_other", "Bearer sk_CANARY",
            ])
    }

    @Test func `many calls are carried out at once`() async throws {
        let upstream = try Upstream { _ in Upstream.page(["c1"]).delayed(by: .milliseconds(20)) }
        let client = try upstream.client()
        let counts = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<40 {
                group.addTask { (try? await client.connections().all().count) ?? 0 }
            }
            return await group.reduce(0, +)
        }
        #expect(counts == 40)
    }

    @Test func `the sandbox and the client understand each other`() async throws {
        let sandbox = try Sandbox(port: 0)
        defer { sandbox.stop() }
        let key = try sandbox.state.createAccount("acct_1")
        let endpoint = TraxEndpoint(baseURL: sandbox.url, userAgent: "trax-relay/9.8.7")
        let client = try TraxClient(endpoint, apiKey: key)
        #expect(try await client.health().status == "ok")
        #expect(try await client.studios().all().count == 1)
        let manual = try await client.addManualKey(
            ManualKey(.rumble, streamKey: "live_1", displayName: "Mine"))
        #expect(try await client.connections().all().map(\.id) == [manual.id])
        let ticket = try await client.link(LinkRequest(.kick))
        #expect(ticket.authorizationURL.hasPrefix(sandbox.url))
        try await client.unlink(manual.id)
        #expect(try await client.connections().all().isEmpty)
        let codes = [
            await failure { try await client.unlink(manual.id) },
            await failure { try await client.link(LinkRequest(.trovo)) },
            await failure { try await client.link(LinkRequest(.rumble)) },
            await failure { try await client.link(LinkRequest(.kick, reconnecting: manual.id)) },
            await failure {
                try await client.acting(with: Secret("sk_none")).link(LinkRequest(.kick))
            },
        ].map { $0?.code }
        #expect(
            codes == [
                "not_found", "invalid_request", "invalid_request", "not_found", "invalid_key",
            ])
    }
}
