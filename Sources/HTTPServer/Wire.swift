internal import CMicrohttpd
internal import Glibc

/// One of MHD's connections, and its calls in our types.
///
/// Valid from a request's first callback until it is over. On MHD's thread within a callback, but
/// for `resume`, which any thread may call once for each `suspend`.
@safe struct Wire {
    private let connection: OpaquePointer

    init(_ connection: OpaquePointer) {
        unsafe self.connection = unsafe connection
    }

    /// Sets the connection aside; no callback comes until it is resumed.
    func suspend() { unsafe MHD_suspend_connection(connection) }

    /// Has the callbacks go on.
    func resume() { unsafe MHD_resume_connection(connection) }

    /// Takes the idle timeout off.
    func neverIdle() { unsafe trax_mhd_never_idle(connection) }

    /// Ends the connection for the peer; the callback must tell MHD to give it up.
    func end(reset: Bool = false) { unsafe trax_mhd_end(connection, reset ? 1 : 0) }

    /// The first value of a header.
    func header(_ name: String) -> String? {
        guard let value = unsafe MHD_lookup_connection_value(connection, .HEADER_KIND, name)
        else { return nil }
        return unsafe String(cString: value)
    }

    /// All headers in order; bytes that are no UTF-8 are replaced.
    func headers() -> [(name: String, value: String)] {
        var found: [(name: String, value: String)] = []
        unsafe withUnsafeMutablePointer(to: &found) { pointer in
            _ = unsafe MHD_get_connection_values(
                connection, .HEADER_KIND,
                { context, _, name, value in
                    guard let context = unsafe context, let name = unsafe name else { return .YES }
                    let text = unsafe value.map { unsafe String(cString: $0) }
                    unsafe context.assumingMemoryBound(to: [(name: String, value: String)].self)
                        .pointee.append((String(cString: name), text ?? ""))
                    return .YES
                }, pointer)
        }
        return found
    }

    /// The peer's address; IPv4 within IPv6 as IPv4.
    func peer() -> String {
        guard let address = unsafe trax_mhd_peer(connection) else { return "" }
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let size =
            unsafe Int32(address.pointee.sa_family) == AF_INET6
            ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
        let code = unsafe getnameinfo(
            address, socklen_t(size), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        guard code == 0 else { return "" }
        let name = String(
            decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return name.hasPrefix("::ffff:") && name.contains(".") ? String(name.dropFirst(7)) : name
    }

    /// Queues a reply that is whole, or cut on purpose.
    func queue(_ reply: HTTPServerReply) -> MHD_Result {
        var response: OpaquePointer?
        if case .cut(let after) = reply.course {
            unsafe response = CutBody.response(reply.body, after: after, on: self)
        } else {
            unsafe response = reply.body.withUnsafeBytes { bytes in
                unsafe MHD_create_response_from_buffer(
                    bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                    .RESPMEM_MUST_COPY)
            }
        }
        guard let response = unsafe response else { return .NO }
        return unsafe queue(response, reply)
    }

    /// Queues a response with the reply's status and headers, and gives up our share of it.
    func queue(_ response: OpaquePointer, _ reply: HTTPServerReply) -> MHD_Result {
        for (name, value) in reply.headers {
            // MHD refuses what HTTP does not allow; the rest of the reply is still good.
            _ = unsafe MHD_add_response_header(response, name, value)
        }
        defer { unsafe MHD_destroy_response(response) }
        return unsafe MHD_queue_response(connection, UInt32(reply.status), response)
    }
}

/// A body that breaks off: what a fault looks like from outside.
private final class CutBody {
    private let bytes: [UInt8]
    private let wire: Wire

    private init(_ bytes: [UInt8], _ wire: Wire) {
        self.bytes = bytes
        self.wire = wire
    }

    static func response(
        _ body: [UInt8], after count: Int, on wire: Wire
    ) -> OpaquePointer? {
        let context = unsafe Unmanaged.passRetained(CutBody(Array(body.prefix(count)), wire))
            .toOpaque()
        // An announced length beyond what comes, even for a body that was to be cut at its end.
        let announced = UInt64(max(body.count, count + 1))
        let made = unsafe MHD_create_response_from_callback(
            announced, 4096,
            { context, position, buffer, room in
                guard let context = unsafe context, let buffer = unsafe buffer else { return -2 }
                let cut = unsafe Unmanaged<CutBody>.fromOpaque(context).takeUnretainedValue()
                let rest = cut.bytes.count - Int(position)
                guard rest > 0 else {
                    cut.wire.end()
                    return -2
                }
                let count = min(rest, room)
                unsafe cut.bytes.withUnsafeBytes { bytes in
                    guard let start = bytes.baseAddress else { return }
                    unsafe memcpy(buffer, start + Int(position), count)
                }
                return count
            }, context,
            { context in
                guard let context = unsafe context else { return }
                unsafe Unmanaged<CutBody>.fromOpaque(context).release()
            })
        if unsafe made == nil { unsafe Unmanaged<CutBody>.fromOpaque(context).release() }
        return unsafe made
    }
}
