internal import ConnectionEvents
internal import HTTPServer
internal import JSON
public import RelayCore
internal import Threading

/// `/api/holds`: the open holds, and orders that end them.
///
/// Reads the journal, which may block; so each answer has a thread of its own, at most
/// ``HoldPages/limit`` at once. Threads: any.
public final class HoldPages: Sendable {
    /// The most answers that are being made at once; more are told to come again.
    static let limit = 4
    /// The most holds in one answer.
    static let pageLimit = 200

    private let desk: any HoldDesk
    private let ordered: @Sendable () -> Void
    private let working = Lock(0)

    /// The pages over a journal's holds.
    ///
    /// - Parameter ordered: told after an order was written, so that the relay looks at once.
    public init(_ desk: any HoldDesk, ordered: @escaping @Sendable () -> Void) {
        self.desk = desk
        self.ordered = ordered
    }

    /// Answers a request whose path begins with `/api/holds`; the words are those that follow.
    func reply(to request: HTTPServerRequest, words: [String]) -> HTTPServerReply {
        let isOrder = words.count == 2 && HoldAction(rawValue: words[1]) != nil
        guard words.count < 2 || isOrder else { return .notFound(request) }
        guard request.method == (isOrder ? "POST" : "GET") else {
            return isOrder
                ? .notAllowed(request, "POST") : .notAllowed(request, "GET", "HEAD")
        }
        let mayWork = working.withLock { working in
            guard working < Self.limit else { return false }
            working += 1
            return true
        }
        guard mayWork else {
            return .failure(request, 503, "busy", "Too many requests at once: ask again.")
        }
        let pending = PendingReply()
        _ = OSThread(name: "holds") { [self] in
            pending.send(answer(request, words: words))
            working.withLock { $0 -= 1 }
        }
        return .later(pending)
    }

    private func answer(_ request: HTTPServerRequest, words: [String]) -> HTTPServerReply {
        do {
            guard let id = words.first.map({ HoldID($0) }) else { return try list(request) }
            if words.count == 2, let action = HoldAction(rawValue: words[1]) {
                return try order(action, of: id)
            }
            guard let open = try desk.hold(id) else { throw HoldRefusal.noSuchHold }
            return .json(open.json)
        } catch HoldRefusal.noSuchHold, HoldOrderFailure.refused(.noSuchHold) {
            return .failure(request, 404, "not_found", "There is no such open hold.")
        } catch HoldOrderFailure.ordered(let action) {
            return .failure(
                request, 409, "ordered_already",
                "It is ordered already: \(action.rawValue). That stands, and is carried out soon.")
        } catch HoldOrderFailure.refused(.wrongAccountStays) {
            return .failure(
                request, 409, "wrong_account",
                "A wrong account cannot be discarded: release it, or give the account its own key.")
        } catch {
            return .failure(request, 503, "journal", "The journal cannot be read or written now.")
        }
    }

    private func list(_ request: HTTPServerRequest) throws -> HTTPServerReply {
        let after = request.parameter("cursor")
        let cursor = after.flatMap { AccountID($0) }
        guard after == nil || cursor != nil else {
            return .failure(request, 400, "invalid_request", "The cursor is none of ours.")
        }
        var found = try desk.holds(after: cursor, limit: Self.pageLimit + 1)
        let hasMore = found.count > Self.pageLimit
        if hasMore { found.removeLast() }
        let next = hasMore ? found.last.map { JSONValue.string($0.account.text) } : nil
        return .json([
            "data": .array(found.map { .object($0.summary) }),
            "nextCursor": next ?? .null,
        ])
    }

    private func order(_ action: HoldAction, of id: HoldID) throws -> HTTPServerReply {
        let order = try desk.order(action, of: id)
        ordered()
        return .json(
            [
                "id": .string(order.hold.text), "account": .string(order.account.text),
                "action": .string(order.action.rawValue), "state": "ordered",
            ], status: 202)
    }
}

extension HTTPServerReply {
    /// A JSON value that is not to be stored.
    static func json(_ value: JSONValue, status: Int = 200) -> HTTPServerReply {
        HTTPServerReply(
            status: status,
            headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
            body: value.serialized() + [0x0A])
    }

    /// The error envelope of the TRaX API.
    static func failure(
        _ request: HTTPServerRequest, _ status: Int, _ code: String, _ message: String
    ) -> HTTPServerReply {
        .json(
            [
                "error": [
                    "code": .string(code), "message": .string(message),
                    "requestId": .string(requestID(of: request)),
                ]
            ], status: status)
    }

    /// There is no such page.
    static func notFound(_ request: HTTPServerRequest) -> HTTPServerReply {
        .failure(request, 404, "not_found", "There is no such page.")
    }

    /// Another method would be answered; RFC 9110, 15.5.6.
    static func notAllowed(
        _ request: HTTPServerRequest, _ allowed: String...
    ) -> HTTPServerReply {
        let methods = allowed.joined(separator: ", ")
        var reply = failure(
            request, 405, "method_not_allowed", "This page answers \(methods) alone.")
        reply.headers.append(("Allow", methods))
        return reply
    }

    private static func requestID(of request: HTTPServerRequest) -> String {
        if let given = request.header("X-Request-Id"), (1...128).contains(given.utf8.count) {
            return given
        }
        var random = SystemRandomNumberGenerator()
        return "req_" + String(random.next(), radix: 16)
    }
}
