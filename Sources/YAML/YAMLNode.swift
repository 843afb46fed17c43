/// A place in a YAML text: line and column, both from 1, the column in characters.
public struct YAMLPosition: Hashable, Comparable, Sendable {
    /// The line, from 1.
    public let line: Int
    /// The column, from 1, in Unicode scalars.
    public let column: Int

    /// Makes a place; both numbers count from 1.
    public init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    /// Whether the left place stands before the right one.
    public static func < (left: YAMLPosition, right: YAMLPosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

extension YAMLPosition: CustomStringConvertible {
    /// `line:column`.
    public var description: String { "\(line):\(column)" }
}

/// One node of a YAML document with its place, its type not yet judged.
///
/// Aliases are resolved: where one stood, the node of its anchor stands, with the anchor's place.
public struct YAMLNode: Hashable, Sendable {
    /// What a node holds.
    public enum Content: Hashable, Sendable {
        /// A text; `isPlain` where it was written without quotes, so that `5` may be a number.
        case scalar(String, isPlain: Bool)
        /// A list.
        case sequence([YAMLNode])
        /// Keys and values in the order of the file, each key once.
        case mapping([Entry])
    }

    /// One key with its value.
    public struct Entry: Hashable, Sendable {
        /// The key's text.
        public let key: String
        /// Where the key stands.
        public let keyPosition: YAMLPosition
        /// What stands under it.
        public let value: YAMLNode
    }

    /// What the node holds.
    public let content: Content
    /// Where it begins.
    public let position: YAMLPosition

    /// The number of nodes in it, itself and what aliases repeat counted.
    let weight: Int
}

extension YAMLNode {
    /// The text of a scalar, nil of a list or mapping.
    public var text: String? {
        if case .scalar(let text, _) = content { text } else { nil }
    }

    /// The elements of a list, nil of all else.
    public var elements: [YAMLNode]? {
        if case .sequence(let elements) = content { elements } else { nil }
    }

    /// The entries of a mapping, nil of all else.
    public var entries: [Entry]? {
        if case .mapping(let entries) = content { entries } else { nil }
    }

    /// The value of a key, nil where there is none or this is no mapping.
    public subscript(_ key: String) -> YAMLNode? {
        entries?.first { $0.key.utf8.elementsEqual(key.utf8) }?.value
    }

    /// Whether nothing was written: an empty value, `~` or `null` without quotes.
    public var isNull: Bool {
        switch content {
        case .scalar(let text, let isPlain): isPlain && ["", "~", "null"].contains(text)
        case .sequence, .mapping: false
        }
    }
}

extension YAMLNode {
    /// A mapping without keys, as if it stood at that place: what a key that was left out holds.
    public init(emptyMappingAt position: YAMLPosition) {
        self.init(content: .mapping([]), position: position, weight: 1)
    }
}
