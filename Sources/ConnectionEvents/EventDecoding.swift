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
                .compactMap { $0.stringValue.flatMap { ConnectionID($0) } } ?? [],
            attempt: data["attempt"]?.stringValue.flatMap { AttemptHash($0) })
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
    /// Reads the ISO 8601 durations that `iso8601` writes: days, hours, minutes, seconds in this
    /// order, a fraction of the seconds only.
    ///
    /// Nil when it is none, or a number has more than ten digits.
    init?(iso8601 text: String) {
        var rest = Array(text.utf8)[...]
        guard rest.popFirst() == UInt8(ascii: "P"), !rest.isEmpty else { return nil }
        var total: Int64 = 0
        let units: [(letter: UInt8, milliseconds: Int64)] = [
            (UInt8(ascii: "D"), 86_400_000), (UInt8(ascii: "T"), 0),
            (UInt8(ascii: "H"), 3_600_000), (UInt8(ascii: "M"), 60_000), (UInt8(ascii: "S"), 1000),
        ]
        for unit in units where !rest.isEmpty {
            if unit.letter == UInt8(ascii: "T") {
                guard rest.popFirst() == unit.letter, !rest.isEmpty else { return nil }
                continue
            }
            guard let end = rest.firstIndex(of: unit.letter) else { continue }
            guard let value = Self.milliseconds(rest[..<end], of: unit.milliseconds) else {
                return nil
            }
            total += value
            rest = rest[(end + 1)...]
        }
        guard rest.isEmpty else { return nil }
        self = .milliseconds(total)
    }

    /// So many units, of seconds with a fraction; nil when the digits are none, or too many.
    private static func milliseconds(_ digits: ArraySlice<UInt8>, of unit: Int64) -> Int64? {
        let parts = digits.split(
            separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        func number(_ digits: ArraySlice<UInt8>) -> Int64? {
            guard (1...10).contains(digits.count),
                digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
            else { return nil }
            return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        }
        guard let whole = number(parts[0]) else { return nil }
        guard parts.count == 2 else { return whole * unit }
        guard unit == 1000, number(parts[1]) != nil else { return nil }
        let thousandths = (parts[1] + [0x30, 0x30]).prefix(3)
        return number(thousandths).map { whole * 1000 + $0 }
    }
}
