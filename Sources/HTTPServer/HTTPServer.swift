internal import CMicrohttpd
internal import Threading

/// What a server holds at most.
public struct HTTPServerLimits: Sendable {
    /// Bytes of a request's body; more is answered with 413.
    public var body: Int
    /// Bytes of request line and headers together; more is answered with 431.
    public var head: Int
    /// Connections at a time; more wait in the system's queue.
    public var connections: Int
    /// How long a connection may lie idle, or a request be under way; whole seconds, at least 1.
    public var timeout: Duration

    /// Names the defaults: 1 MiB of body, 32 KiB of head, 1,024 connections, 30 s.
    public init(
        body: Int = 1 << 20, head: Int = 32 * 1024, connections: Int = 1024,
        timeout: Duration = .seconds(30)
    ) {
        self.body = body
        self.head = head
        self.connections = connections
        self.timeout = timeout
    }
}

/// An HTTP/1.1 server on one thread of libmicrohttpd.
///
/// The handler runs on that thread and must not block: what takes long is answered with
/// `HTTPServerReply.later`. Without a body limit passed, a timeout or a malformed request the
/// handler sees every request, of any method; 400, 413 and 431 are the server's own replies.
@safe public final class HTTPServer: Sendable {
    /// The version of the libmicrohttpd that was loaded (`MHD_get_version(3)`).
    public static var libraryVersion: String {
        unsafe MHD_get_version().map { unsafe String(cString: $0) } ?? "unknown"
    }

    /// The port, also where 0 was asked for.
    public let port: UInt16
    private let house: House
    private let daemon: Lock<OpaquePointer?>

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - host: an IPv4 or IPv6 literal, or `localhost`, which is 127.0.0.1.
    ///   - port: 0 takes a free one.
    /// - Throws: `HTTPServerError`, whose reason says what to do.
    public init(
        host: String, port: UInt16, limits: HTTPServerLimits = .init(),
        handler: @escaping @Sendable (HTTPServerRequest) -> HTTPServerReply
    ) throws(HTTPServerError) {
        let listener = try Listener(
            host: host, port: port, backlog: Int32(min(max(limits.connections, 16), 4096)))
        self.port = listener.port
        house = House(limits: limits, handler: handler)
        // MHD takes the house unretained: the daemon is stopped before the house can go.
        let context = unsafe Unmanaged.passUnretained(house).toOpaque()
        let socket = listener.consume()
        let seconds = max(1, limits.timeout.components.seconds)
        let started = unsafe trax_mhd_start(
            socket, UInt32(limits.connections), UInt32(clamping: seconds), limits.head, context,
            Conversation.handle, Conversation.begin, Conversation.complete)
        let isRunning = unsafe started != nil
        unsafe daemon = unsafe Lock(started)
        if !isRunning {
            house.stop()
            Listener.close(socket)
            throw HTTPServerError(.other, "The HTTP server did not start; memory may be short.")
        }
    }

    deinit {
        stop()
    }

    /// Makes sure that a server could listen there, without listening.
    ///
    /// - Throws: `HTTPServerError`, as starting would.
    public static func tryAddress(host: String, port: UInt16) throws(HTTPServerError) {
        _ = try Listener(host: host, port: port, backlog: nil)
    }

    /// Ends every connection and stops; replies that are still pending become 503.
    ///
    /// Blocks until the server's thread has ended, so never call it from the handler. Once is
    /// enough, and `deinit` does it otherwise.
    public func stop() {
        let running = unsafe daemon.withLock { daemon in
            defer { unsafe daemon = nil }
            return unsafe daemon
        }
        guard let running = unsafe running else { return }
        house.stop()
        unsafe MHD_stop_daemon(running)
    }
}

/// What all conversations of a server share.
final class House: Sendable {
    private struct State {
        var isStopping = false
        var suspended: [ObjectIdentifier: any Suspended] = [:]
    }

    let limits: HTTPServerLimits
    let handler: @Sendable (HTTPServerRequest) -> HTTPServerReply
    private let alarm = Alarm()
    private let state = Lock(State())

    init(
        limits: HTTPServerLimits,
        handler: @escaping @Sendable (HTTPServerRequest) -> HTTPServerReply
    ) {
        self.limits = limits
        self.handler = handler
    }

    /// Remembers what may be suspended, so that `stop` can end it; false when stopping.
    func enrol(_ member: any Suspended) -> Bool {
        state.withLock { state in
            guard !state.isStopping else { return false }
            state.suspended[ObjectIdentifier(member)] = member
            return true
        }
    }

    /// Forgets it: its request is over.
    func leave(_ member: any Suspended) {
        state.withLock { _ = $0.suspended.removeValue(forKey: ObjectIdentifier(member)) }
    }

    /// Does something after a while, on the alarm's thread.
    func after(_ delay: Duration, _ act: @escaping @Sendable () -> Void) {
        alarm.after(delay, act)
    }

    /// Sends a stream its comments until it is closed.
    func keepAlive(_ stream: EventStream) {
        alarm.after(EventStream.beat) { [weak self, weak stream] in
            guard let self, let stream, stream.isOpen else { return }
            stream.beat()
            keepAlive(stream)
        }
    }

    /// Resumes everything, for MHD must not be stopped while a connection is suspended.
    func stop() {
        let members = state.withLock { state in
            state.isStopping = true
            defer { state.suspended = [:] }
            return Array(state.suspended.values)
        }
        for member in members { member.release() }
        alarm.stop()
    }
}
