public import Crypto

/// Which walk in flight a request belongs to: a small number, used again after the walk.
public struct WalkToken: Hashable, Sendable {
    /// The number.
    public let number: Int

    /// The token of that number.
    public init(_ number: Int) { self.number = number }
}

/// One page to ask for.
public struct PageRequest: Sendable {
    /// The account's API key.
    public var credential: Secret
    /// From the page before; nil for the first.
    public var cursor: String?
    /// Sent as `X-Request-Id`.
    public var requestID: String
    /// The whole request must end within it.
    public var timeout: Duration

    /// One page, field by field.
    public init(credential: Secret, cursor: String?, requestID: String, timeout: Duration) {
        self.credential = credential
        self.cursor = cursor
        self.requestID = requestID
        self.timeout = timeout
    }
}

/// An answer to a page request, as far as a walk looks at it.
@safe public struct PageAnswer {
    /// HTTP status.
    public var status: Int
    /// The header `Retry-After`, as it came.
    public var retryAfter: String?
    /// The header `Date`, as it came: what an HTTP date in `Retry-After` is measured against.
    public var date: String?
    /// The header `X-Request-Id`, as it came.
    public var requestID: String?
    /// The body; valid only during the call that hands the answer over.
    public var body: UnsafeRawBufferPointer

    /// One answer, field by field.
    public init(
        status: Int, retryAfter: String? = nil, date: String? = nil, requestID: String? = nil,
        body: UnsafeRawBufferPointer
    ) {
        self.status = status
        self.retryAfter = retryAfter
        self.date = date
        self.requestID = requestID
        unsafe self.body = body
    }
}

/// Why a request brought no answer.
public struct PageFailure: Error, Hashable, Sendable {
    /// One of few stable words, a metric label: `timed_out`, `reset`, `unreachable`, `resolve`,
    /// `tls`, `truncated`, `too_large`, `protocol`, or another of the transport's.
    public var code: String
    /// A sentence; never a URL query, a header or a secret.
    public var reason: String

    /// A failure, field by field.
    public init(code: String, reason: String) {
        self.code = code
        self.reason = reason
    }
}

/// What a transport drives; every call comes on the transport's thread.
public protocol PageDriver: AnyObject {
    /// Before each wait: starts requests, and says how long to sleep at most (nil: until woken).
    func turn() -> Duration?

    /// A request was answered, whatever the status.
    func answered(_ token: WalkToken, _ answer: PageAnswer)

    /// A request was not answered.
    func failed(_ token: WalkToken, _ failure: PageFailure)
}

/// Asks the API for pages of account lists, on one thread, without waiting.
public protocol PageTransport: AnyObject, Sendable {
    /// Drives requests on the calling thread until `stop`.
    func run(_ driver: any PageDriver)

    /// Makes the driver's next turn come at once. Any thread.
    func wake()

    /// Ends `run`; requests in flight are dropped without a call. Any thread.
    func stop()

    /// How many requests may be started now. Only on the transport's thread.
    var free: Int { get }

    /// Starts a request; there must be a free place. Only on the transport's thread.
    func request(_ page: PageRequest, token: WalkToken)

    /// Drops a request in flight without a call. Only on the transport's thread.
    func cancel(_ token: WalkToken)
}
