/// What the server answers, now, later, or as a stream.
///
/// A header whose name or value HTTP does not allow is left out. Content-Length, Date and
/// Connection are the server's own.
public struct HTTPServerReply: Sendable {
    /// 200-599.
    public var status: Int
    /// Names and values in order.
    public var headers: [(name: String, value: String)]
    /// The body; left out for HEAD.
    public var body: [UInt8]
    var course = Course.whole
    var delay = Duration.zero

    enum Course: Sendable {
        /// Everything at once.
        case whole
        /// As if whole, but the connection is closed after so many bytes of the body.
        case cut(after: Int)
        /// The body is what the stream is given, until either side closes.
        case stream(EventStream)
        /// Another thread answers.
        case pending(PendingReply)
        /// The connection is closed without an answer.
        case dropped(reset: Bool)
    }

    /// A whole reply.
    public init(
        status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []
    ) {
        precondition((200...599).contains(status), "a status of 200 to 599")
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A whole reply of text.
    public static func text(
        _ text: String, status: Int = 200, contentType: String = "text/plain; charset=utf-8"
    ) -> HTTPServerReply {
        HTTPServerReply(
            status: status, headers: [("Content-Type", contentType)], body: Array(text.utf8))
    }

    /// Server-sent events: the stream is given to this one client.
    ///
    /// The content type and `Cache-Control: no-store` are set; the connection has no idle timeout.
    public static func stream(
        headers: [(name: String, value: String)] = [], _ stream: EventStream
    ) -> HTTPServerReply {
        var reply = HTTPServerReply(
            status: 200,
            headers: [
                ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"),
            ] + headers)
        reply.course = .stream(stream)
        return reply
    }

    /// A reply that another thread gives; meanwhile the connection waits and no thread does.
    public static func later(_ pending: PendingReply) -> HTTPServerReply {
        var reply = HTTPServerReply(status: 503)
        reply.course = .pending(pending)
        return reply
    }

    /// 405 with the methods that are allowed.
    ///
    /// RFC 9110, 15.5.6.
    public static func methodNotAllowed(_ allowed: String...) -> HTTPServerReply {
        HTTPServerReply(
            status: 405, headers: [("Allow", allowed.joined(separator: ", "))],
            body: Array("Method not allowed.\n".utf8))
    }

    /// No reply: the connection is closed, by a TCP reset if so wished.
    public static func dropped(reset: Bool = false) -> HTTPServerReply {
        var reply = HTTPServerReply(status: 503)
        reply.course = .dropped(reset: reset)
        return reply
    }

    /// Whether this is no reply at all.
    public var isDropped: Bool {
        if case .dropped = course { true } else { false }
    }

    /// This reply, whole by its Content-Length, but cut after so many bytes of the body.
    public func truncated(after bytes: Int) -> HTTPServerReply {
        var reply = self
        reply.course = .cut(after: max(0, min(bytes, body.count)))
        return reply
    }

    /// This reply after a while, during which no thread waits.
    public func delayed(by delay: Duration) -> HTTPServerReply {
        var reply = self
        reply.delay = max(.zero, delay)
        return reply
    }
}
