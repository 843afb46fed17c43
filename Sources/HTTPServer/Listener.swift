internal import Glibc

/// A listening socket, opened by us so that its errors are exact.
///
/// Hand-over to MHD is by `consume()`; until then only `deinit` closes it.
struct Listener: ~Copyable {
    private let descriptor: Int32
    /// The port, also where 0 was asked for.
    let port: UInt16

    /// Binds and listens on an IPv4 or IPv6 literal, or `localhost` (127.0.0.1).
    ///
    /// - Parameter backlog: nil only binds, which fails where somebody listens.
    init(host: String, port: UInt16, backlog: Int32?) throws(HTTPServerError) {
        let name = host == "localhost" ? "127.0.0.1" : host
        let literal =
            name.hasPrefix("[") && name.hasSuffix("]")
            ? String(name.dropFirst().dropLast()) : name
        var v4 = sockaddr_in()
        var v6 = sockaddr_in6()
        var failure: Int32 = 0
        var bound: (descriptor: Int32, port: UInt16)?
        if unsafe inet_pton(AF_INET, literal, &v4.sin_addr) == 1 {
            v4.sin_family = sa_family_t(AF_INET)
            v4.sin_port = port.bigEndian
            (bound, failure) = Self.open(AF_INET, &v4, backlog)
        } else if unsafe inet_pton(AF_INET6, literal, &v6.sin6_addr) == 1 {
            v6.sin6_family = sa_family_t(AF_INET6)
            v6.sin6_port = port.bigEndian
            (bound, failure) = Self.open(AF_INET6, &v6, backlog)
        } else {
            throw HTTPServerError(
                .badAddress,
                "\(host) is no IP address. Use one such as 127.0.0.1, ::1, 0.0.0.0, or localhost.")
        }
        guard let bound else { throw HTTPServerError(errno: failure, host: literal, port: port) }
        descriptor = bound.descriptor
        self.port = bound.port
    }

    deinit {
        Glibc.close(descriptor)
    }

    /// Closes a socket that was given away and not taken.
    static func close(_ descriptor: Int32) { Glibc.close(descriptor) }

    /// Gives the socket away.
    consuming func consume() -> Int32 {
        let given = descriptor
        discard self
        return given
    }

    private static func open<Address>(
        _ family: Int32, _ address: inout Address, _ backlog: Int32?
    ) -> (bound: (Int32, UInt16)?, failure: Int32) {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let made = socket(family, type, 0)
        guard made >= 0 else { return (nil, errno) }
        var on: Int32 = 1
        var size = socklen_t(MemoryLayout<Address>.size)
        unsafe setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        let port = unsafe withUnsafeMutablePointer(to: &address) { pointer -> UInt16? in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                guard unsafe bind(made, generic, size) == 0,
                    backlog.map({ listen(made, $0) == 0 }) ?? true,
                    unsafe getsockname(made, generic, &size) == 0
                else { return nil }
                // The port lies at the same place in both families.
                return unsafe UnsafeRawPointer(generic)
                    .load(fromByteOffset: 2, as: UInt16.self).bigEndian
            }
        }
        guard let port else {
            let failure = errno
            Glibc.close(made)
            return (nil, failure)
        }
        return ((made, port), 0)
    }
}
