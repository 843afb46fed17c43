/// Why a walk was not sealed.
///
/// It changes no belief; only a refusal is counted.
public struct WalkFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the caller can do.
    public enum Kind: Hashable, Sendable {
        /// The credential was refused, with the API's error envelope: counted.
        case refused(status: Int, code: String, requiredScope: String?)
        /// The server asked to wait that long.
        case throttled(Duration)
        /// Anything else: back off and walk again.
        case failed
    }

    /// What the caller can do.
    public var kind: Kind
    /// One of few stable words, a metric label.
    public var code: String
    /// A sentence; never a URL query, a header, a body or a secret.
    public var reason: String
    /// The request whose answer it was, to be quoted to the vendor; nil where there is none.
    public var requestID: String?

    /// A failure, field by field.
    public init(
        kind: Kind = .failed, code: String, reason: String, requestID: String? = nil
    ) {
        self.kind = kind
        self.code = code
        self.reason = reason
        self.requestID = requestID
    }

    /// A request that brought no answer.
    public init(_ failure: PageFailure) {
        self.init(code: failure.code, reason: failure.reason)
    }

    /// The reason.
    public var description: String { reason }

    /// All walks under way together hold as much as they may; this one gives way.
    public static let noMemory = WalkFailure(
        code: "walks_too_large",
        reason: "the lists that are being read together are larger than all walks may hold")

    /// The walk took longer than it may.
    public static func tookTooLong(_ limit: Duration) -> WalkFailure {
        WalkFailure(
            code: "walk_timeout", reason: "the walk did not end within walkTimeout (\(limit))")
    }
}

/// How much a walk may read; whatever trips fails the walk and is named.
public struct WalkLimits: Hashable, Sendable {
    /// Pages of one walk.
    public var pages: Int
    /// Rows of one walk.
    public var rows: Int
    /// Bytes of one answer's body.
    public var body: Int

    /// Bytes of all bodies of one walk: eight of the largest.
    ///
    /// Whoever needs longer lists raises `body`; pages alone would bound nothing.
    public var bytes: Int { body * 8 }

    /// Limits, field by field; the defaults are the contract's.
    public init(pages: Int = 100, rows: Int = 20_000, body: Int = 4 << 20) {
        self.pages = pages
        self.rows = rows
        self.body = body
    }
}
