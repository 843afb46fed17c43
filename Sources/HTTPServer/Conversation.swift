internal import CMicrohttpd
internal import Glibc

/// One request from its first line to its end, on MHD's thread alone.
///
/// MHD keeps it as the request's context: retained in `begin`, released in `complete`, which MHD
/// calls for every request that has begun. C page: `libmicrohttpd(3)`.
final class Conversation {
    private enum Phase {
        /// The headers have come.
        case begun
        /// The body is coming.
        case receiving
        /// The body is larger than allowed, and is read to be thrown away.
        case discarding
        /// Suspended until the reply is there.
        case waiting(PendingReply)
        /// The reply is queued.
        case answered
    }

    /// How much of a body that is too large is read before the connection is closed.
    static let patience = 4 << 20

    private let house: House
    private let target: String
    private var phase = Phase.begun
    private var body: [UInt8] = []
    private var discarded = 0
    private var member: (any Suspended)?

    private init(house: House, target: String) {
        self.house = house
        self.target = target
    }

    // MARK: - MHD's callbacks

    typealias Begin =
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?
        ) -> UnsafeMutableRawPointer?

    /// `MHD_OPTION_URI_LOG_CALLBACK`: the target as sent; the answer becomes the request's context.
    static var begin: Begin {
        { context, uri, _ in
            guard let context = unsafe context, let uri = unsafe uri else { return nil }
            let house = unsafe Unmanaged<House>.fromOpaque(context).takeUnretainedValue()
            let made = Conversation(house: house, target: unsafe String(cString: uri))
            return unsafe Unmanaged.passRetained(made).toOpaque()
        }
    }

    typealias Handle =
        @convention(c) (
            UnsafeMutableRawPointer?, OpaquePointer?, UnsafePointer<CChar>?, UnsafePointer<CChar>?,
            UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafeMutablePointer<Int>?,
            UnsafeMutablePointer<UnsafeMutableRawPointer?>?
        ) -> MHD_Result

    /// `MHD_AccessHandlerCallback`: once for the headers, once a piece of body, once at its end.
    static var handle: Handle {
        { _, connection, _, method, _, piece, size, context in
            guard let connection = unsafe connection, let size = unsafe size,
                let method = unsafe method, let own = unsafe context?.pointee
            else { return .NO }
            let talk = unsafe Unmanaged<Conversation>.fromOpaque(own).takeUnretainedValue()
            if let piece = unsafe piece, unsafe size.pointee > 0 {
                let bytes = unsafe UnsafeRawBufferPointer(start: piece, count: size.pointee)
                unsafe size.pointee = 0
                return unsafe talk.receive(bytes)
            }
            return unsafe talk.proceed(Wire(connection), String(cString: method))
        }
    }

    typealias Complete =
        @convention(c) (
            UnsafeMutableRawPointer?, OpaquePointer?,
            UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
            MHD_RequestTerminationCode
        ) -> Void

    /// `MHD_OPTION_NOTIFY_COMPLETED`: the one place where the context is released.
    static var complete: Complete {
        { _, _, context, _ in
            guard let own = unsafe context?.pointee else { return }
            unsafe context?.pointee = nil
            let talk = unsafe Unmanaged<Conversation>.fromOpaque(own).takeRetainedValue()
            if let member = talk.member { talk.house.leave(member) }
        }
    }

    // MARK: - The course of a request

    private func receive(_ bytes: UnsafeRawBufferPointer) -> MHD_Result {
        if case .receiving = phase, body.count + bytes.count <= house.limits.body {
            unsafe body.append(contentsOf: bytes)
            return .YES
        }
        body = []
        phase = .discarding
        discarded += bytes.count
        return discarded <= Self.patience ? .YES : .NO
    }

    private func proceed(
        _ wire: Wire, _ method: String
    ) -> MHD_Result {
        switch phase {
        case .begun:
            phase = .receiving
            if let announced = wire.header("Content-Length"),
                let size = Int(announced), size > house.limits.body
            {
                return answer(Self.tooLarge(), wire)
            }
            return .YES
        case .receiving:
            let request = HTTPServerRequest(
                method: method, target: target,
                headers: wire.headers(), body: body,
                peer: wire.peer())
            body = []
            return answer(house.handler(request), wire)
        case .discarding:
            return answer(Self.tooLarge(), wire)
        case .waiting(let pending):
            return answer(pending.take(), wire)
        case .answered:
            return .NO
        }
    }

    /// The envelope that all who serve with this have for their errors.
    private static func tooLarge() -> HTTPServerReply {
        var random = SystemRandomNumberGenerator()
        let id = "req_" + String(random.next(), radix: 16)
        return HTTPServerReply(
            status: 413, headers: [("Content-Type", "application/json"), ("X-Request-Id", id)],
            body: Array(
                (#"{"error":{"code":"too_large","message":"The body is too large.","#
                    + #""requestId":"\#(id)"}}"# + "\n").utf8))
    }

    private func answer(_ reply: HTTPServerReply, _ wire: Wire) -> MHD_Result {
        if reply.delay > .zero { return delay(reply, wire) }
        switch reply.course {
        case .whole, .cut:
            phase = .answered
            return wire.queue(reply)
        case .stream(let stream):
            phase = .answered
            guard let response = unsafe stream.response(for: wire) else {
                return wire.queue(HTTPServerReply(status: 500))
            }
            member = stream
            if house.enrol(stream) { house.keepAlive(stream) } else { stream.close() }
            wire.neverIdle()
            return unsafe wire.queue(response, reply)
        case .pending(let pending):
            return wait(for: pending, wire)
        case .dropped(let reset):
            phase = .answered
            wire.end(reset: reset)
            return .NO
        }
    }

    private func delay(_ reply: HTTPServerReply, _ wire: Wire) -> MHD_Result {
        let pending = PendingReply()
        var later = reply
        later.delay = .zero
        house.after(reply.delay) { [later] in pending.send(later) }
        return wait(for: pending, wire)
    }

    private func wait(for pending: PendingReply, _ wire: Wire) -> MHD_Result {
        if let member { house.leave(member) }
        member = pending
        phase = .waiting(pending)
        guard house.enrol(pending) else {
            return answer(HTTPServerReply(status: 503), wire)
        }
        if let reply = pending.attach(wire) {
            return answer(reply, wire)
        }
        return .YES
    }
}
