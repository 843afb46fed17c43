internal import Threading

/// A connection that MHD has set aside until it is resumed.
protocol Suspended: AnyObject, Sendable {
    /// The server stops: resume, and never suspend again.
    func release()
}

/// A reply that is not known yet.
///
/// Threads: any. The first `send` counts; one that comes after the server stopped does nothing.
public final class PendingReply: Suspended {
    private enum State {
        /// Not handed to the server yet.
        case open
        /// The connection is suspended.
        case waiting(Wire)
        /// The reply is here, and not yet fetched.
        case sent(HTTPServerReply)
        /// Fetched, or the server stopped.
        case over
    }

    private let state = Lock(State.open)

    /// Makes one; answer the request with `HTTPServerReply.later` and send later, from any thread.
    public init() {}

    /// Gives the reply.
    public func send(_ reply: HTTPServerReply) {
        state.withLock { state in
            switch state {
            case .open:
                state = .sent(reply)
            case .waiting(let connection):
                state = .sent(reply)
                connection.resume()
            case .sent, .over:
                break
            }
        }
    }

    func release() {
        state.withLock { state in
            if case .waiting(let connection) = state {
                connection.resume()
            }
            state = .over
        }
    }

    /// On MHD's thread: sets the connection aside; the reply instead, if it is here already.
    ///
    /// Answers 503 when the server stops, or when this was handed over before.
    func attach(_ connection: Wire) -> HTTPServerReply? {
        state.withLock { state in
            switch state {
            case .open:
                connection.suspend()
                state = .waiting(connection)
                return nil
            case .sent(let reply):
                state = .over
                return reply
            case .waiting, .over:
                return HTTPServerReply(status: 503)
            }
        }
    }

    /// On MHD's thread, once resumed.
    func take() -> HTTPServerReply {
        state.withLock { state in
            defer { state = .over }
            if case .sent(let reply) = state { return reply }
            return HTTPServerReply(status: 503)
        }
    }
}
