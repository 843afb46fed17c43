internal import HTTPServer
internal import JSON

/// How faults show.
extension PublicAPI {
    func spoiled(
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
}
