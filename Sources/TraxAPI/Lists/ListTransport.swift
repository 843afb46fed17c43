internal import Crypto
internal import HTTPClient
public import RelayCore

/// Where the API is, and how it is spoken to.
public struct TraxEndpoint: Sendable {
    /// As `https://api-dev.traxstreaming.live`, without `/v1` and without a slash at the end.
    public var baseURL: String
    /// Product and version, as `trax-relay/0.1.0`.
    public var userAgent: String
    /// Sockets at most.
    public var maxConnections: Int
    /// Bytes of one answer's body at most.
    public var maximumBody: Int
    /// A file of further trusted certificates; nil: the system's alone.
    public var caFile: String?

    /// An endpoint, field by field.
    public init(
        baseURL: String, userAgent: String, maxConnections: Int = 64, maximumBody: Int = 4 << 20,
        caFile: String? = nil
    ) {
        self.baseURL = baseURL
        self.userAgent = userAgent
        self.maxConnections = maxConnections
        self.maximumBody = maximumBody
        self.caFile = caFile
    }

    var loopConfiguration: HTTPLoopConfiguration {
        HTTPLoopConfiguration(
            maxConnections: maxConnections, userAgent: userAgent, maximumBody: maximumBody,
            caFile: caFile)
    }
}

/// Asks `GET /v1/connections` for pages, on the loop thread of `HTTPClient`.
///
/// Threads: as ``RelayCore/PageTransport`` says. The credential goes into the `Authorization`
/// header and nowhere else; redirects are not followed.
public final class ListTransport: PageTransport {
    private let loop: HTTPLoop
    private let firstPage: String

    /// A transport to an endpoint.
    ///
    /// - Parameter pageLimit: sent as `limit`, 1 to 200.
    /// - Throws: where the certificates cannot be read or memory is short.
    public init(_ endpoint: TraxEndpoint, pageLimit: Int) throws(TraxError) {
        do {
            loop = try HTTPLoop(endpoint.loopConfiguration)
        } catch {
            throw TraxError(error)
        }
        firstPage = "\(endpoint.baseURL)/v1/connections?limit=\(pageLimit)"
    }

    /// Drives requests on the calling thread until `stop`.
    public func run(_ driver: any PageDriver) {
        loop.run(LoopDriver(driver))
    }

    /// Makes the driver's next turn come at once.
    public func wake() { loop.wake() }

    /// Ends `run`.
    public func stop() { loop.stop() }

    /// How many requests may be started now.
    public var free: Int { loop.free }

    /// Starts a request.
    public func request(_ page: PageRequest, token: WalkToken) {
        loop.start(
            HTTPRequest(
                .get,
                url: page.cursor.map { "\(firstPage)&cursor=\(QueryValue.encode($0))" }
                    ?? firstPage,
                headers: [
                    ("Authorization", "Bearer \(page.credential.reveal())"),
                    ("Accept", "application/json"),
                    ("X-Request-Id", page.requestID),
                ],
                timeout: page.timeout),
            token: token.number)
    }

    /// Drops a request in flight.
    public func cancel(_ token: WalkToken) { loop.cancel(token: token.number) }
}

/// Stands between the HTTP loop and the driver of pages.
private final class LoopDriver: HTTPLoopDriver {
    private let driver: any PageDriver

    init(_ driver: any PageDriver) { self.driver = driver }

    func turn(_ loop: HTTPLoop) -> Duration? { driver.turn() }

    func completed(_ loop: HTTPLoop, token: Int, result: borrowing HTTPResult) {
        let token = WalkToken(token)
        if let error = result.error {
            driver.failed(token, PageFailure(code: error.code, reason: error.reason))
            return
        }
        let status = result.status
        let isThrottled = status == 429 || status == 503
        let retryAfter = isThrottled ? result.header("Retry-After") : nil
        let date = isThrottled ? result.header("Date") : nil
        let requestID = result.header("X-Request-Id")
        unsafe result.withUnsafeBody { body in
            driver.answered(
                token,
                unsafe PageAnswer(
                    status: status, retryAfter: retryAfter, date: date, requestID: requestID,
                    body: body))
        }
    }
}

/// Percent-encoding of a query value: everything but RFC 3986's unreserved characters.
enum QueryValue {
    static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let hex = String(byte, radix: 16, uppercase: true)
                encoded += "%" + (hex.count == 1 ? "0" : "") + hex
            }
        }
        return encoded
    }
}
