import HTTPClient
import JSON
import TraxSandbox

/// A sandbox and a client that talks to it over HTTP, as any program would.
final class SandboxClient {
    let sandbox: Sandbox
    private let client: HTTPClient

    init(
        _ state: SandboxState = SandboxState(), schemes environment: [String: String] = [:]
    ) throws {
        sandbox = try Sandbox(
            port: 0, state: state, appSchemes: AppSchemes { environment[$0] })
        client = try HTTPClient()
    }

    deinit {
        sandbox.stop()
    }

    /// Sends one request.
    func send(
        _ method: HTTPMethod, _ path: String, key: String? = nil, body: JSONValue? = nil,
        headers: [(name: String, value: String)] = []
    ) throws -> HTTPResponse {
        let credential = key.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
        return try client.perform(
            HTTPRequest(
                method, url: sandbox.url + path, headers: credential + headers,
                body: body?.serialized(), timeout: .seconds(20)))
    }

    /// Sends one request with any body, and keeps every header of the answer.
    func plain(
        _ method: String, _ path: String, headers: [(name: String, value: String)] = [],
        body: String? = nil
    ) throws -> Answer {
        try PlainHTTP.send(method, port: sandbox.port, path, headers: headers, body: body)
    }

    /// Asks for a link that must be given.
    func link(_ key: String, _ body: JSONValue) throws -> (url: String, state: String) {
        let response = try send(.post, "/v1/connections/link", key: key, body: body)
        guard let url = try response.json["authorizationUrl"]?.stringValue,
            let state = try response.json["state"]?.stringValue
        else { throw Refused(status: response.status, body: response.text) }
        return (url, state)
    }

    /// The rows of a list.
    func rows(_ key: String) throws -> [JSONValue] {
        try list(key).json["data"]?.arrayValue ?? []
    }

    /// Reads a list with a query such as `?limit=2`.
    func list(_ key: String?, _ query: String = "") throws -> HTTPResponse {
        try send(.get, "/v1/connections" + query, key: key)
    }

    /// Asks the control for something that must succeed.
    @discardableResult
    func control(_ method: HTTPMethod, _ path: String, _ body: JSONValue? = nil) throws -> JSONValue
    {
        let response = try send(method, "/sandbox" + path, body: body)
        guard (200...299).contains(response.status) else {
            throw Refused(status: response.status, body: response.text)
        }
        return response.body.isEmpty ? .null : try JSONValue(parsing: response.body)
    }

    struct Refused: Error {
        let status: Int
        let body: String
    }
}

extension HTTPResponse: Answered {}

extension Answered {
    var text: String { String(decoding: body, as: UTF8.self) }

    var json: JSONValue {
        get throws { try JSONValue(parsing: body) }
    }

    /// The ids of a list.
    var ids: [String] {
        get throws { try json["data"]?.arrayValue?.compactMap { $0["id"]?.stringValue } ?? [] }
    }

    /// The code of an error.
    var code: String? {
        get throws { try json["error"]?["code"]?.stringValue }
    }
}
