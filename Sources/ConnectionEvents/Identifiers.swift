/// The id of an account, as the operator chose it: `[A-Za-z0-9._:@-]{1,128}`.
///
/// It is the Kafka key of every event of the account, and part of every state key.
public struct AccountID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The id as text.
    public let text: String

    /// Validates; nil when the text is no account id.
    public init?(_ text: String) {
        let bytes = text.utf8
        guard (1...Self.maximumBytes).contains(bytes.count), bytes.allSatisfy(Self.isAllowed) else {
            return nil
        }
        self.text = text
    }

    /// The most bytes an id may have.
    public static let maximumBytes = 128

    /// The id as text.
    public var description: String { text }

    /// By bytes, as everything of an account is ordered.
    public static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "@"),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

/// The id of one row of an account's list, unique only within its account.
///
/// A non-empty string of at most 512 bytes; a whole number in the API is taken as its text.
public struct ConnectionID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The id as text.
    public let text: String

    /// Validates; nil when the text is empty or longer than 512 bytes.
    public init?(_ text: String) {
        guard (1...Self.maximumBytes).contains(text.utf8.count) else { return nil }
        self.text = text
    }

    /// The most bytes an id may have.
    public static let maximumBytes = 512

    /// The id as text.
    public var description: String { text }

    /// By bytes: the order of rows within a walk.
    public static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// By bytes, so that two spellings of one Unicode text stay two ids.
    public static func == (left: Self, right: Self) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    /// Hashes the bytes, as equality compares them.
    public func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}

/// The id of an event: 32 hexadecimal digits, made once and the same on every sink and attempt.
public struct EventID: Hashable, Sendable, CustomStringConvertible {
    /// The id as text.
    public let text: String

    /// Takes an id as it was stored or received.
    public init(_ text: String) {
        self.text = text
    }

    /// The id as text.
    public var description: String { text }

    /// W3C Trace Context of the event: the event's id is the trace, its first half the span.
    ///
    /// Nil when the id is not 32 hexadecimal digits. https://www.w3.org/TR/trace-context/
    public var traceparent: String? {
        guard text.utf8.count == 32, text.utf8.allSatisfy({ Self.digits.contains($0) }) else {
            return nil
        }
        return "00-\(text)-\(text.prefix(16))-01"
    }

    private static let digits = Set("0123456789abcdef".utf8)
}
