public import JSON

/// The JSON Schema (2020-12) of a structured event, as `trax-relay schema event` prints it.
///
/// It says what may be relied on; unknown members are allowed everywhere, as the contract asks.
public enum EventSchema {
    /// The schema.
    public static var json: JSONValue {
        [
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": .string(ConnectionEvent.dataSchema),
            "title": "trax-relay connection event",
            "description":
                "A CloudEvent 1.0 about a connection or an account. Statuses are an open set.",
            "type": "object",
            "required": [
                "specversion", "id", "source", "type", "time", "datacontenttype", "dataschema",
                "partitionkey", "sequence", "data",
            ],
            "properties": [
                "specversion": ["const": "1.0"],
                "id": text(
                    pattern: "^[0-9a-f]{32}$", "The same on every sink, attempt and replay."),
                "source": text(pattern: "^/accounts/", "`/accounts/` and the account id."),
                "type": [
                    "type": "string",
                    "pattern": "^live\\.traxstreaming\\.(connection|account)\\.",
                    "examples": .array(EventType.known.map { .string($0.cloudEventsType) }),
                ],
                "subject": text("The connection id; absent on account events."),
                "time": instant("When the first walk that showed the new state was sealed."),
                "datacontenttype": ["const": "application/json"],
                "dataschema": ["const": .string(ConnectionEvent.dataSchema)],
                "partitionkey": text("The account id, and the Kafka key."),
                "sequence": text(
                    pattern: "^[0-9]+-[0-9]{12,}$", "Sorts as text by (epoch, sequence)."),
                "data": data,
            ],
        ]
    }

    private static var data: JSONValue {
        [
            "type": "object",
            "required": ["account", "kind", "lane", "epoch", "sequence", "decidedAt"],
            "properties": [
                "account": text("The account id."),
                "kind": ["enum": .array(EventKind.allCases.map { .string($0.rawValue) })],
                "lane": ["enum": ["raw", "settled"]],
                "epoch": number("Grows with each new reading from scratch of the account."),
                "sequence": number("From 1 in each epoch and lane, without gaps."),
                "connection": connection,
                "previous": [
                    "anyOf": [["type": "null"], connection],
                    "description": "The row as last published or baselined in its lane.",
                ],
                "changed": strings("Raw fields that differ, in the order of the contract."),
                "scopes": [
                    "type": "object",
                    "properties": ["added": strings("Granted now."), "removed": strings("Gone.")],
                ],
                "changedBetween": [
                    "type": "object",
                    "required": ["after", "before"],
                    "properties": [
                        "after": [
                            "anyOf": [["type": "null"], instant("Last known to be as before.")]
                        ],
                        "before": instant("First seen as now."),
                    ],
                ],
                "decidedAt": instant("When it was written to the journal."),
                "walk": text("The walk that decided it."),
                "statusRecognised": ["type": "boolean"],
                "userActionable": ["type": "boolean"],
                "failedFor": duration("How long it was failing, on repaired events."),
                "possibleReplacementOf": strings("Rows that this new one may replace."),
                "attempt": text(
                    pattern: "^[0-9a-f]{32}$",
                    "First 128 bits of SHA-256 of the `state` of the attempt to link."),
                "status": number("HTTP status of the latest refusal, on account.blind."),
                "code": text("Error code of the latest refusal, on account.blind."),
                "requiredScope": text("The scope that the key lacks, on account.blind."),
                "since": instant("The first refusal, on account.blind."),
                "blindFor": duration("How long it could not be read, on account.restored."),
                "hold": text("The hold, on account.held and account.released."),
                "reason": text("Why, on account.held and account.resynced."),
            ],
        ]
    }

    private static var connection: JSONValue {
        [
            "type": "object",
            "required": ["id", "platform", "status", "health", "grantedScopes"],
            "properties": [
                "id": ["type": "string", "minLength": 1, "maxLength": 512],
                "platform": ["type": ["string", "null"]],
                "status": ["type": ["string", "null"]],
                "health": ["enum": .array(Health.allCases.map { .string($0.rawValue) })],
                "grantedScopes": [
                    "anyOf": [["type": "null"], strings("Sorted, without doubles.")]
                ],
                "extra": [
                    "type": "object", "description": "Fields that the relay does not know.",
                ],
                "extraOmitted": ["const": true],
            ],
        ]
    }

    private static func text(pattern: String? = nil, _ description: String) -> JSONValue {
        var object: JSONObject = ["type": "string", "description": .string(description)]
        if let pattern { object["pattern"] = .string(pattern) }
        return .object(object)
    }

    private static func instant(_ description: String) -> JSONValue {
        ["type": "string", "format": "date-time", "description": .string(description)]
    }

    private static func duration(_ description: String) -> JSONValue {
        ["type": "string", "format": "duration", "description": .string(description)]
    }

    private static func number(_ description: String) -> JSONValue {
        ["type": "integer", "minimum": 0, "description": .string(description)]
    }

    private static func strings(_ description: String) -> JSONValue {
        [
            "type": "array", "items": ["type": "string"], "description": .string(description),
        ]
    }
}
