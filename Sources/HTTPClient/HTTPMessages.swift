/// The methods that the product sends.
public enum HTTPMethod: String, Sendable, CaseIterable {
    /// RFC 9110, 9.3.1.
    case get = "GET"
    /// RFC 9110, 9.3.2.
    case head = "HEAD"
    /// RFC 9110, 9.3.3.
    case post = "POST"
    /// RFC 9110, 9.3.4.
    case put = "PUT"
    /// RFC 5789.
    case patch = "PATCH"
    /// RFC 9110, 9.3.5.
    case delete = "DELETE"
}

/// One request.
///
/// Headers may be secret, and so may path, query and body: neither `description` nor a mirror shows
/// them. No redirect is followed, no cookie kept, no credential taken from a file.
public struct HTTPRequest: Sendable, CustomStringConvertible, CustomReflectable {
    /// The method.
    public var method: HTTPMethod
    /// An absolute http or https URL without a user in it.
    public var url: String
    /// Names and values in order; at most 32, together at most 32 KiB.
    public var headers: [(name: String, value: String)]
    /// The body; nil sends none.
    public var body: [UInt8]?
    /// The whole request's time, from `start` to the last byte, connecting included.
    public var timeout: Duration
    /// Whether it goes over a connection of its own, and is therefore sent once at most.
    ///
    /// Over a kept connection that its server has just closed, any request is sent a second time:
    /// nobody can tell whether the first was read. What must not be done twice asks for this.
    public var onNewConnection: Bool

    /// Describes a request; nothing is checked before it is sent.
    public init(
        _ method: HTTPMethod = .get, url: String,
        headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
        timeout: Duration, onNewConnection: Bool = false
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.onNewConnection = onNewConnection
    }

    /// Method and origin alone.
    public var description: String { "\(method.rawValue) \(Origin.of(url))" }

    /// A mirror without children, so that `dump` shows no secret.
    public var customMirror: Mirror { Mirror(self, children: [(label: String?, value: Any)]()) }
}

/// A whole answer, copied out of the client.
public struct HTTPResponse: Sendable, CustomStringConvertible, CustomReflectable {
    /// The headers that are kept: all others are dropped.
    public static let keptHeaders = [
        "content-type", "date", "etag", "location", "retry-after", "www-authenticate",
        "x-request-id",
    ]

    /// The status, 200-999; 3xx as it came.
    public let status: Int
    /// The body.
    public let body: [UInt8]
    /// 1.0, 1.1, 2 or 3.
    public let httpVersion: String
    /// Whether the request went over a connection that had served another.
    public let connectionReused: Bool
    /// From `start` to the last byte.
    public let totalTime: Duration
    let headers: [String: String]

    /// The first value of a kept header, at most 4 KiB; any spelling of the name.
    public func header(_ name: String) -> String? { headers[name.lowercased()] }

    /// Status and size alone.
    public var description: String { "HTTP \(status), \(body.count) bytes" }

    /// A mirror of status and size alone.
    public var customMirror: Mirror {
        Mirror(self, children: ["status": status, "bytes": body.count])
    }
}

/// Scheme, host and port of a URL: what may be shown of it.
enum Origin {
    static func of(_ url: String) -> String {
        guard let scheme = url.firstRange(of: "://") else { return "(no origin)" }
        var authority = url[scheme.upperBound...].prefix { !"/?#\\".contains($0) }
        if let user = authority.lastIndex(of: "@") {
            authority = authority[authority.index(after: user)...]
        }
        return "\(url[..<scheme.lowerBound])://\(authority)"
    }
}
