public import JSON

/// What the state topic holds of one connection, under the key `account/connection`.
public struct StateRecord: Hashable, Sendable {
    /// Whose connection it is.
    public var account: AccountID
    /// The account's epoch.
    public var epoch: Int64
    /// The account's last raw number when this was written; 0 before its first event.
    public var sequence: Int64
    /// The connection as last published.
    public var connection: Connection
    /// The last of healthy and failing that it had.
    public var standing: Standing?
    /// Seal of the walk behind it.
    public var observedAt: Timestamp
    /// `changedBetween.before` of the last change of health; nil from a baseline.
    public var since: Timestamp?

    /// One record, field by field.
    public init(
        account: AccountID, epoch: Int64, sequence: Int64, connection: Connection,
        standing: Standing?, observedAt: Timestamp, since: Timestamp?
    ) {
        self.account = account
        self.epoch = epoch
        self.sequence = sequence
        self.connection = connection
        self.standing = standing
        self.observedAt = observedAt
        self.since = since
    }

    /// The Kafka key: account id, `/`, connection id.
    ///
    /// It is split at the first `/`: an account id has none, a connection id may.
    public static func key(_ account: AccountID, _ connection: ConnectionID) -> String {
        "\(account.text)/\(connection.text)"
    }

    /// The account and connection of a key; nil when it is none.
    public static func split(key: String) -> (AccountID, ConnectionID)? {
        // By bytes: a connection id may begin with what joins the slash to one Unicode character.
        guard let slash = key.utf8.firstIndex(of: UInt8(ascii: "/")),
            let account = AccountID(String(key[..<slash])),
            let connection = ConnectionID(String(key[key.utf8.index(after: slash)...]))
        else { return nil }
        return (account, connection)
    }

    /// The record's JSON object.
    public var json: JSONValue {
        [
            "account": .string(account.text),
            "epoch": .number(JSONNumber(epoch)),
            "sequence": .number(JSONNumber(sequence)),
            "connection": connection.json,
            "standing": standing.map { .string($0.rawValue) } ?? .null,
            "observedAt": .string(observedAt.description),
            "since": since.map { .string($0.description) } ?? .null,
        ]
    }

    /// Reads what `json` wrote; nil where it is no state record.
    public init?(json: JSONValue) {
        guard let object = json.objectValue,
            let account = object["account"]?.stringValue.flatMap({ AccountID($0) }),
            let epoch = object["epoch"]?.integerValue,
            let sequence = object["sequence"]?.integerValue,
            let connection = object["connection"].flatMap({ Connection(json: $0) }),
            let observedAt = object["observedAt"]?.stringValue.flatMap({ Timestamp($0) })
        else { return nil }
        self.init(
            account: account, epoch: epoch, sequence: sequence, connection: connection,
            standing: object["standing"]?.stringValue.flatMap { Standing(rawValue: $0) },
            observedAt: observedAt,
            since: object["since"]?.stringValue.flatMap { Timestamp($0) })
    }

    /// Reads a record's value; nil where it is no state record.
    public init?(parsing bytes: [UInt8]) {
        do throws(JSONError) {
            self.init(json: try JSONValue(parsing: bytes))
        } catch { return nil }
    }
}
