import ConnectionEvents
import HTTPClient
import JSON
import RelayCore
import Testing
import Threading

@testable import HTTPServer
@testable import RelayDashboard
@testable import RelayRuntime

/// Asks nobody: grants, or fails as told.
private final class FakeOffice: LinkOffice, @unchecked Sendable {
    // @unchecked: one request at a time.
    var failure: LinkAskFailure?
    private(set) var wishes: [LinkAsk] = []

    func ask(_ wish: LinkAsk) throws(LinkAskFailure) -> LinkGrant {
        wishes.append(wish)
        if let failure { throw failure }
        return LinkGrant(
            authorizationURL: "https://p.example/", state: "the-state",
            watch: FakeDesk.watch(7, wish.account))
    }
}

/// Answers nobody until it is released.
private final class HangingOffice: LinkOffice {
    private let state = Lock((asking: 0, isOpen: false))

    func awaitAsking(_ count: Int) {
        _ = state.wait(timeout: .seconds(30)) { $0.asking == count ? true : nil }
    }

    func release() { state.signal { $0.isOpen = true } }

    func ask(_ wish: LinkAsk) throws(LinkAskFailure) -> LinkGrant {
        state.signal { $0.asking += 1 }
        _ = state.wait(timeout: .seconds(30)) { $0.isOpen ? true : nil }
        throw LinkAskFailure(status: 502, code: "http_5xx", message: "No.")
    }
}

/// Watches in memory.
private final class FakeDesk: LinkDesk, @unchecked Sendable {
    // @unchecked: filled before the server starts.
    var known: [LinkWatch] = []
    var failure: JournalFailure?

    static func watch(_ number: Int64, _ account: AccountID) -> LinkWatch {
        LinkWatch(
            number: number, account: account, attempt: AttemptHash(state: "state-\(number)"),
            platform: "kick", reconnecting: nil,
            openedAt: Timestamp(milliseconds: 1_796_040_000_000),
            expiresAt: Timestamp(milliseconds: 1_796_040_600_000))
    }

    func mayOpen(_ account: AccountID) throws(LinkRefusal) {}

    func open(_ opening: LinkOpening) throws(LinkRefusal) -> LinkWatch { throw .full }

    func openWatches(after number: Int64) throws(JournalFailure) -> [LinkWatch] { [] }

    func watch(_ id: WatchID) throws(JournalFailure) -> LinkWatch? {
        if let failure { throw failure }
        return known.first { $0.id == id }
    }

    func watches(
        of account: AccountID?, before number: Int64, limit: Int
    ) throws(JournalFailure) -> [LinkWatch] {
        if let failure { throw failure }
        let rest = known.filter {
            $0.number < number && (account == nil || $0.account == account)
        }
        return Array(rest.sorted { $0.number > $1.number }.prefix(limit))
    }
}

@Suite struct LinkPagesTests {
    private let office = FakeOffice()
    private let desk = FakeDesk()
    private let noticed = Count()
    private let account: AccountID

    private final class Count: @unchecked Sendable {
        // @unchecked: one request at a time.
        var value = 0
    }

