import ConnectionEvents
import HTTPClient
import HTTPServer
import JSON
import RelayCore
import Testing

@testable import RelayDashboard
@testable import RelayRuntime

/// Open holds in memory, which takes orders, waits, or fails, as told.
private final class FakeDesk: HoldDesk, @unchecked Sendable {
    // @unchecked: filled before the server starts; counted after it answered.
    var open: [OpenHold] = []
    var failure: JournalFailure?
    private(set) var orders: [HoldOrder] = []

    func holds(after account: AccountID?, limit: Int) throws(JournalFailure) -> [OpenHold] {
        if let failure { throw failure }
        let rest = open.filter { hold in account.map { hold.account > $0 } ?? true }
        return Array(rest.prefix(limit))
    }

    func hold(_ id: HoldID) throws(JournalFailure) -> OpenHold? {
        if let failure { throw failure }
        return open.first { $0.hold.id == id }
    }

    func order(_ action: HoldAction, of hold: HoldID) throws(HoldOrderFailure) -> HoldOrder {
        if let failure { throw .journal(failure) }
        guard let found = open.first(where: { $0.hold.id == hold }) else {
            throw .refused(.noSuchHold)
        }
        if let ordered = found.ordered, ordered != action { throw .ordered(ordered) }
        guard found.hold.reason != .wrongAccount || action == .release else {
            throw .refused(.wrongAccountStays)
        }
        let order = HoldOrder(
            number: Int64(orders.count + 1), account: found.account, hold: hold, action: action)
        orders.append(order)
        return order
    }

    func orders(after number: Int64) throws(JournalFailure) -> [HoldOrder] { orders }

    func isWaiting(_ order: HoldOrder) throws(JournalFailure) -> Bool { true }
}

@Suite struct HoldPagesTests {
    private let desk = FakeDesk()
    private let noticed = Count()

    private final class Count: @unchecked Sendable {
        // @unchecked: one request at a time.
        var value = 0
    }

    private func open(_ name: String, _ reason: HoldReason = .share) throws {
        let account = try #require(AccountID(name))
        let hold = Hold(
            id: HoldID("h_\(name)"), reason: reason,
            since: Timestamp(milliseconds: 1_796_040_000_000))
        desk.open.append(OpenHold(account: account, hold: hold))
    }

    private func ask(_ path: String, _ method: HTTPMethod = .get) throws -> HTTPResponse {
        let noticed = noticed
        let holds = HoldPages(desk) { noticed.value += 1 }
        let pages = RelayPages(token: { nil }, version: "1", libraries: [], holds: holds) {
            busyStatus()
        }
        let server = try HTTPServer(host: "127.0.0.1", port: 0) { pages.reply(to: $0) }
        return try HTTPClient().perform(
            HTTPRequest(
                method, url: "http://127.0.0.1:\(server.port)\(path)", headers: [],
                timeout: .seconds(30)))
    }

    private func code(_ response: HTTPResponse) throws -> String? {
        try JSONValue(parsing: response.body)["error"]?["code"]?.stringValue
    }

    @Test func `open holds are listed in pages of at most two hundred`() throws {
        for number in 100..<301 { try open("a\(number)") }
        let first = try JSONValue(parsing: ask("/api/holds").body)
        #expect(first["data"]?.arrayValue?.count == 200)
        #expect(first["data"]?.arrayValue?.first?["account"]?.stringValue == "a100")
        let cursor = try #require(first["nextCursor"]?.stringValue)
        let last = try JSONValue(parsing: ask("/api/holds?cursor=\(cursor)").body)
        #expect(last["data"]?.arrayValue?.map { $0["id"]?.stringValue } == ["h_a300"])
        #expect(last["nextCursor"] == .null)
        #expect(try ask("/api/holds?cursor=no%20id").status == 400)
    }

    @Test func `a hold is shown with what is held`() throws {
        try open("a")
        let answer = try ask("/api/holds/h_a")
        #expect(answer.status == 200)
        #expect(answer.header("content-type") == "application/json")
        let body = try JSONValue(parsing: answer.body)
        #expect(body["reason"]?.stringValue == "share")
        #expect(body["changes"]?.arrayValue?.isEmpty == true)
        #expect(try ask("/api/holds/h_b").status == 404)
    }

    @Test(arguments: HoldAction.allCases)
    func `an order is written, and the relay is told to look`(action: HoldAction) throws {
        try open("a")
        let answer = try ask("/api/holds/h_a/\(action.rawValue)", .post)
        #expect(answer.status == 202)
        #expect(try JSONValue(parsing: answer.body)["state"]?.stringValue == "ordered")
        #expect(desk.orders.map(\.action) == [action])
        #expect(noticed.value == 1)
    }

    @Test func `an order that cannot be is refused, and nobody is told`() throws {
        try open("a", .wrongAccount)
        let wrong = try ask("/api/holds/h_a/discard", .post)
        #expect(wrong.status == 409)
        #expect(try code(wrong) == "wrong_account")
        #expect(try ask("/api/holds/h_b/release", .post).status == 404)
        try open("c")
        desk.open[1].ordered = .discard
        let contrary = try ask("/api/holds/h_c/release", .post)
        #expect(contrary.status == 409)
        #expect(try code(contrary) == "ordered_already")
        let shown = try JSONValue(parsing: try ask("/api/holds/h_c").body)
        #expect(shown["ordered"]?.stringValue == "discard")
        #expect(desk.orders.isEmpty)
        #expect(noticed.value == 0)
    }

    @Test func `only what there is can be asked, and only so`() throws {
        try open("a")
        #expect(try ask("/api/holds", .post).status == 405)
        #expect(try ask("/api/holds/h_a", .delete).status == 405)
        let asked = try ask("/api/holds/h_a/release")
        #expect(asked.status == 405)
        #expect(try code(asked) == "method_not_allowed")
        #expect(try ask("/api/holds/h_a/forget", .post).status == 404)
        #expect(try ask("/api/holds/h_a/release/now", .post).status == 404)
        #expect(desk.orders.isEmpty)
    }

    @Test func `a journal that cannot be read is 503, without its reason`() throws {
        desk.failure = JournalFailure(kind: .failed, code: "io", reason: "/secret/place")
        for (path, method) in [
            ("/api/holds", HTTPMethod.get), ("/api/holds/h_a", .get),
            ("/api/holds/h_a/release", .post),
        ] {
            let answer = try ask(path, method)
            #expect(answer.status == 503, "\(path)")
            #expect(!String(decoding: answer.body, as: UTF8.self).contains("secret"))
        }
    }
}
