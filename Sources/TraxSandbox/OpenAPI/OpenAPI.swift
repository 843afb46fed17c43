internal import JSON

/// What `GET /v1/openapi.json` answers: OpenAPI 3.0.3 of all that is served under `/v1`.
///
/// Written from the vendor's guides. What they leave open and this sandbox had to choose is marked
/// `x-sandbox-choice` at its place, so that a reader can tell fact from choice.
enum OpenAPI {
    /// The document, as bytes of JSON.
    ///
    /// - Parameter server: the origin, without `/v1`: paths have it, as the vendor's do.
    static func document(server: String) -> [UInt8] {
        let address = JSONValue.string(server).text
        let paths = [itself, health, connections, link, manual, unlink, studios]
        let text = """
            {\(head),"servers":[{"url":\(address)}],"paths":{
            \(paths.joined(separator: ",\n"))
            },"components":{\(components)}}
            """
        return Array(text.utf8)
    }

    private static let head = #"""
        "openapi": "3.0.3",
        "info": {
          "title": "TRaX Developer API (sandbox)",
          "version": "1",
          "description": "A stand-in for the TRaX Developer API, written from its public guides. \#
        Every response has X-Request-Id; one that the client sends is echoed. Ignore unknown \#
        fields, treat error.code, platform and status as open sets. What the guides leave open \#
        is marked x-sandbox-choice."
        },
        "tags": [
          {"name": "Connections", "description": "Linked platform accounts."},
          {"name": "Studios", "description": "Places to stream from."},
          {"name": "Service", "description": "The API itself."}
        ],
        "security": [{"bearer": []}, {"apiKey": []}]
        """#

    /// The references that every operation with a credential answers besides its own.
    static let refusals = #"""
        "400": {"$ref": "#/components/responses/InvalidRequest"},
        "401": {"$ref": "#/components/responses/InvalidKey"},
        "403": {"$ref": "#/components/responses/InsufficientScope"},
        "429": {"$ref": "#/components/responses/RateLimited"},
        "default": {"$ref": "#/components/responses/Error"}
        """#

    static let requestIDHeader = #"""
        "headers": {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}}
        """#
}
