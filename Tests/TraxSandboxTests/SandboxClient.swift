import HTTPClient
import JSON
import TraxSandbox

/// A sandbox and a client that talks to it over HTTP, as any program would.
final class SandboxClient {
    let sandbox: Sandbox
    private let client: HTTPClient

    init(_ state: SandboxState = SandboxState()) throws {
        sandbox = try Sandbox(port: 0, state: state)
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

extension HTTPResponse {
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
