internal import CYAML

/// A YAML text that was read: its tree, and every mistake after which reading could go on.
public struct YAMLDocument: Hashable, Sendable {
    /// The outermost node; nil where the text holds nothing but comments.
    public let root: YAMLNode?
    /// Keys that stand twice (the first counts), keys that are no text, and tags, in order.
    public let problems: [YAMLError]

    /// The version of the libyaml that was loaded.
    public static var libraryVersion: String {
        unsafe yaml_get_version_string().map { unsafe String(cString: $0) } ?? "unknown"
    }

    /// The most bytes of one text: 4 MiB.
    public static let sizeLimit = 4 << 20
    /// The most lists and mappings that may stand in each other: 64.
    public static let depthLimit = 64
    /// The most nodes of a document, counting again what aliases repeat: 100,000.
    public static let nodeLimit = 100_000

    /// Reads one document of YAML 1.1, UTF-8 or UTF-16.
    ///
    /// Anchors and aliases are taken, within `nodeLimit`; merge keys are keys like others.
    ///
    /// - Throws: `YAMLError` for the first mistake after which there is no tree.
    public init(parsing bytes: [UInt8]) throws(YAMLError) {
        guard bytes.count <= Self.sizeLimit else {
            throw YAMLError(
                .tooLarge, at: YAMLPosition(line: 1, column: 1),
                "more than \(Self.sizeLimit) bytes")
        }
        var builder = TreeBuilder(EventStream(bytes))
        root = try builder.document()
        problems = builder.problems.sorted { $0.position < $1.position }
    }

    /// Reads one document, as `init(parsing:)` of bytes.
    ///
    /// - Throws: `YAMLError` for the first mistake after which there is no tree.
    public init(parsing text: String) throws(YAMLError) {
        try self.init(parsing: Array(text.utf8))
    }
}
