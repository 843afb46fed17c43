internal import Glibc

/// The variables that `${NAME}` and `env:NAME` stand for.
public struct EnvironmentVariables: Sendable {
    private let values: [String: String]?

    /// The variables of this process, looked up when asked for.
    public static let process = EnvironmentVariables(nil)

    /// These variables and no others.
    public init(_ values: [String: String]) {
        self.values = values
    }

    private init(_ values: [String: String]?) {
        self.values = values
    }

    /// The value of a variable, nil where it is not set.
    ///
    /// Reads the process's environment, which nothing in this product changes. `getenv(3p)`.
    public subscript(_ name: String) -> String? {
        if let values { return values[name] }
        return unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// Whether a text can name a variable: letters, digits and `_`, no digit first.
    static func isName(_ text: some StringProtocol) -> Bool {
        let bytes = text.utf8
        guard let first = bytes.first, !(0x30...0x39).contains(first) else { return false }
        return bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
}

/// A text of the pipeline file with its `${…}` replaced.
struct ExpandedText {
    var text = ""
    /// Whether anything came from the environment: such a text is never quoted.
    var isFromEnvironment = false
    /// What is wrong, in words.
    var problems: [String] = []

    /// Replaces `${NAME}` and `${NAME:-default}`; `$${` stands for `${` itself.
    init(_ source: String, environment: EnvironmentVariables) {
        var rest = source[...]
        while let dollar = rest.firstIndex(of: "$") {
            text += rest[..<dollar]
            rest = rest[dollar...]
            if rest.hasPrefix("$${") {
                text += "${"
                rest = rest.dropFirst(3)
            } else if rest.hasPrefix("${") {
                guard let end = rest.firstIndex(of: "}") else {
                    problems.append("`${` has no `}`: write `$${` for the characters themselves")
                    return
                }
                replace(rest[rest.index(rest.startIndex, offsetBy: 2)..<end], environment)
                rest = rest[rest.index(after: end)...]
            } else {
                text += "$"
                rest = rest.dropFirst()
            }
        }
        text += rest
    }

    private mutating func replace(_ inner: Substring, _ environment: EnvironmentVariables) {
        let parts = Self.split(inner)
        guard EnvironmentVariables.isName(parts.name) else {
            problems.append(
                "`${…}` takes a name, or a name, `:-` and a default: "
                    + "write `$${` for the characters themselves")
            return
        }
        isFromEnvironment = true
        let value = environment[String(parts.name)]
        if let fallback = parts.fallback {
            text += value.flatMap { $0.isEmpty ? nil : $0 } ?? String(fallback)
        } else if let value {
            text += value
        } else {
            problems.append(
                "the environment variable `\(parts.name)` is not set: "
                    + "set it, or write `${\(parts.name):-default}`")
        }
    }

    private static func split(_ inner: Substring) -> (name: Substring, fallback: Substring?) {
        guard let colon = inner.firstIndex(of: ":"), inner[colon...].hasPrefix(":-") else {
            return (inner, nil)
        }
        return (inner[..<colon], inner[colon...].dropFirst(2))
    }
}
