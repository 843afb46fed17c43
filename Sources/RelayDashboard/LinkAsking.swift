internal import ConnectionEvents
internal import HTTPServer
internal import JSON
internal import RelayCore

// The body of `POST /api/links`, and what is answered when it does not work.

extension LinkAsk {
    /// The members of the body.
    private static let members = ["account", "platform", "returnTo", "reconnectConnectionId"]
    /// The longest text of a member, in bytes.
    private static let textLimit = 2048

    /// Reads the body; a member that is misspelt would orphan what was to be repaired.
    init(_ request: HTTPServerRequest) throws(LinkAskFailure) {
        let object: JSONObject?
        do throws(JSONError) {
            object = try JSONValue(parsingWithoutRepeats: request.body).objectValue
        } catch {
            throw .invalid("The body is no JSON, or names a member twice.")
        }
        guard let object else { throw .invalid("The body must be a JSON object.") }
        for key in object.keys where !Self.members.contains(key) {
            throw .invalid("The body may have \(Self.members.joined(separator: ", ")).")
        }
        func text(_ key: String) throws(LinkAskFailure) -> String? {
            switch object[key] {
            case nil, .null: return nil
            case .string(let text) where (1...Self.textLimit).contains(text.utf8.count):
                return text
            case .string, .bool, .number, .array, .object:
                throw .invalid("\(key) must be a string of 1 to 2,048 bytes.")
            }
        }
        guard let name = try text("account"), let account = AccountID(name) else {
            throw .invalid("account must be an account's id.")
        }
        guard let platform = try text("platform") else {
            throw .invalid("platform must be a string.")
        }
        var reconnecting: ConnectionID?
        if let id = try text("reconnectConnectionId") {
            reconnecting = ConnectionID(id)
            guard reconnecting != nil else {
                throw .invalid("reconnectConnectionId must be a connection's id.")
            }
        }
        self.init(
            account: account, platform: platform, returnTo: try text("returnTo"),
            reconnecting: reconnecting)
    }
}

extension LinkAskFailure {
    static func invalid(_ message: String) -> LinkAskFailure {
        LinkAskFailure(status: 400, code: "invalid_request", message: message)
    }
}

extension HTTPServerReply {
    /// The error envelope of the TRaX API, with what the API itself said.
    static func failure(_ request: HTTPServerRequest, _ error: LinkAskFailure) -> HTTPServerReply {
        guard error.requestID != nil || error.requiredScope != nil else {
            return .failure(request, error.status, error.code, error.message)
                .retrying(after: error.retryAfter)
        }
        var object: JSONObject = [
            "code": .string(error.code), "message": .string(error.message),
        ]
        object["requestId"] = JSONValue(error.requestID)
        if let scope = error.requiredScope { object["requiredScope"] = .string(scope) }
        return .json(["error": .object(object)], status: error.status)
            .retrying(after: error.retryAfter)
    }

    private func retrying(after wait: Duration?) -> HTTPServerReply {
        guard let wait else { return self }
        var reply = self
        let seconds = wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)
        reply.headers.append(("Retry-After", String(max(1, seconds))))
        return reply
    }
}
