internal import CCurl

/// How a request on a loop ended, lent to the driver for one call.
///
/// Nothing is copied or allocated unless asked for; the body lies in the handle's own buffer.
/// When `error` is set there is no answer that may be used.
public struct HTTPResult: ~Copyable {
    private let exchange: Exchange?
    /// Why there is no whole answer; nil when there is one.
    public let error: HTTPError?
    /// The status, 200-999; 0 without an answer.
    public let status: Int

    init(_ exchange: Exchange?, error: HTTPError?) {
        self.exchange = exchange
        self.error = error
        status = exchange?.info(CURLINFO_RESPONSE_CODE) ?? 0
    }

    /// The first value of any header of the answer, cut to 4 KiB; any spelling of the name.
    public func header(_ name: String) -> String? { exchange?.header(name) }

    /// How many bytes the body has.
    public var bodyCount: Int { exchange?.buffer.count ?? 0 }

    /// Lends the body.
    public func withBody<Result, Failure: Error>(
        _ read: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let exchange else { return try read(RawSpan()) }
        let bytes = unsafe exchange.buffer.bytes
        return try unsafe read(bytes.bytes)
    }

    /// Lends the body; at least 64 readable zero bytes follow it unless it is empty.
    ///
    /// The pointer must not leave `read`.
    @unsafe public func withUnsafeBody<Result, Failure: Error>(
        _ read: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let exchange else {
            return try unsafe read(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        return try unsafe read(exchange.buffer.bytes)
    }

    /// 1.0, 1.1, 2 or 3; empty without an answer.
    public var httpVersion: String {
        switch exchange?.info(CURLINFO_HTTP_VERSION) ?? 0 {
        case Int(CURL_HTTP_VERSION_1_0): "1.0"
        case Int(CURL_HTTP_VERSION_1_1): "1.1"
        case Int(CURL_HTTP_VERSION_2_0): "2"
        case Int(CURL_HTTP_VERSION_3): "3"
        default: ""
        }
    }

    /// Whether the request went over a connection that had served another.
    public var connectionReused: Bool {
        guard let exchange else { return false }
        return exchange.info(CURLINFO_NUM_CONNECTS) == 0
    }

    /// From `start` to the end.
    public var totalTime: Duration { exchange?.totalTime ?? .zero }

    /// Copies the answer out; only for a result without error.
    public func response() -> HTTPResponse {
        var headers: [String: String] = [:]
        for name in HTTPResponse.keptHeaders {
            if let value = header(name) { headers[name] = value }
        }
        return HTTPResponse(
            status: status,
            body: unsafe withUnsafeBody { bytes in unsafe [UInt8](bytes) },
            httpVersion: httpVersion, connectionReused: connectionReused, totalTime: totalTime,
            headers: headers)
    }
}
