/// One thing that is wrong with a pipeline or accounts file, and what to do about it.
///
/// Holds no credential: values are quoted only where they are numbers, durations or words of ours.
public struct ConfigurationProblem: Hashable, Sendable {
    /// The file as it was named.
    public let file: String
    /// The line, from 1; nil where the file as a whole is to blame.
    public let line: Int?
    /// The column, from 1; nil where the line as a whole is to blame.
    public let column: Int?
    /// What is wrong, and the remedy behind a colon.
    public let message: String

    /// Makes a problem; line and column count from 1.
    public init(file: String, line: Int? = nil, column: Int? = nil, message: String) {
        self.file = file
        self.line = line
        self.column = column
        self.message = message
    }
}

extension ConfigurationProblem: Comparable, CustomStringConvertible {
    /// Whether the left one stands earlier in its file.
    public static func < (left: Self, right: Self) -> Bool {
        (left.file, left.line ?? 0, left.column ?? 0, left.message)
            < (right.file, right.line ?? 0, right.column ?? 0, right.message)
    }

    /// `file:line:column: message`.
    public var description: String {
        let place = [file] + [line, column].compactMap { $0.map(String.init) }
        return "\(place.joined(separator: ":")): \(message)"
    }
}

/// Everything that is wrong with the files of a configuration.
public struct ConfigurationError: Error, Hashable, Sendable {
    /// What the caller can do.
    public struct Kind: Hashable, Sendable {
        /// A stable word for metrics.
        public let code: String

        /// The file cannot be read at all.
        public static let unreadable = Kind(code: "unreadable")
        /// The file was read and its writer must mend it.
        public static let invalid = Kind(code: "invalid")
    }

    /// What the caller can do.
    public let kind: Kind
    /// The problems in the order of their places; never empty.
    public let problems: [ConfigurationProblem]

    /// What could be read of a pipeline in spite of its problems; nil for another file's.
    public let readable: ReadableParts?

    /// Makes an error of at least one problem.
    public init(
        _ kind: Kind, _ problems: [ConfigurationProblem], readable: ReadableParts? = nil
    ) {
        precondition(!problems.isEmpty, "an error without a problem")
        self.readable = readable
        self.kind = kind
        self.problems = problems.sorted()
    }

    /// The stable word of `kind`.
    public var code: String { kind.code }

    /// The problems, one a line.
    public var reason: String { problems.map(\.description).joined(separator: "\n") }
}

extension ConfigurationError: CustomStringConvertible {
    /// The problems, one a line.
    public var description: String { reason }
}
