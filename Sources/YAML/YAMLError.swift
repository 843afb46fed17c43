/// Why a text is no YAML that we take, and where.
///
/// Holds no content but names of keys and anchors.
public struct YAMLError: Error, Hashable, Sendable {
    /// What is wrong, by what the writer can do about it.
    public struct Kind: Hashable, Sendable {
        /// A stable word.
        public let code: String

        /// It breaks the grammar of YAML.
        public static let syntax = Kind(code: "syntax")
        /// A key stands twice in one mapping.
        public static let duplicateKey = Kind(code: "duplicate_key")
        /// Legal YAML that this reader does not take: several documents, keys that are no text,
        /// tags.
        public static let unsupported = Kind(code: "unsupported")
        /// More bytes, depth or repetition by aliases than a limit allows.
        public static let tooLarge = Kind(code: "too_large")
    }

    /// What is wrong.
    public let kind: Kind
    /// Where.
    public let position: YAMLPosition
    /// The mistake in words, with a remedy where one is known.
    public let reason: String

    init(_ kind: Kind, at position: YAMLPosition, _ reason: String) {
        self.kind = kind
        self.position = position
        self.reason = reason
    }

    /// The stable word of `kind`.
    public var code: String { kind.code }
}

extension YAMLError: CustomStringConvertible {
    /// `line:column: reason`.
    public var description: String { "\(position): \(reason)" }
}
