/// Why bytes are no JSON document.
///
/// Holds the place and the rule, never any of the content, so that it can be logged.
public struct JSONError: Error, Hashable, Sendable {
    /// What is wrong, by what a reader can do about it.
    public struct Kind: Hashable, Sendable {
        /// A stable word for metrics.
        public let code: String

        /// Nothing there, or white space only.
        public static let empty = Kind(code: "empty")
        /// It ends in the middle: a cut transfer.
        public static let truncated = Kind(code: "truncated")
        /// It breaks RFC 8259: another format, or a broken writer.
        public static let malformed = Kind(code: "malformed")
        /// A whole document, then something else.
        public static let trailing = Kind(code: "trailing")
        /// Its strings are not UTF-8.
        public static let notUTF8 = Kind(code: "not_utf8")
        /// More containers in each other than `JSONValue.depthLimit`.
        public static let tooDeep = Kind(code: "too_deep")
        /// More bytes than `JSONValue.sizeLimit`.
        public static let tooLarge = Kind(code: "too_large")
    }

    /// What is wrong.
    public let kind: Kind
    /// Where, in bytes from the start; nil where no one place is to blame.
    public let offset: Int?
    /// The rule that is broken, in words.
    public let reason: String

    init(_ kind: Kind, at offset: Int?, _ reason: String) {
        self.kind = kind
        self.offset = offset
        self.reason = reason
    }

    /// The stable word of `kind`.
    public var code: String { kind.code }
}

extension JSONError: CustomStringConvertible {
    /// Rule and place, such as `not JSON: a value is missing (byte 17)`.
    public var description: String {
        "not JSON: \(reason)" + (offset.map { " (byte \($0))" } ?? "")
    }
}
