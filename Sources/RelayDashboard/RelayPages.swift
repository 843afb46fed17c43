internal import ConnectionEvents
public import Crypto
public import HTTPServer
internal import JSON
internal import RelayCore
public import RelayRuntime

/// The relay's HTTP side: liveness, readiness, metrics, holds and links.
///
/// All but holds and links answers from a copy of the relay's status, so it works while journal or
/// broker hang.
/// Threads: called on the server's thread.
public struct RelayPages: Sendable {
    private let status: @Sendable () -> RelayStatus
    private let token: @Sendable () -> Secret?
    private let version: String
    private let libraries: [(name: String, version: String)]
    private let holds: HoldPages?
    private let links: LinkPages?

    /// The pages over a status.
    ///
    /// - Parameters:
    ///   - token: what all but `/healthz`, `/readyz` and `/metrics` asks for, asked each time; nil:
    ///     nothing.
    ///   - libraries: name and version of libraries, for `build_info`.
    ///   - holds: the pages under `/api/holds`; nil: there are none.
    ///   - links: the pages under `/api/links`; nil: there are none.
    public init(
        token: @escaping @Sendable () -> Secret?, version: String,
        libraries: [(name: String, version: String)], holds: HoldPages? = nil,
        links: LinkPages? = nil,
        status: @escaping @Sendable () -> RelayStatus
    ) {
        self.status = status
        self.token = token
        self.version = version
        self.libraries = libraries
        self.holds = holds
        self.links = links
    }

    /// Answers a request.
    public func reply(to request: HTTPServerRequest) -> HTTPServerReply {
        switch request.path {
        case "/healthz":
            return get(request) { .text("ok\n") }
        case "/readyz":
            return get(request) { readiness() }
        case "/metrics":
            return get(request) {
                .text(
                    MetricsText.render(status(), version: version, libraries: libraries),
                    contentType: "text/plain; version=0.0.4; charset=utf-8")
            }
        default:
            let bearsToken = token().map { Self.bears($0, request) }
            if let refusal = Gate.refusal(of: request, bearsToken: bearsToken) { return refusal }
            guard let words = request.segments, words.first == "api", words.count > 1 else {
                return .notFound(request)
            }
            let rest = Array(words.dropFirst(2))
            switch words[1] {
            case "holds": return holds?.reply(to: request, words: rest) ?? .notFound(request)
            case "links": return links?.reply(to: request, words: rest) ?? .notFound(request)
            default: return .notFound(request)
            }
        }
    }

    private func get(
        _ request: HTTPServerRequest, _ reply: () -> HTTPServerReply
    ) -> HTTPServerReply {
        guard request.method == "GET" || request.isHead else {
            return .notAllowed(request, "GET", "HEAD")
        }
        return reply()
    }

    /// 200 when ready, else 503; what is noted but no reason against readiness stands in `details`.
    private func readiness() -> HTTPServerReply {
        let status = status()
        let reasons = status.reasons
        let poll = status.poll
        let body: JSONValue = [
            "ready": .bool(reasons.isEmpty),
            "reasons": .array(
                reasons.map { ["code": .string($0.code), "message": .string($0.text)] }),
            "details": [
                "accounts": .number(JSONNumber(Int64(poll.active))),
                "paused": .number(JSONNumber(Int64(poll.paused))),
                "blind": .number(JSONNumber(Int64(poll.blind))),
                "failing": .number(JSONNumber(Int64(poll.failing))),
                "holds": .number(JSONNumber(Int64(poll.holds.values.reduce(0, +)))),
                "firstRoundLeft": .number(JSONNumber(Int64(poll.firstRoundLeft))),
                "budgetSufficient": .bool(poll.isBudgetSufficient),
                "secondsSinceSealedWalk": poll.lastSealed.map {
                    .number(JSONNumber(Int64((status.now - $0).inSeconds)))
                } ?? .null,
            ],
        ]
        return HTTPServerReply(
            status: reasons.isEmpty ? 200 : 503,
            headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
            body: body.serialized() + [0x0A])
    }

    private static func bears(_ token: Secret, _ request: HTTPServerRequest) -> Bool {
        let scheme = "bearer "
        guard let header = request.header("Authorization"),
            header.prefix(scheme.count).lowercased() == scheme
        else { return false }
        return Secret(String(header.dropFirst(scheme.count))) == token
    }
}
