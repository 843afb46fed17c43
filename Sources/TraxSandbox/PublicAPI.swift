internal import HTTPServer
internal import JSON

/// One request to what the vendor describes, under `/v1`.
struct PublicAPI {
    let request: HTTPServerRequest
    let state: SharedState

    /// The reply, with `X-Request-Id` on it.
    func answer() -> HTTPServerReply {
        let requestID = echoed ?? state.read { $0.makeRequestID() }
        switch request.path {
        case "/v1/health":
            guard request.method == "GET" else { return notAllowed(requestID) }
            return json(Array(#"{"status":"ok"}"#.utf8), requestID)
        case "/v1/connections":
            guard request.method == "GET" else { return notAllowed(requestID) }
            let now = state.now
            let answer = state.read { state in
                state.list(
                    key: key, limit: request.parameter("limit"),
                    cursor: request.parameter("cursor"), at: now)
            }
            return reply(answer, requestID)
        default:
            return failure(.notFound, requestID)
        }
    }

    /// The client's own request id, if it is fit for a header.
    private var echoed: String? {
        guard let own = request.header("X-Request-Id"), (1...128).contains(own.utf8.count),
            own.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return own
    }

    /// The credential: a bearer token, or its alias.
    private var key: String? {
        if let value = request.header("Authorization") {
            let words = value.split(separator: " ", omittingEmptySubsequences: true)
            guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
            return String(words[1])
        }
        return request.header("X-API-Key")
    }

    private func reply(_ answer: ListAnswer, _ requestID: String) -> HTTPServerReply {
        switch answer {
        case .page(let page): json(page, requestID)
        case .failure(let error): failure(error, requestID)
        case .late(let delay, let answer): reply(answer, requestID).delayed(by: delay)
        case .spoiled(let fault, let page): spoiled(fault, page, requestID)
        }
    }

    private func spoiled(
        _ fault: SandboxFault, _ page: [UInt8], _ requestID: String
    ) -> HTTPServerReply {
        switch fault.kind {
        case .delay: return json(page, requestID)
        case .status:
            let error = APIFailure(
                status: fault.status, code: fault.code ?? APIFailure.code(of: fault.status),
                message: "A fault that was injected.",
                requiredScope: fault.status == 403 ? "connections:read" : nil,
                retryAfter: fault.retryAfter)
            return failure(error, requestID)
        case .proxy:
            var reply = html("<h1>\(fault.status)</h1>", status: fault.status)
            if let retryAfter = fault.retryAfter {
                reply.headers.append(("Retry-After", retryAfter))
            }
            return reply
        case .html: return html("<h1>Welcome</h1>", status: 200)
        case .garbage: return json(Array(#"{"data":{"rows":[]}}"#.utf8), requestID)
        case .truncate: return json(page, requestID).truncated(after: page.count / 2)
        case .reset: return .dropped(reset: true)
        case .drop: return .dropped()
        case .empty: return json(Array(#"{"data":[]}"#.utf8), requestID)
        case .noContent:
            return HTTPServerReply(status: 204, headers: [("X-Request-Id", requestID)])
        case .redirect:
            return HTTPServerReply(
                status: 302,
                headers: [("Location", "/v1/elsewhere"), ("X-Request-Id", requestID)])
        case .cursorLoop, .badRow, .doubleRow:
            return json(Self.distorted(page, fault.kind), requestID)
        }
    }

    /// A page of ours with one thing wrong.
    private static func distorted(_ page: [UInt8], _ kind: SandboxFault.Kind) -> [UInt8] {
        let parsed: JSONValue
        do throws(JSONError) {
            parsed = try JSONValue(parsing: page)
        } catch {
            preconditionFailure("a page of ours is no JSON: \(error)")
        }
        guard var object = parsed.objectValue, var rows = object["data"]?.arrayValue
        else { return page }
        if kind == .cursorLoop {
            object["nextCursor"] = .string(SandboxState.cursor(after: ""))
        } else if kind == .badRow {
            rows.append(["platform": "youtube", "status": "active"])
        } else if let last = rows.last {
            rows.append(last)
        }
        object["data"] = .array(rows)
        return JSONValue.object(object).serialized()
    }

    private func html(_ text: String, status: Int) -> HTTPServerReply {
        .text(
            "<!doctype html><title>\(status)</title>\(text)\n", status: status,
            contentType: "text/html")
    }

    private func json(
        _ body: [UInt8], _ requestID: String, status: Int = 200
    ) -> HTTPServerReply {
        HTTPServerReply(
            status: status,
            headers: [("Content-Type", "application/json"), ("X-Request-Id", requestID)], body: body
        )
    }

    private func failure(_ error: APIFailure, _ requestID: String) -> HTTPServerReply {
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
        return reply
    }

    private func notAllowed(_ requestID: String) -> HTTPServerReply {
        var reply = failure(
            .invalidRequest("This method is not allowed here.", status: 405), requestID)
        reply.headers.append(("Allow", "GET, HEAD"))
        return reply
    }
}
