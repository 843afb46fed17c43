internal import Glibc

/// Why the server does not listen.
public struct HTTPServerError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What the caller can do about it; open, so switches need a last resort.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The stable word.
        public let rawValue: String

        /// Names a kind.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Another program listens there: choose another port, or stop it.
        public static let addressInUse = Kind(rawValue: "address_in_use")
        /// The address is no IP literal or `localhost`, or is not this machine's.
        public static let badAddress = Kind(rawValue: "bad_address")
        /// The system does not allow it: ports below 1024 want a privilege.
        public static let notPermitted = Kind(rawValue: "not_permitted")
        /// Anything else, such as no file descriptor left.
        public static let other = Kind(rawValue: "other")
    }

    /// What the caller can do.
    public let kind: Kind
    /// What happened and what to do, in one or two sentences.
    public let reason: String

    /// Makes an error.
    public init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }

    /// A stable word of few values.
    public var code: String { kind.rawValue }

    /// The reason.
    public var description: String { reason }

    init(errno code: Int32, host: String, port: UInt16) {
        let place = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        switch code {
        case EADDRINUSE:
            self.init(
                .addressInUse,
                "Another program listens on \(place). Choose another port, or stop that program.")
        case EACCES, EPERM:
            self.init(
                .notPermitted,
                "The system does not allow listening on \(place). Choose a port from 1024 up.")
        case EADDRNOTAVAIL, EAFNOSUPPORT:
            self.init(.badAddress, "\(host) is no address of this machine. Try 127.0.0.1.")
        default:
            let text = unsafe String(cString: strerror(code))
            self.init(.other, "Listening on \(place) failed: \(text).")
        }
    }
}
