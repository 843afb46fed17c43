/// A look at single members of a document's outer object, without building the rest.
///
/// The whole document is still validated, at about simdjson's own speed. Any thread.
public enum JSONPeek {
    /// What stands under a key.
    public enum Member: Hashable, Sendable {
        /// No such key.
        case absent
        /// The literal `null`.
        case null
        /// The literal `true` or `false`.
        case bool(Bool)
        /// A number; parse the document for its value.
        case number
        /// A string, unescaped.
        case string(String)
        /// An array of so many elements, exact up to 16 million.
        case array(count: Int)
        /// An object of so many members, doubles counted, exact up to 16 million.
        case object(count: Int)

        /// The string, nil of all else.
        public var stringValue: String? {
            if case .string(let value) = self { value } else { nil }
        }
    }

    /// Finds members of the outer object, in the order asked for; nil where the document is no
    /// object.
    ///
    /// - Throws: `JSONError` as `JSONValue.init(parsing:)`.
    public static func members(
        _ keys: [String], in bytes: UnsafeRawBufferPointer
    ) throws(JSONError) -> [Member]? {
        if let found = unsafe simdMembers(keys, in: bytes) { return found }
        return members(keys, of: unsafe try JSONValue(parsing: bytes))
    }

    /// Finds members of the outer object, in the order asked for; nil where the document is no
    /// object.
    ///
    /// - Throws: `JSONError` as `JSONValue.init(parsing:)`.
    public static func members(
        _ keys: [String], in bytes: [UInt8]
    ) throws(JSONError) -> [Member]? {
        let found = unsafe bytes.withUnsafeBytes { unsafe simdMembers(keys, in: $0) }
        if let found { return found }
        return members(keys, of: try JSONValue(parsing: bytes))
    }

    private static func simdMembers(
        _ keys: [String], in bytes: UnsafeRawBufferPointer
    ) -> [Member]?? {
        unsafe SimdDocument.withParsed(bytes) { members(keys, in: $0) }
    }

    /// For what simdjson refuses: the slow reader takes it if it is legal, and names the mistake.
    private static func members(_ keys: [String], of value: JSONValue) -> [Member]? {
        guard case .object(let object) = value else { return nil }
        return keys.map { Member(object[$0]) }
    }

    /// The string under a key of the outer object; nil where there is none.
    ///
    /// - Throws: `JSONError` as `JSONValue.init(parsing:)`.
    public static func topLevelString(
        _ key: String, in bytes: [UInt8]
    ) throws(JSONError) -> String? {
        try members([key], in: bytes)?.first?.stringValue
    }

    private static func members(_ keys: [String], in document: SimdDocument) -> [Member]? {
        var walk = TapeWalk(document)
        guard walk.type == UInt8(ascii: "{") else { return nil }
        var found = [Member](repeating: .absent, count: keys.count)
        walk.passOpening()
        while !walk.isAtClosing {
            let index = keys.firstIndex { walk.stringEquals($0) }
            walk.passKey()
            let member = walk.passValue()
            if let index { found[index] = member }
        }
        return found
    }
}

extension JSONPeek.Member {
    fileprivate init(_ value: JSONValue?) {
        self =
            switch value {
            case nil: .absent
            case .null?: .null
            case .bool(let value)?: .bool(value)
            case .number?: .number
            case .string(let value)?: .string(value)
            case .array(let elements)?: .array(count: elements.count)
            case .object(let object)?: .object(count: object.count)
            }
    }
}
