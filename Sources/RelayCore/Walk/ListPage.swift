internal import ConnectionEvents
public import JSON

/// One page of a list: `{ "data": [ … ], "nextCursor": "…" }`.
public struct ListPage: Sendable {
    /// The rows, not yet looked at.
    public var rows: [JSONValue]
    /// Nil at the end of the list: absent, null or "".
    public var nextCursor: String?

    /// The longest cursor that is followed, in bytes.
    static let cursorLimit = 4096

    /// Reads a page, or says why it is none; rows are not looked at.
    public static func read(_ body: UnsafeRawBufferPointer) -> Result<ListPage, WalkFailure> {
        let value: JSONValue
        do {
            value = try unsafe JSONValue(parsing: body)
        } catch {
            return .failure(
                WalkFailure(code: "not_json", reason: "the answer is not JSON: \(error.reason)"))
        }
        guard let object = value.objectValue, let rows = object["data"]?.arrayValue else {
            return .failure(
                WalkFailure(
                    code: "bad_envelope",
                    reason: "the answer is no JSON object whose `data` is an array"))
        }
        switch object["nextCursor"] {
        case nil, .null, .string(""):
            return .success(ListPage(rows: rows, nextCursor: nil))
        case .string(let cursor) where cursor.utf8.count <= cursorLimit:
            return .success(ListPage(rows: rows, nextCursor: cursor))
        case .string, .bool, .number, .array, .object:
            return .failure(
                WalkFailure(code: "bad_cursor", reason: "`nextCursor` is no usable string"))
        }
    }
}

extension ListedRow {
    /// The most bytes a string in a known field may have.
    static let stringLimit = 1024
    /// The most bytes that unknown fields of a row may have together, as JSON.
    static let extraLimit = 8192

    /// Reads a row: any object with a usable id; what is odd about other fields is borne.
    public static func decode(_ value: JSONValue, number: Int) -> Result<ListedRow, WalkFailure> {
        guard let object = value.objectValue else {
            return .failure(
                WalkFailure(code: "bad_row", reason: "row \(number) is not a JSON object"))
        }
        guard let id = id(of: object) else {
            return .failure(
                WalkFailure(
                    code: "bad_row",
                    reason: "row \(number) has no `id` that is an integer or a string of 1 to"
                        + " \(ConnectionID.maximumBytes) bytes"))
        }
        guard knownStrings(of: object).allSatisfy({ $0.utf8.count <= stringLimit }) else {
            return .failure(
                WalkFailure(
                    code: "string_too_long",
                    reason: "row \(number) has a string of more than 1 KiB in a known field"))
        }
        var extra = object
        for key in ["id", "platform", "status", "grantedScopes"] { extra[key] = nil }
        let isOmitted =
            !extra.isEmpty && JSONValue.object(extra).serialized().count > extraLimit
        return .success(
            ListedRow(
                Connection(
                    id: id, platform: object["platform"]?.stringValue,
                    status: object["status"]?.stringValue, health: .unrecognised,
                    grantedScopes: scopes(of: object), extra: isOmitted ? JSONObject() : extra,
                    extraOmitted: isOmitted)))
    }

    /// Every string that stands in a known field, usable there or not.
    private static func knownStrings(of object: JSONObject) -> [String] {
        let scopes = object["grantedScopes"]
        let values = [object["platform"], object["status"], scopes] + (scopes?.arrayValue ?? [])
        return values.compactMap { $0?.stringValue }
    }

    private static func id(of object: JSONObject) -> ConnectionID? {
        switch object["id"] {
        case .string(let text): ConnectionID(text)
        case .number(let number): number.isInteger ? ConnectionID(number.text) : nil
        case nil, .null, .bool, .array, .object: nil
        }
    }

    /// Sorted by bytes, without doubles; nil unless it is an array of strings.
    private static func scopes(of object: JSONObject) -> [String]? {
        guard let items = object["grantedScopes"]?.arrayValue else { return nil }
        let texts = items.compactMap(\.stringValue)
        guard texts.count == items.count else { return nil }
        return texts.sortedWithoutDoubles
    }
}

extension JSONNumber {
    /// Whether it is written as an integer: digits, perhaps a minus in front.
    fileprivate var isInteger: Bool {
        let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
        return !digits.isEmpty && digits.allSatisfy { (0x30...0x39).contains($0) }
    }
}
