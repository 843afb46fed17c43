internal import Glibc

/// What all requests of a loop or client share.
///
/// No compression is asked for: libcurl 7.88 cannot tell a compressed body that was cut.
/// TLS is 1.2 or newer and always verified. The proxy variables of the environment are honoured as
/// curl does (`https_proxy`, `http_proxy`, `all_proxy`, `no_proxy`), except for loopback.
public struct HTTPLoopConfiguration: Sendable {
    /// Requests in flight at most, and sockets kept: 32-128 serves best, at most 1024.
    public var maxConnections: Int
    /// The `User-Agent` of every request.
    public var userAgent: String
    /// Bytes of the receive buffer of each connection, 1 KiB to 512 KiB: the usual size of a body.
    public var bufferSize: Int
    /// The largest body that is taken; the transfer is aborted at the first byte beyond.
    public var maximumBody: Int
    /// The share of a request's time that connecting may take.
    public var connectTimeout: Duration
    /// Certificates in PEM that are trusted besides the system's.
    public var caFile: String?
    /// An idle connection older than this is not used again; below the server's idle timeout.
    public var idleTimeout: Duration

    /// Names the defaults: 64 connections, 16 KiB, 4 MiB, 5 s to connect, 50 s idle.
    public init(
        maxConnections: Int = 64, userAgent: String = "trax-relay", bufferSize: Int = 16_384,
        maximumBody: Int = 4 << 20, connectTimeout: Duration = .seconds(5),
        caFile: String? = nil, idleTimeout: Duration = .seconds(50)
    ) {
        self.maxConnections = maxConnections
        self.userAgent = userAgent
        self.bufferSize = bufferSize
        self.maximumBody = maximumBody
        self.connectTimeout = connectTimeout
        self.caFile = caFile
        self.idleTimeout = idleTimeout
    }

    func validate() throws(HTTPError) {
        precondition((1...1024).contains(maxConnections), "1-1024 connections")
        precondition((1024...524_288).contains(bufferSize), "a buffer of 1 KiB to 512 KiB")
        precondition(maximumBody > 0, "a body of at least one byte")
        guard let caFile else { return }
        guard unsafe access(caFile, R_OK) == 0 else {
            throw HTTPError(.tls, "The file of trusted certificates \(caFile) cannot be read.")
        }
    }

    /// The value of `CURLOPT_NOPROXY`: the environment's, with loopback added.
    static func withoutProxy() -> String {
        let loopback = "localhost,127.0.0.0/8,::1"
        for name in ["no_proxy", "NO_PROXY"] {
            guard let value = unsafe getenv(name) else { continue }
            let text = unsafe String(cString: value)
            if text == "*" { return text }
            return text.isEmpty ? loopback : "\(text),\(loopback)"
        }
        return loopback
    }
}

extension Duration {
    /// Whole milliseconds, rounded up, from 0 to `limit`.
    func milliseconds(upTo limit: Int) -> Int {
        let parts = components
        if parts.seconds >= limit / 1000 { return limit }
        if self <= .zero { return 0 }
        let rest = (parts.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return min(limit, Int(parts.seconds) * 1000 + Int(rest))
    }
}
