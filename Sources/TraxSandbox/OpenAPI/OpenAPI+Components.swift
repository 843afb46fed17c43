/// What the operations share.
extension OpenAPI {
    static var components: String {
        [
            "\"securitySchemes\": {\(securitySchemes)}", "\"parameters\": {\(parameters)}",
            "\"headers\": {\(headers)}", "\"responses\": {\(responses)}",
            "\"schemas\": {\(schemas),\(writingSchemas)}",
        ].joined(separator: ",\n")
    }

    private static let securitySchemes = #"""
        "bearer": {"type": "http", "scheme": "bearer",
          "description": "An API key (sk_live_...), or the access token of a signed-in person."},
        "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key",
          "description": "An API key, as an alias of the bearer header."}
        """#

    private static let parameters = #"""
        "Limit": {"name": "limit", "in": "query",
          "description": "Rows a page. More than 200 counts as 200.",
          "schema": {"type": "integer", "minimum": 1, "default": 50}},
        "Cursor": {"name": "cursor", "in": "query",
          "description": "nextCursor of the page before. Opaque: do not parse, build or keep it.",
          "x-sandbox-choice": "The pattern, which is only what is not refused as malformed.",
          "schema": {"type": "string", "pattern": "^(YWZ0ZXI6([A-Za-z0-9_-]{4})*)?$"}}
        """#

    private static let headers = #"""
        "RequestId": {"description": "The request's id, for support.", "required": true,
          "schema": {"type": "string", "minLength": 1}},
        "RetryAfter": {"description": "Seconds to wait.", "required": true,
          "schema": {"type": "integer", "minimum": 1}}
        """#

    private static func response(_ name: String, _ description: String, more: String = "") -> String
    {
        #"""
        "\#(name)": {"description": "\#(description)",
          "headers": {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}\#(more)},
          "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
        """#
    }

    private static let responses = [
        response("InvalidRequest", "invalid_request: not to be repeated unchanged."),
        response("InvalidKey", "invalid_key: no credential, or one unknown, expired or revoked."),
        response("InsufficientScope", "insufficient_scope: requiredScope names what is missing."),
        response("NotFound", "not_found: not there, or not this account's."),
        response(
            "RateLimited", "rate_limited: over the bucket of this credential.",
            more: ##", "Retry-After": {"$ref": "#/components/headers/RetryAfter"}"##),
        response("WriteDisabled", "write_disabled: writing is switched off in this deployment."),
        response("Error", "Any other error."),
    ].joined(separator: ",\n")

    private static let schemas = #"""
        "Health": {"type": "object", "required": ["status"],
          "properties": {"status": {"type": "string", "example": "ok"}}},
        "Error": {"type": "object", "required": ["error"], "properties": {"error": {
          "type": "object", "required": ["code", "message", "requestId"], "properties": {
            "code": {"type": "string", "description": "Stable; branch on it. An open set.",
              "example": "invalid_request"},
            "message": {"type": "string", "description": "For people; the wording may change."},
            "requestId": {"type": "string", "description": "As in X-Request-Id."},
            "requiredScope": {"type": "string", "description": "With insufficient_scope only."}
        }}}},
        "Studio": {"type": "object", "required": ["id", "name"], "properties": {
          "id": {"type": "string"}, "name": {"type": "string"}}},
        "StudioPage": {"type": "object", "required": ["data"], "properties": {
          "data": {"type": "array", "items": {"$ref": "#/components/schemas/Studio"}},
          "nextCursor": {"type": "string", "description": "Absent on the last page."}}},
        "ConnectionPage": {"type": "object", "required": ["data"], "properties": {
          "data": {"type": "array", "items": {"$ref": "#/components/schemas/Connection"}},
          "nextCursor": {"type": "string", "description": "Absent on the last page."}}},
        "Connection": {"type": "object", "required": ["id", "platform", "status", "grantedScopes"],
          "properties": {
            "id": {"type": "string", "description": "Stays through a repair."},
            "platform": {"type": "string", "description": "An open set.", "example": "youtube"},
            "status": {"type": "string", "example": "active",
              "description": "An open set of which only active is known to the guides.",
              "x-sandbox-choice": "expired, revoked, disconnected, error, reauth_required, \#
        pending"},
            "grantedScopes": {"type": "array", "items": {"type": "string"},
              "description": "What the platform really granted."},
            "displayName": {"type": "string", "x-sandbox-choice": "The field."},
            "createdAt": {"type": "string", "format": "date-time", "x-sandbox-choice": "The \#
        field."},
            "state": {"type": "string", "x-sandbox-choice": "The field: that of the link attempt \#
        that made or last repaired this row."}
        }}
        """#
}
