public import ConnectionEvents
public import Crypto
internal import HTTPClient
public import RelayCore

/// Reads one account's list in one go, for commands: the same walk that the relay does.
///
/// Blocks the calling thread; one thread at a time.
public final class ListReader {
    private let client: HTTPClient
    private let firstPage: String
    private let limits: WalkLimits
    private let requestTimeout: Duration

    /// A reader of an endpoint's lists.
    ///
    /// - Throws: where the certificates cannot be read or memory is short.
    public init(
        _ endpoint: TraxEndpoint, pageLimit: Int, limits: WalkLimits, requestTimeout: Duration
    ) throws(TraxError) {
        do {
            client = try HTTPClient(endpoint.loopConfiguration)
        } catch {
            throw TraxError(error)
        }
        firstPage = "\(endpoint.baseURL)/v1/connections?limit=\(pageLimit)"
        self.limits = limits
        self.requestTimeout = requestTimeout
    }

    /// Walks the list of whom the credential belongs to.
    ///
    /// - Parameters:
    ///   - pause: called before each page after the first, for the account's pace.
    ///   - now: the wall clock.
    public func walk(
        _ id: WalkID, credential: Secret, pause: () -> Void, now: () -> Timestamp
    ) -> Result<SealedWalk, WalkFailure> {
        var walk = Walk(id: id, limits: limits, expected: nil)
        var cursor: String?
        while true {
            let response: HTTPResponse
            do throws(HTTPError) {
                response = try client.perform(
                    HTTPRequest(
                        .get,
                        url: cursor.map { "\(firstPage)&cursor=\(QueryValue.encode($0))" }
                            ?? firstPage,
                        headers: [
                            ("Authorization", "Bearer \(credential.reveal())"),
                            ("Accept", "application/json"),
                            ("X-Request-Id", id.requestID(page: walk.nextPage)),
                        ],
                        timeout: requestTimeout))
            } catch {
                return .failure(WalkFailure(code: error.code, reason: error.reason))
            }
            let step = unsafe response.body.withUnsafeBytes { body in
                walk.answered(
                    unsafe PageAnswer(
                        status: response.status, retryAfter: response.header("Retry-After"),
                        date: response.header("Date"),
                        requestID: response.header("X-Request-Id"), body: body),
                    now: now())
            }
            switch step {
            case .page(let next):
                cursor = next
                pause()
            case .unchanged:
                preconditionFailure("a walk that expects nothing finds nothing unchanged")
            case .read(let reading):
                return reading.seal(at: now())
            case .failed(let failure):
                return .failure(failure)
            }
        }
    }

    /// Whether the API answers at all, whatever it answers: `GET /v1/health`, without a credential.
    ///
    /// - Throws: where nothing answered.
    public func probe() throws(TraxError) -> Int {
        let url = firstPage.prefix(while: { $0 != "?" }).dropLast("connections".count) + "health"
        do throws(HTTPError) {
            return try client.perform(
                HTTPRequest(.get, url: String(url), headers: [], timeout: requestTimeout)
            ).status
        } catch {
            throw TraxError(error)
        }
    }
}