    init() throws { account = try #require(AccountID("acct_1")) }

    private func ask(
        _ path: String, _ method: HTTPMethod = .get, body: String? = nil,
        headers: [(name: String, value: String)] = []
    ) throws -> HTTPResponse {
        let noticed = noticed
        let links = LinkPages(office, desk: desk) { noticed.value += 1 }
        let pages = RelayPages(token: { nil }, version: "1", libraries: [], links: links) {
            busyStatus()
        }
        let server = try HTTPServer(host: "127.0.0.1", port: 0) { pages.reply(to: $0) }
        return try HTTPClient().perform(
            HTTPRequest(
                method, url: "http://127.0.0.1:\(server.port)\(path)", headers: headers,
                body: body.map { Array($0.utf8) }, timeout: .seconds(30)))
    }

    private func post(_ body: String) throws -> HTTPResponse {
        try ask("/api/links", .post, body: body)
    }

    private func json(_ response: HTTPResponse) throws -> JSONValue {
        try JSONValue(parsing: response.body)
    }

    @Test func `a link is asked for, and the relay is told to look`() throws {
        let answer = try post(
            #"{"account":"acct_1","platform":"kick","returnTo":"https://x/","# + "\n"
                + #""reconnectConnectionId":"c1"}"#)
        #expect(answer.status == 200)
        #expect(answer.header("content-type") == "application/json")
        let body = try json(answer)
        #expect(body["authorizationUrl"] == "https://p.example/")
        #expect(body["state"] == "the-state")
        #expect(body["watch"]?.stringValue == FakeDesk.watch(7, account).id.text)
        #expect(
            office.wishes == [
                LinkAsk(
                    account: account, platform: "kick", returnTo: "https://x/",
                    reconnecting: ConnectionID("c1"))
            ])
        #expect(noticed.value == 1)
    }

    @Test func `a body that is not as it must be asks for nothing`() throws {
        for body in [
            "", "[]", "{", #"{"platform":"kick"}"#, #"{"account":"acct_1"}"#,
            #"{"account":"no account!","platform":"kick"}"#,
            #"{"account":"acct_1","platform":7}"#, #"{"account":"acct_1","platform":""}"#,
            #"{"account":"acct_1","platform":"kick","reconnectConnectionID":"c1"}"#,
            #"{"account":"acct_1","platform":"kick","reconnectConnectionId":""}"#,
            #"{"account":"acct_1","platform":"kick","platform":"twitch"}"#,
        ] {
            let answer = try post(body)
            #expect(answer.status == 400, "\(body)")
            #expect(try json(answer)["error"]?["code"] == "invalid_request")
        }
        let large = try post(String(repeating: " ", count: 16_385))
        #expect(large.status == 413)
        #expect(try json(large)["error"]?["code"] == "too_large")
        let far = try post(String(repeating: " ", count: 200_000))
        #expect(far.status == 413)
        #expect(try json(far)["error"]?["code"] == "too_large")
        #expect(office.wishes.isEmpty)
        #expect(noticed.value == 0)
    }

    @Test func `what the API said is passed on`() throws {
        office.failure = LinkAskFailure(
            status: 403, code: "insufficient_scope", message: "No.", requestID: "req_9",
            requiredScope: "connections:write")
        let refused = try post(#"{"account":"acct_1","platform":"kick"}"#)
        #expect(refused.status == 403)
        #expect(
            try json(refused)["error"] == [
                "code": "insufficient_scope", "message": "No.", "requestId": "req_9",
                "requiredScope": "connections:write",
            ])
        office.failure = LinkAskFailure(
            status: 429, code: "rate_limited", message: "Wait.",
            retryAfter: .milliseconds(1500))
        let throttled = try post(#"{"account":"acct_1","platform":"kick"}"#)
        #expect(throttled.status == 429)
        #expect(throttled.header("retry-after") == "2")
        #expect(noticed.value == 0)
    }

    @Test func `watches are listed newest first, in pages of at most two hundred`() throws {
        for number in 1...201 { desk.known.append(FakeDesk.watch(Int64(number), account)) }
        let first = try json(ask("/api/links?account=acct_1"))
        #expect(first["data"]?.arrayValue?.count == 200)
        let cursor = try #require(first["nextCursor"]?.stringValue)
        let last = try json(ask("/api/links?cursor=\(cursor)"))
        #expect(
            last["data"]?.arrayValue?.map { $0["id"]?.stringValue }
                == [FakeDesk.watch(1, account).id.text])
        #expect(last["nextCursor"] == .null)
        #expect(try json(ask("/api/links?account=b"))["data"]?.arrayValue?.isEmpty == true)
        #expect(try ask("/api/links?account=b%20c").status == 400)
        #expect(try ask("/api/links?cursor=x").status == 400)
    }

    @Test func `one watch says how it stands`() throws {
        var watch = FakeDesk.watch(3, account)
        desk.known = [watch]
        let open = try json(ask("/api/links/\(watch.id)"))
        #expect(open["status"] == "open")
        #expect(open["outcome"] == .null)
        #expect(open["attempt"]?.stringValue == watch.attempt.text)
        watch.outcome = .repaired
        watch.connection = ConnectionID("c1")
        desk.known = [watch]
        let ended = try json(ask("/api/links/\(watch.id)"))
        #expect(ended["status"] == "ended")
        #expect(ended["outcome"] == "repaired")
        #expect(ended["connection"] == "c1")
        #expect(try ask("/api/links/lw_none").status == 404)
    }

    @Test func `only what there is can be asked, and no other site may`() throws {
        let wrong = try ask("/api/links", .delete)
        #expect(wrong.status == 405)
        #expect(try json(wrong)["error"]?["code"] == "method_not_allowed")
        let single = try ask("/api/links/lw_1", .post, body: "{}")
        #expect(single.status == 405)
        #expect(try json(single)["error"]?["requestId"] != nil)
        let deleting = HTTPServerRequest(
            method: "DELETE", target: "/api/links", headers: [], body: [], peer: "127.0.0.1")
        let reply = LinkPages(office, desk: desk) {}.reply(to: deleting, words: [])
        #expect(reply.headers.contains { $0.name == "Allow" && $0.value == "GET, HEAD, POST" })
        #expect(try ask("/api/links/lw_1/more").status == 404)
        let foreign = try ask(
            "/api/links", .post, body: #"{"account":"acct_1","platform":"kick"}"#,
            headers: [("Origin", "https://evil.example")])
        #expect(foreign.status == 403)
        #expect(office.wishes.isEmpty)
    }

    @Test func `who only looks does not wait for those who ask the API`() throws {
        let hanging = HangingOffice()
        let links = LinkPages(hanging, desk: desk) {}
        let server = try HTTPServer(host: "127.0.0.1", port: 0) {
            links.reply(to: $0, words: [])
        }
        let port = server.port
        @Sendable func send(_ method: HTTPMethod) throws -> HTTPResponse {
            try HTTPClient().perform(
                HTTPRequest(
                    method, url: "http://127.0.0.1:\(port)/api/links",
                    body: method == .post
                        ? Array(#"{"account":"acct_1","platform":"kick"}"#.utf8) : nil,
                    timeout: .seconds(30)))
        }
        let threads = (0..<LinkPages.limit).map { number in
            OSThread(name: "ask \(number)") { _ = try? send(.post) }
        }
        hanging.awaitAsking(LinkPages.limit)
        let busy = try send(.post)
        #expect(busy.status == 503)
        #expect(busy.header("retry-after") == "1")
        #expect(try send(.get).status == 200)
        hanging.release()
        for thread in threads { thread.join() }
    }

    @Test func `a journal that cannot be read is 503, without its reason`() throws {
        desk.failure = JournalFailure(kind: .failed, code: "io", reason: "/secret/place")
        for path in ["/api/links", "/api/links/lw_1"] {
            let answer = try ask(path)
            #expect(answer.status == 503)
            #expect(!String(decoding: answer.body, as: UTF8.self).contains("secret"))
        }
    }
}
