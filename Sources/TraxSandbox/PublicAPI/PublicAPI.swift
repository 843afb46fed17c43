internal import HTTPServer
internal import JSON

/// One request to what the vendor describes, under `/v1`.
struct PublicAPI {
    let request: HTTPServerRequest
    let state: SharedState

    /// The reply, with `X-Request-Id` on it.
    func answer() -> HTTPServerReply {
        let requestID = echoed ?? state.read { $0.makeRequestID() }
        do throws(APIFailure) {
            return try route(requestID)
        } catch {
            return failure(error, requestID)
        }
    }

    private func route(_ requestID: String) throws(APIFailure) -> HTTPServerReply {
        switch request.path {
        case "/v1/health":
            guard request.method == "GET" else { return notAllowed("GET, HEAD", requestID) }
            return json(Array(#"{"status":"ok"}"#.utf8), requestID)
        case "/v1/openapi.json":
            guard request.method == "GET" else { return notAllowed("GET, HEAD", requestID) }
            return json(OpenAPI.document(server: state.read { $0.origin }), requestID)
        case "/v1/connections": return list(.connections, requestID)
        case "/v1/studios": return list(.studios, requestID)
        case "/v1/connections/link":
            guard request.method == "POST" else { return notAllowed("POST", requestID) }
            return try link(requestID)
        case "/v1/connections/manual":
            guard request.method == "POST" else { return notAllowed("POST", requestID) }
            return try addManual(requestID)
        default:
            // One segment, so that an escaped slash is part of an id and a plain one is not.
            let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 4, parts[1] == "v1", parts[2] == "connections", !parts[3].isEmpty
            else { throw .notFound }
            guard request.method == "DELETE" else { return notAllowed("DELETE", requestID) }
            return try unlink(PercentEncoding.decode(parts[3]), requestID)
        }
    }

    private func list(_ list: List, _ requestID: String) -> HTTPServerReply {
        guard request.method == "GET" else { return notAllowed("GET, HEAD", requestID) }
        let now = state.now
        let credential = credential
        let answer = state.read { state in
            state.list(
                list, credential, limit: request.parameter("limit"),
                cursor: request.parameter("cursor"), at: now)
        }
        return reply(answer, requestID)
    }

    /// The client's own request id, if it is fit for a header.
    private var echoed: String? {
        guard let own = request.header("X-Request-Id"), (1...128).contains(own.utf8.count),
            own.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return own
    }

    /// The credential: a bearer token, or its alias.
    ///
    /// Never to be asked for within `state.read`: a person's token is judged with the world's help.
    var credential: Credential {
        if let value = request.header("Authorization") {
            let words = value.split(separator: " ", omittingEmptySubsequences: true)
            guard words.count == 2, words[0].lowercased() == "bearer" else { return .none }
            let text = String(words[1])
            // Three parts, and no key has a dot: the access token of a person.
            guard text.contains(".") else { return .key(text) }
            return state.owner(of: text).map(Credential.person) ?? .none
        }
        return request.header("X-API-Key").map(Credential.key) ?? .none
    }

    private func reply(_ answer: ListAnswer, _ requestID: String) -> HTTPServerReply {
        switch answer {
        case .page(let page): json(page, requestID)
        case .failure(let error): failure(error, requestID)
        case .late(let delay, let answer): reply(answer, requestID).delayed(by: delay)
        case .spoiled(let fault, let page): spoiled(fault, page, requestID)
        }
    }

    func json(
        _ body: [UInt8], _ requestID: String, status: Int = 200
    ) -> HTTPServerReply {
        HTTPServerReply(
            status: status,
            headers: [("Content-Type", "application/json"), ("X-Request-Id", requestID)], body: body
        )
    }

    func failure(_ error: APIFailure, _ requestID: String) -> HTTPServerReply {
        var members: [(key: String, value: JSONValue)] = [
            ("code", .string(error.code)), ("message", .string(error.message)),
            ("requestId", .string(requestID)),
        ]
        if let scope = error.requiredScope { members.append(("requiredScope", .string(scope))) }
        let envelope: JSONValue = ["error": .object(JSONObject(members))]
        var reply = json(envelope.serialized(), requestID, status: error.status)
        if let retryAfter = error.retryAfter {
            reply.headers.append(("Retry-After", retryAfter))
        }
        if error.status == 401 { reply.headers.append(("WWW-Authenticate", "Bearer")) }
        return reply
    }

    private func notAllowed(_ methods: String, _ requestID: String) -> HTTPServerReply {
        var reply = failure(
            .invalidRequest("This method is not allowed here.", status: 405), requestID)
        reply.headers.append(("Allow", methods))
        return reply
    }
}
