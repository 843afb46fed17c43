import HTTPServer
import RelayCore
import Testing
import Threading

@testable import TraxAPI

/// An API on loopback that remembers what it was asked.
final class Upstream: Sendable {
    private let asked = Lock<[HTTPServerRequest]>([])
    let server: HTTPServer

    init(_ script: @escaping @Sendable (HTTPServerRequest) -> HTTPServerReply) throws {
        let asked = asked
        server = try HTTPServer(host: "127.0.0.1", port: 0) { request in
            asked.withLock { $0.append(request) }
            return script(request)
        }
    }

    var requests: [HTTPServerRequest] { asked.withLock { $0 } }

    var url: String { "http://127.0.0.1:\(server.port)" }

    func endpoint(maximumBody: Int = 4 << 20) -> TraxEndpoint {
        TraxEndpoint(
            baseURL: url, userAgent: "trax-relay/9.8.7", maxConnections: 4,
            maximumBody: maximumBody)
    }

    /// A list of one page, or of several joined by cursors.
    static func page(_ ids: [String], next: String? = nil) -> HTTPServerReply {
        let rows = ids.map { #"{"id":"\#($0)","platform":"youtube","status":"active"}"# }
        let cursor = next.map { "\"\($0)\"" } ?? "null"
        return .text(
            #"{"data":[\#(rows.joined(separator: ","))],"nextCursor":\#(cursor)}"#,
            contentType: "application/json")
    }
}

/// What came of one request, copied.
enum Outcome: Equatable {
    case answered(status: Int, retryAfter: String?, date: Bool, requestID: String?, body: String)
    case failed(PageFailure)

    var code: String? {
        guard case .failed(let failure) = self else { return nil }
        return failure.code
    }
}

/// Sends requests one after another, and stops the transport after the last.
final class OneByOne: PageDriver {
    private let transport: ListTransport
    private var waiting: [PageRequest]
    private(set) var outcomes: [Outcome] = []
    private var isBusy = false
    /// Requests that are cancelled as soon as they are sent.
    var cancels = false

    init(_ transport: ListTransport, _ pages: [PageRequest]) {
        self.transport = transport
        waiting = pages
    }

    /// Sends all of them; returns when the last has come to something.
    static func run(_ transport: ListTransport, _ pages: PageRequest...) -> [Outcome] {
        let driver = OneByOne(transport, pages)
        transport.run(driver)
        return driver.outcomes
    }

    func turn() -> Duration? {
        while !isBusy, !waiting.isEmpty {
            isBusy = true
            #expect(transport.free > 0)
            transport.request(waiting.removeFirst(), token: WalkToken(outcomes.count))
            if cancels {
                transport.cancel(WalkToken(outcomes.count))
                isBusy = false
            }
        }
        if !isBusy { transport.stop() }
        return nil
    }

    func answered(_ token: WalkToken, _ answer: PageAnswer) {
        #expect(token == WalkToken(outcomes.count))
        outcomes.append(
            .answered(
                status: answer.status, retryAfter: answer.retryAfter, date: answer.date != nil,
                requestID: answer.requestID,
                body: unsafe String(decoding: answer.body, as: UTF8.self)))
        isBusy = false
    }

    func failed(_ token: WalkToken, _ failure: PageFailure) {
        #expect(token == WalkToken(outcomes.count))
        outcomes.append(.failed(failure))
        isBusy = false
    }
}
