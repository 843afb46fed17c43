public import ConnectionEvents
internal import HTTPServer
internal import JSON
public import RelayCore
internal import Threading

/// What somebody asks for who wants a platform account linked.
public struct LinkAsk: Hashable, Sendable {
    /// Whose link it is to be.
    public var account: AccountID
    /// What is to be linked.
    public var platform: String
    /// Where the browser ends: an https address on a host of TRaX's.
    public var returnTo: String?
    /// The row to repair in place.
    public var reconnecting: ConnectionID?

    /// A wish, field by field.
    public init(
        account: AccountID, platform: String, returnTo: String? = nil,
        reconnecting: ConnectionID? = nil
    ) {
        self.account = account
        self.platform = platform
        self.returnTo = returnTo
        self.reconnecting = reconnecting
    }
}

/// What is had for it; `state` is a capability: it goes to who asked, and nowhere else.
public struct LinkGrant: Sendable {
    /// To be opened in a system browser.
    public var authorizationURL: String
    /// Tells the attempt from others.
    public var state: String
    /// What waits for it.
    public var watch: LinkWatch

    /// A grant, field by field.
    public init(authorizationURL: String, state: String, watch: LinkWatch) {
        self.authorizationURL = authorizationURL
        self.state = state
        self.watch = watch
    }
}

/// Why there is none: status, code and message of the answer.
public struct LinkAskFailure: Error, Hashable, Sendable {
    /// HTTP status, 400 to 599.
    public var status: Int
    /// The API's code, or the relay's own.
    public var code: String
    /// For people; never a secret.
    public var message: String
    /// `X-Request-Id` of the API's answer.
    public var requestID: String?
    /// The scope that the account's key lacks.
    public var requiredScope: String?
    /// How long to wait.
    public var retryAfter: Duration?

    /// A failure, field by field.
    public init(
        status: Int, code: String, message: String, requestID: String? = nil,
        requiredScope: String? = nil, retryAfter: Duration? = nil
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.requestID = requestID
        self.requiredScope = requiredScope
        self.retryAfter = retryAfter
    }
}

/// Who asks the API for links, with the accounts' own credentials.
public protocol LinkOffice: AnyObject, Sendable {
    /// Asks for a link and opens a watch; blocks as long as the API takes.
    func ask(_ wish: LinkAsk) throws(LinkAskFailure) -> LinkGrant
}

/// `/api/links`: asks for links, and tells how those asked for stand.
///
/// Each answer has a thread of its own: at most ``LinkPages/limit`` at once that ask the API, and
/// as many that only look. Threads: any.
public final class LinkPages: Sendable {
    /// The most answers of a kind that are being made at once; more are told to come again.
    static let limit = 8
    /// The most watches in one answer.
    static let pageLimit = 200
    /// The largest body, in bytes.
    static let bodyLimit = 16_384

    private let office: any LinkOffice
    private let desk: any LinkDesk
    private let opened: @Sendable () -> Void
    /// Answers that wait for the API, which may take its time.
    private let asking = Lock(0)
    /// Answers that the journal alone is read for.
    private let telling = Lock(0)

    /// The pages over an office and a journal's watches.
    ///
    /// - Parameter opened: told after a watch was opened, so that the relay looks at once.
    public init(
        _ office: any LinkOffice, desk: any LinkDesk, opened: @escaping @Sendable () -> Void
    ) {
        self.office = office
        self.desk = desk
        self.opened = opened
    }

    /// Answers a request whose path begins with `/api/links`; the words are those that follow.
    func reply(to request: HTTPServerRequest, words: [String]) -> HTTPServerReply {
        guard words.count < 2 else { return .notFound(request) }
        let isAsking = request.method == "POST" && words.isEmpty
        guard isAsking || request.method == "GET" else {
            return words.isEmpty
                ? .notAllowed(request, "GET", "HEAD", "POST")
                : .notAllowed(request, "GET", "HEAD")
        }
        guard request.body.count <= Self.bodyLimit else {
            return .failure(request, 413, "too_large", "The body may have 16 KiB.")
        }
        let places = isAsking ? asking : telling
        let mayWork = places.withLock { working in
            guard working < Self.limit else { return false }
            working += 1
            return true
        }
        guard mayWork else {
            var busy = HTTPServerReply.failure(
                request, 503, "busy", "Too many requests at once: ask again.")
            busy.headers.append(("Retry-After", "1"))
            return busy
        }
        let pending = PendingReply()
        _ = OSThread(name: "links") { [self] in
            pending.send(isAsking ? ask(request) : tell(request, id: words.first))
            places.withLock { $0 -= 1 }
        }
        return .later(pending)
    }

    private func ask(_ request: HTTPServerRequest) -> HTTPServerReply {
        do throws(LinkAskFailure) {
            let grant = try office.ask(try LinkAsk(request))
            opened()
            return .json([
                "authorizationUrl": .string(grant.authorizationURL),
                "state": .string(grant.state),
                "watch": .string(grant.watch.id.text),
                "attempt": .string(grant.watch.attempt.text),
            ])
        } catch {
            return .failure(request, error)
        }
    }

    private func tell(_ request: HTTPServerRequest, id: String?) -> HTTPServerReply {
        do throws(JournalFailure) {
            guard let id else { return try list(request) }
            guard let watch = try desk.watch(WatchID(id)) else {
                return .failure(request, 404, "not_found", "There is no such watch.")
            }
            return .json(watch.json)
        } catch {
            return .failure(request, 503, "journal", "The journal cannot be read now.")
        }
    }

    private func list(_ request: HTTPServerRequest) throws(JournalFailure) -> HTTPServerReply {
        let account = request.parameter("account")
        let known = account.flatMap { AccountID($0) }
        guard account == nil || known != nil else {
            return .failure(request, 400, "invalid_request", "This is no account id.")
        }
        let cursor = request.parameter("cursor")
        guard let before = cursor.map({ Int64($0) }) ?? .max else {
            return .failure(request, 400, "invalid_request", "The cursor is none of ours.")
        }
        var found = try desk.watches(of: known, before: before, limit: Self.pageLimit + 1)
        let hasMore = found.count > Self.pageLimit
        if hasMore { found.removeLast() }
        let next = hasMore ? found.last.map { JSONValue.string("\($0.number)") } : nil
        return .json(["data": .array(found.map(\.json)), "nextCursor": next ?? .null])
    }
}

extension LinkWatch {
    /// The watch as pages show it.
    var json: JSONValue {
        [
            "id": .string(id.text), "account": .string(account.text),
            "platform": .string(platform), "attempt": .string(attempt.text),
            "reconnectConnectionId": JSONValue(reconnecting?.text),
            "status": .string(outcome == nil ? "open" : "ended"),
            "outcome": JSONValue(outcome?.rawValue),
            "connection": JSONValue(connection?.text),
            "openedAt": .string(openedAt.description),
            "expiresAt": .string(expiresAt.description),
            "endedAt": JSONValue(endedAt?.description),
        ]
    }
}
