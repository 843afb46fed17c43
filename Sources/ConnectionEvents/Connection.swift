public import JSON

/// One connection as events and state records show it.
public struct Connection: Hashable, Sendable {
    /// The row's id.
    public var id: ConnectionID
    /// The platform as the API names it; nil where the API gave no string.
    public var platform: String?
    /// The raw status as the API gave it; nil where it gave no string.
    public var status: String?
    /// What the status means under the pipeline's rules.
    public var health: Health
    /// What the platform granted, sorted by bytes, without doubles; nil as long as it is unknown.
    public var grantedScopes: [String]?
    /// The row's fields that the relay does not know, as the API gave them; empty when there are
    /// none.
    public var extra: JSONObject
    /// Whether the unknown fields were dropped because they were larger than 8 KiB together.
    public var extraOmitted: Bool

    /// One connection, field by field; `grantedScopes` must be sorted and free of doubles.
    public init(
        id: ConnectionID, platform: String?, status: String?, health: Health,
        grantedScopes: [String]?, extra: JSONObject = JSONObject(), extraOmitted: Bool = false
    ) {
        self.id = id
        self.platform = platform
        self.status = status
        self.health = health
        self.grantedScopes = grantedScopes
        self.extra = extra
        self.extraOmitted = extraOmitted
    }

    /// The JSON object of the contract's section 6; unknown values are null.
    public var json: JSONValue {
        var object = JSONObject()
        object["id"] = .string(id.text)
        object["platform"] = platform.map { .string($0) } ?? .null
        object["status"] = status.map { .string($0) } ?? .null
        object["health"] = .string(health.rawValue)
        object["grantedScopes"] =
            grantedScopes.map { .array($0.map { .string($0) }) } ?? .null
        if !extra.isEmpty { object["extra"] = .object(extra) }
        if extraOmitted { object["extraOmitted"] = .bool(true) }
        return .object(object)
    }

    /// Reads what `json` wrote; nil where it is no connection.
    ///
    /// Unknown fields are ignored.
    ///
    /// A health that this version does not know reads as `unrecognised`.
    public init?(json: JSONValue) {
        guard let object = json.objectValue,
            let id = object["id"]?.stringValue.flatMap({ ConnectionID($0) })
        else { return nil }
        self.init(
            id: id,
            platform: object["platform"]?.stringValue,
            status: object["status"]?.stringValue,
            health: object["health"]?.stringValue.flatMap { Health(rawValue: $0) }
                ?? .unrecognised,
            grantedScopes: object["grantedScopes"]?.arrayValue?.compactMap(\.stringValue),
            extra: object["extra"]?.objectValue ?? JSONObject(),
            extraOmitted: object["extraOmitted"]?.boolValue ?? false)
    }
}
