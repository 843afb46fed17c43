/// Why the sandbox did not do what its control was asked.
public struct SandboxError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What the caller can do about it; open, so switches need a last resort.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The stable word that the control API answers as `code`.
        public let rawValue: String

        /// Names a kind.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// No account, connection, key or fault of that name: create it first.
        public static let notFound = Kind(rawValue: "not_found")
        /// The name is taken: choose another, or remove what has it.
        public static let exists = Kind(rawValue: "exists")
        /// A value is missing, of the wrong type or out of range.
        public static let invalid = Kind(rawValue: "invalid_request")
        /// The address cannot be listened on: the reason says what to do.
        public static let cannotListen = Kind(rawValue: "cannot_listen")
        /// A limit of the sandbox is reached: remove something, or reset.
        public static let full = Kind(rawValue: "full")
    }

    /// What the caller can do.
    public let kind: Kind
    /// One sentence for people.
    public let reason: String

    /// Makes an error.
    public init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }

    /// A stable word of few values.
    public var code: String { kind.rawValue }

    /// The reason.
    public var description: String { reason }
}
