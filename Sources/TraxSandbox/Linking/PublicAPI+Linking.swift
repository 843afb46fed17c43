internal import HTTPServer
internal import JSON

/// The operations that change connections.
extension PublicAPI {
    func link(_ requestID: String) throws(APIFailure) -> HTTPServerReply {
        let now = state.now
        let credential = credential
        let fresh = Token.make()
        let verifier = Token.make()
        let url = try state.attempt { (state) throws(APIFailure) in
            let account = try state.admit(credential, .writeConnections, writes: true, at: now)
            let request = try LinkRequest(try object())
            return try state.beginLink(
                request, of: account, state: fresh, verifier: verifier, at: now)
        }
        let body: JSONValue = ["authorizationUrl": .string(url), "state": .string(fresh)]
        return json(body.serialized(), requestID)
    }

    func addManual(_ requestID: String) throws(APIFailure) -> HTTPServerReply {
        let now = state.now
        let credential = credential
        let row = try state.attempt { (state) throws(APIFailure) in
            let account = try state.admit(credential, .writeConnections, writes: true, at: now)
            let request = try ManualRequest(try object())
            do throws(SandboxError) {
                let id = try state.addConnection(
                    to: account, platform: request.platform, grantedScopes: [],
                    displayName: request.label)
                return try state.json(of: id, account: account)
            } catch {
                throw APIFailure(status: 409, code: "conflict", message: error.reason)
            }
        }
        return json(row.serialized(), requestID, status: 201)
    }

    func unlink(_ id: String?, _ requestID: String) throws(APIFailure) -> HTTPServerReply {
        let now = state.now
        let credential = credential
        try state.attempt { (state) throws(APIFailure) in
            let account = try state.admit(credential, .writeConnections, writes: true, at: now)
            guard let id else { throw .notFound }
            do throws(SandboxError) {
                try state.removeConnection(id, of: account)
            } catch {
                throw .notFound
            }
        }
        return HTTPServerReply(status: 204, headers: [("X-Request-Id", requestID)])
    }

    /// The JSON object of the body.
    private func object() throws(APIFailure) -> JSONObject {
        let type = request.header("Content-Type") ?? "application/json"
        let media = type.prefix { $0 != ";" }.lowercased()
        guard media.split(separator: " ") == ["application/json"] else {
            throw .invalidRequest("The body must be application/json.", status: 415)
        }
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsingWithoutRepeats: request.body)
        } catch {
            throw .invalidRequest("The body is no JSON, or names a member twice.")
        }
        guard let object = value.objectValue else {
            throw .invalidRequest("The body must be a JSON object.")
        }
        return object
    }
}
