internal import CCurl

/// A blocking client for commands: one request at a time, the connection kept between them.
///
/// Threads: one at a time, and not the cooperative pool's, because `perform` blocks.
public final class HTTPClient {
    private let exchange: Exchange

    /// Makes a client; throws when the certificates cannot be read or memory is short.
    public init(_ configuration: HTTPLoopConfiguration = .init()) throws(HTTPError) {
        try configuration.validate()
        exchange = try Exchange(configuration)
    }

    /// Sends one request and waits for the whole answer, at most for its timeout.
    ///
    /// - Throws: `HTTPError` when no whole answer came; a status is never an error.
    public func perform(_ request: HTTPRequest) throws(HTTPError) -> HTTPResponse {
        try exchange.prepare(request)
        var code = unsafe curl_easy_perform(exchange.handle)
        if exchange.prepareAgain(code) { code = unsafe curl_easy_perform(exchange.handle) }
        if let error = exchange.failure(code) { throw error }
        return HTTPResult(exchange, error: nil).response()
    }
}
