internal import HTTPServer

/// A stand-in for the TRaX Developer API on this machine, with strings to pull.
///
/// It serves what the vendor describes under `/v1`, told exactly by `GET /v1/openapi.json`, and a
/// control API under `/sandbox`, described by `GET /sandbox`. Its keys open
/// nothing else; there is no access control on the control API, so listen on loopback.
public final class Sandbox: Sendable {
    /// The world that is served; changes show in the next answer.
    public let state: SharedState
    /// Where it listens.
    public let port: UInt16
    private let server: HTTPServer
    private let host: String

    /// Starts to serve.
    ///
    /// - Parameters:
    ///   - host: an IP literal or `localhost`.
    ///   - port: 0 takes a free one.
    ///   - state: what is there at first.
    ///   - appSchemes: to which apps the page at the end of a link offers to return.
    /// - Throws: `SandboxError` of kind `cannotListen`, whose reason says what to do.
    public init(
        host: String = "127.0.0.1", port: UInt16 = 7081, state: SandboxState = SandboxState(),
        appSchemes: AppSchemes = AppSchemes.none
    ) throws(SandboxError) {
        let shared = SharedState(state)
        do throws(HTTPServerError) {
            server = try HTTPServer(
                host: host, port: port, limits: .init(connections: 4096, timeout: .seconds(120))
            ) {
                Self.answer($0, shared)
            }
        } catch {
            throw SandboxError(.cannotListen, error.reason)
        }
        self.state = shared
        self.port = server.port
        self.host = host
        let origin = url
        shared.read { state in
            state.deployment.origin = origin
            state.deployment.connectSecret = Token.make()
            state.deployment.appSchemes = appSchemes
        }
    }

    /// The base URL, such as `http://127.0.0.1:7081`.
    public var url: String {
        "http://\(host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host):\(port)"
    }

    /// Stops serving; open connections end.
    public func stop() { server.stop() }

    private static func answer(
        _ request: HTTPServerRequest, _ state: SharedState
    ) -> HTTPServerReply {
        // First what is asked thousands of times a second.
        if request.path.hasPrefix("/v1/") { return publicAnswer(request, state) }
        let path = request.path.split(separator: "/")
        switch path.first {
        case "sandbox": return ControlAPI(request: request, state: state).answer()
        case "oauth" where path.count > 1 && path[1] != "v2":
            return ConnectSite(request: request, state: state).answer()
        case "platforms" where path.count == 3:
            if let site = PlatformSite(request, state, platform: String(path[1])) {
                return site.answer(String(path[2]))
            }
        case "oauth", "oidc", ".well-known", "ui":
            if let reply = IdentitySite(request, state).answer() { return reply }
        case nil, .some: break
        }
        return publicAnswer(request, state)
    }

    private static func publicAnswer(
        _ request: HTTPServerRequest, _ state: SharedState
    ) -> HTTPServerReply {
        let reply = PublicAPI(request: request, state: state).answer()
        state.read { $0.count(reply) }
        return reply
    }
}

extension SandboxState {
    /// Counts an answer of the public API; none at all counts as status 0.
    mutating func count(_ reply: HTTPServerReply) {
        answers[reply.isDropped ? 0 : reply.status, default: 0] += 1
    }
}
