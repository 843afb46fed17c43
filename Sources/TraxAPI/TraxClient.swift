public import ConnectionEvents
public import Crypto
internal import HTTPClient
internal import Threading

/// A typed client of the TRaX Developer API, for one credential.
///
/// Copies share one thread and its connections. Calls are async; threads of one's own may wait
/// instead (``wait(for:)``), and none of either blocks Swift's cooperative pool.
///
/// Threads: any. Calls that fail are sent again where that is safe (``RetryRules``). The credential
/// goes into the `Authorization` header and nowhere else; redirects are not followed.
public struct TraxClient: Sendable {
    private let line: TraxLine
    private let credential: Secret
    private let requestTimeout: Duration
    private let rules: RetryRules

    /// A client of an endpoint.
    ///
    /// - Parameters:
    ///   - credential: an API key, or a person's access token.
    ///   - requestTimeout: of each attempt.
    ///   - clock: the wall clock; measures dates in `Retry-After` of answers without a date.
    /// - Throws: where the certificates cannot be read or memory is short.
    public init(
        _ endpoint: TraxEndpoint, credential: Secret, requestTimeout: Duration = .seconds(10),
        retrying rules: RetryRules = RetryRules(),
        clock: @escaping @Sendable () -> Timestamp = WallClock.now
    ) throws(TraxError) {
        line = try TraxLine(endpoint, clock: clock)
        self.credential = credential
        self.requestTimeout = requestTimeout
        self.rules = rules
    }

    /// A client of an endpoint with an API key.
    ///
    /// - Throws: where the certificates cannot be read or memory is short.
    public init(_ endpoint: TraxEndpoint, apiKey: String) throws(TraxError) {
        try self.init(endpoint, credential: Secret(apiKey))
    }

    private init(_ other: TraxClient, credential: Secret) {
        line = other.line
        requestTimeout = other.requestTimeout
        rules = other.rules
        self.credential = credential
    }

    /// The same client for another credential; the connections are shared.
    public func acting(with credential: Secret) -> TraxClient {
        TraxClient(self, credential: credential)
    }

    /// Carries out a call.
    ///
    /// A cancelled task ends it at once with an error of kind `cancelled`.
    public func send<Value: Sendable>(_ call: TraxCall<Value>) async throws(TraxError) -> Value {
        let number = line.reserve()
        let ending = await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: CheckedContinuation<TraxLine.Ending, Never>) in
                start(call, number) { waiter.resume(returning: $0) }
            }
        } onCancel: {
            line.cancel(number)
        }
        return try Self.read(call, ending)
    }

    /// Carries out a call; blocks the calling thread, which must not be the cooperative pool's.
    public func wait<Value: Sendable>(for call: TraxCall<Value>) throws(TraxError) -> Value {
        let box = Lock<TraxLine.Ending?>(nil)
        start(call, line.reserve()) { ending in box.signal { $0 = ending } }
        return try Self.read(call, box.wait { $0 } ?? .failure(.cancelled))
    }

    private func start<Value>(
        _ call: TraxCall<Value>, _ number: Int,
        _ ended: @escaping @Sendable (TraxLine.Ending) -> Void
    ) {
        let id = Self.requestID()
        var headers = [("Accept", "application/json"), ("X-Request-Id", id)]
        if call.needsCredential {
            headers.append(("Authorization", "Bearer \(credential.reveal())"))
        }
        if call.body != nil { headers.append(("Content-Type", "application/json")) }
        // The line must live as long as what it carries out.
        let line = line
        line.start(
            number,
            HTTPRequest(
                call.method, url: line.endpoint.baseURL + call.path,
                headers: headers, body: call.body, timeout: requestTimeout,
                onNewConnection: !RetryRules.isRepeatable(call.method)),
            requestID: id, rules: rules, ended: ended)
    }

    private static func read<Value>(
        _ call: TraxCall<Value>, _ ending: TraxLine.Ending
    ) throws(TraxError) -> Value {
        switch ending {
        case .success(let answer): return try call.read(answer)
        case .failure(let error):
            if let value = call.forgives(error) { return value }
            throw error
        }
    }

    private static func requestID() -> String {
        var random = SystemRandomNumberGenerator()
        let text = String(random.next() as UInt64, radix: 16)
        return "tc_" + String(repeating: "0", count: 16 - text.utf8.count) + text
    }
}

extension TraxClient {
    /// Asks for the address of a consent screen; open it in a system browser.
    public func link(_ request: LinkRequest) async throws(TraxError) -> LinkTicket {
        try await send(.link(request))
    }

    /// Unlinks a connection.
    public func unlink(_ id: ConnectionID) async throws(TraxError) { try await send(.unlink(id)) }

    /// Keeps a pasted stream key; the new row is returned.
    public func addManualKey(_ key: ManualKey) async throws(TraxError) -> TraxConnection {
        try await send(.addManualKey(key))
    }

    /// What the API says of itself; an answer that is no success is an error.
    @discardableResult
    public func health() async throws(TraxError) -> TraxHealth { try await send(.health) }

    /// The account's connections, page by page.
    public func connections(
        pageSize: Int = 200, limits: TraxListLimits = TraxListLimits()
    ) -> TraxPages<TraxConnection> {
        TraxPages(client: self, limits: limits) { .connections(limit: pageSize, after: $0) }
    }

    /// The account's studios, page by page.
    public func studios(
        pageSize: Int = 200, limits: TraxListLimits = TraxListLimits()
    ) -> TraxPages<TraxStudio> {
        TraxPages(client: self, limits: limits) { .studios(limit: pageSize, after: $0) }
    }
}
