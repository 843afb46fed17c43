/// The operations that write.
extension OpenAPI {
    private static let writeRefusals = #"""
        \#(refusals),
        "503": {"$ref": "#/components/responses/WriteDisabled"}
        """#

    static var link: String {
        #"""
        "/v1/connections/link": {"post": {
          "operationId": "linkConnection", "tags": ["Connections"],
          "summary": "Ask for the address at which a person consents to a link.",
          "description": "Needs the scope connections:write. Open authorizationUrl in the \#
        system's browser, never in an embedded web view; then read the list. With \#
        reconnectConnectionId the row is repaired in place; without it a second row appears, \#
        and destinations bound to the old one are orphaned.",
          "x-sandbox-choice": "200 as the status; that trovo, which is known and has no \#
        credentials, is left out of the platforms here and answered with 400; 404 for a row to \#
        repair that is not there.",
          "requestBody": {"required": true, "content": {"application/json": {
            "schema": {"$ref": "#/components/schemas/LinkRequest"}}}},
          "responses": {
            "200": {"description": "Where to go, and what tells this attempt apart.",
              \#(requestIDHeader), "content": {"application/json": {
              "schema": {"$ref": "#/components/schemas/Link"}}}},
            "404": {"$ref": "#/components/responses/NotFound"},
            \#(writeRefusals)
          }
        }}
        """#
    }

    static var manual: String {
        #"""
        "/v1/connections/manual": {"post": {
          "operationId": "addManualConnection", "tags": ["Connections"],
          "summary": "Add a connection by a stream key that a person pasted.",
          "description": "Needs the scope connections:write.",
          "x-sandbox-choice": "All of it: the guides name no path.",
          "requestBody": {"required": true, "content": {"application/json": {
            "schema": {"$ref": "#/components/schemas/ManualRequest"}}}},
          "responses": {
            "201": {"description": "The row.", \#(requestIDHeader), "content": {
              "application/json": {"schema": {"$ref": "#/components/schemas/Connection"}}}},
            \#(writeRefusals)
          }
        }}
        """#
    }

    static var unlink: String {
        #"""
        "/v1/connections/{id}": {"delete": {
          "operationId": "unlinkConnection", "tags": ["Connections"],
          "summary": "Unlink: the row is in no list any more.",
          "description": "Needs the scope connections:write.",
          "x-sandbox-choice": "Path, method, status, and that the row is gone at once.",
          "parameters": [{"name": "id", "in": "path", "required": true,
            "schema": {"type": "string", "minLength": 1}}],
          "responses": {
            "204": {"description": "It is gone.", \#(requestIDHeader)},
            "404": {"$ref": "#/components/responses/NotFound"},
            \#(writeRefusals)
          }
        }}
        """#
    }

    static var writingSchemas: String {
        #"""
        "LinkRequest": {"type": "object", "required": ["platform"], "properties": {
          "platform": {"type": "string", "enum": [\#(list(Platform.linkable.map(\.id)))]},
          "returnTo": {"type": "string", "maxLength": \#(ReturnTarget.maximumLength),
            "pattern": "\#(ReturnTarget.pattern)",
            "x-sandbox-choice": "Which hosts are TRaX's, how plain the rest is; no outcome in it.",
            "description": "An https address on a TRaX-owned host. Leave it out on a phone."},
          "scopes": {"type": "array", "minItems": 1, "maxItems": 50, "items": {
            "type": "string", "minLength": 1, "maxLength": 200,
            "pattern": "^[!#-\\[\\]-~]+$"},
            "description": "Leave it out for the platform's own set."},
          "reconnectConnectionId": {"type": "string", "minLength": 1, "maxLength": 512,
            "description": "The row to repair in place."}
        }},
        "Link": {"type": "object", "required": ["authorizationUrl", "state"], "properties": {
          "authorizationUrl": {"type": "string", "format": "uri"},
          "state": {"type": "string", "minLength": 1}}},
        "ManualRequest": {"type": "object", "required": ["platform", "streamKey"], "properties": {
          "platform": {"type": "string", "enum": [\#(list(Platform.manual.keys.sorted()))]},
          "streamKey": {"type": "string", "minLength": 1, "maxLength": 512,
            "pattern": "^[!-~]+$", "description": "Never shown again."},
          "displayName": {"type": "string", "minLength": 1, "maxLength": 100}
        }}
        """#
    }

    private static func list(_ words: [String]) -> String {
        words.map { "\"\($0)\"" }.joined(separator: ", ")
    }
}
