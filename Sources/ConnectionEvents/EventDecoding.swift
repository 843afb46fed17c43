public import JSON

/// Why bytes are no connection event.
public struct EventDecodingError: Error, CustomStringConvertible, Hashable {
    /// Which attribute is missing or not as the contract has it.
    public let attribute: String

    /// A sentence for a log.
    public var description: String { "not a connection event: `\(attribute)` is missing or wrong" }
}

extension ConnectionEvent {
    /// Reads a structured CloudEvent as the relay publishes it.
    ///
    /// What this version does not know is ignored, as the contract asks of consumers: unknown types
    /// keep their name, unknown account data stays in `AccountChange.unknown`.
    /// - Throws: ``EventDecodingError`` naming the first attribute that is missing or wrong.
    public init(parsing bytes: [UInt8]) throws(EventDecodingError) {
        do {
            try self.init(json: JSONValue(parsing: bytes))
        } catch let error as EventDecodingError {
            throw error
        } catch {
            throw EventDecodingError(attribute: "JSON")
        }
    }

    /// Reads the JSON object of a structured CloudEvent.
    public init(json: JSONValue) throws(EventDecodingError) {
        guard let object = json.objectValue, let data = object["data"]?.objectValue else {
            throw EventDecodingError(attribute: "data")
        }
        func text(_ key: String, of object: JSONObject) throws(EventDecodingError) -> String {
            guard let text = object[key]?.stringValue else {
                throw EventDecodingError(attribute: key)
            }
            return text
        }
        func number(_ key: String) throws(EventDecodingError) -> Int64 {
            guard let number = data[key]?.integerValue else {
                throw EventDecodingError(attribute: key)
            }
            return number
        }
        func instant(_ key: String, of object: JSONObject) throws(EventDecodingError) -> Timestamp {
            guard let instant = Timestamp(try text(key, of: object)) else {
                throw EventDecodingError(attribute: key)
            }
            return instant
        }
        guard let account = AccountID(try text("account", of: data)) else {
            throw EventDecodingError(attribute: "account")
        }
        let type = EventType(try text("type", of: object))
        guard let kind = EventKind(rawValue: try text("kind", of: data)) else {
            throw EventDecodingError(attribute: "kind")
        }
        guard let lane = EventLane(rawValue: try text("lane", of: data)) else {
            throw EventDecodingError(attribute: "lane")
        }
        let content: Content
        if type.isAboutAccount {
            content = .account(AccountChange(type: type, data: data))
        } else if let change = ConnectionChange(data: data) {
            content = .connection(change)
        } else {
            throw EventDecodingError(attribute: "connection")
        }
        self.init(
            id: EventID(try text("id", of: object)), account: account, type: type, kind: kind,
            lane: lane, epoch: try number("epoch"), sequence: try number("sequence"),
            time: try instant("time", of: object), decidedAt: try instant("decidedAt", of: data),
            content: content)
    }
}

extension ConnectionChange {
    fileprivate init?(data: JSONObject) {
        guard let connection = data["connection"].flatMap({ Connection(json: $0) }) else {
            return nil
        }
        var scopes: ScopeChange?
        if let change = data["scopes"]?.objectValue {
            scopes = ScopeChange(
                added: change["added"]?.arrayValue?.compactMap(\.stringValue) ?? [],
                removed: change["removed"]?.arrayValue?.compactMap(\.stringValue) ?? [])
        }
        var window: ChangeWindow?
        if let between = data["changedBetween"]?.objectValue,
            let before = between["before"]?.stringValue.flatMap({ Timestamp($0) })
        {
            window = ChangeWindow(
                after: between["after"]?.stringValue.flatMap { Timestamp($0) }, before: before)
        }
        self.init(
            connection: connection,
            previous: data["previous"].flatMap { Connection(json: $0) },
            changed: data["changed"]?.arrayValue?.compactMap(\.stringValue) ?? [],
            scopes: scopes,
            changedBetween: window,
            walk: data["walk"]?.stringValue,
            statusRecognised: data["statusRecognised"]?.boolValue ?? false,
            userActionable: data["userActionable"]?.boolValue ?? false,
            failedFor: data["failedFor"]?.stringValue.flatMap { Duration(iso8601: $0) },
            possibleReplacementOf: data["possibleReplacementOf"]?.arrayValue?
                .compactMap { $0.stringValue.flatMap { ConnectionID($0) } } ?? [])
    }
}

extension AccountChange {
    fileprivate init(type: EventType, data: JSONObject) {
        func count(_ key: String) -> Int { data[key]?.integerValue.map { Int($0) } ?? 0 }
        func text(_ key: String) -> String { data[key]?.stringValue ?? "" }
        switch type {
        case .accountBlind:
            self = .blind(
                status: count("status"), code: text("code"),
                requiredScope: data["requiredScope"]?.stringValue,
                since: Timestamp(text("since")) ?? Timestamp(milliseconds: 0))
        case .accountRestored:
            self = .restored(blindFor: Duration(iso8601: text("blindFor")) ?? .zero)
        case .accountRemoved:
            self = .removed
        case .accountResynced:
            self = .resynced(reason: text("reason"))
        case .accountHeld:
            self = .held(
                hold: text("hold"), reason: text("reason"), removals: count("removals"),
                failures: count("failures"),
                connections: data["connections"]?.arrayValue?
                    .compactMap { $0.stringValue.flatMap { ConnectionID($0) } } ?? [])
        case .accountReleased:
            self = .released(
                hold: text("hold"), recovered: count("recovered"), published: count("published"),
                discarded: count("discarded"))
        default:
            self = .unknown(data)
        }
    }
}

extension Duration {
    /// Reads the ISO 8601 durations that `iso8601` writes: days, hours, minutes, seconds.
    init?(iso8601 text: String) {
        guard text.hasPrefix("P") else { return nil }
        var total: Int64 = 0
        var digits = ""
        var inTime = false
        for character in text.dropFirst() {
            switch character {
            case "T": inTime = true
            case "D", "H", "M", "S":
                let unit: Int64? =
                    switch (character, inTime) {
                    case ("D", false): 86_400_000
                    case ("H", true): 3_600_000
                    case ("M", true): 60_000
                    case ("S", true): 1000
                    default: nil
                    }
                guard let unit, let value = Double(digits), value >= 0, value < 1e12 else {
                    return nil
                }
                total += Int64((value * Double(unit)).rounded())
                digits = ""
            default: digits.append(character)
            }
        }
        guard digits.isEmpty else { return nil }
        self = .milliseconds(total)
    }
}
