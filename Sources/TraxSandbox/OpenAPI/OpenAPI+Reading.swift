/// The operations that read.
extension OpenAPI {
    static let health = #"""
        "/v1/health": {"get": {
          "operationId": "getHealth", "tags": ["Service"], "security": [],
          "summary": "Whether the API is there; needs no credential.",
          "responses": {
            "200": {"description": "It is there.", \#(requestIDHeader),
              "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Health"}}}},
            "default": {"$ref": "#/components/responses/Error"}
          }
        }}
        """#

    static let itself = #"""
        "/v1/openapi.json": {"get": {
          "operationId": "getOpenAPI", "tags": ["Service"], "security": [],
          "summary": "This document; needs no credential.",
          "responses": {
            "200": {"description": "OpenAPI 3.0.", \#(requestIDHeader),
              "content": {"application/json": {"schema": {"type": "object"}}}},
            "default": {"$ref": "#/components/responses/Error"}
          }
        }}
        """#

    static let connections = #"""
        "/v1/connections": {"get": {
          "operationId": "listConnections", "tags": ["Connections"],
          "summary": "The account's connections, by id ascending.",
          "description": "Needs the scope connections:read. The only way to learn what a link \#
        came to.",
          "x-sandbox-choice": "The scope's name, that this list has pages, and the fields of a \#
        row but for status and grantedScopes.",
          "parameters": [
            {"$ref": "#/components/parameters/Limit"}, {"$ref": "#/components/parameters/Cursor"}
          ],
          "responses": {
            "200": {"description": "A page.", \#(requestIDHeader), "content": {"application/json": {
              "schema": {"$ref": "#/components/schemas/ConnectionPage"}}}},
            \#(refusals)
          }
        }}
        """#

    static let studios = #"""
        "/v1/studios": {"get": {
          "operationId": "listStudios", "tags": ["Studios"],
          "summary": "The account's studios, by id ascending.",
          "description": "Needs the scope studios:read.",
          "parameters": [
            {"$ref": "#/components/parameters/Limit"}, {"$ref": "#/components/parameters/Cursor"}
          ],
          "responses": {
            "200": {"description": "A page.", \#(requestIDHeader), "content": {"application/json": {
              "schema": {"$ref": "#/components/schemas/StudioPage"}}}},
            \#(refusals)
          }
        }}
        """#
}
