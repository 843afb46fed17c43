/// A JSON number by its text, so that `1.10` stays `1.10` and no digit of a long one is lost.
///
/// Equal when the texts are: `1` and `1.0` are two. RFC 8259, section 6.
public struct JSONNumber: Hashable, Sendable {
    /// The number as the source has it, ASCII.
    public let text: String

    /// Makes an integer.
    public init(_ value: Int64) {
        text = String(value)
    }

    /// Makes an integer.
    public init(_ value: Int) {
        text = String(value)
    }

    /// Makes a number from a finite binary fraction, in the fewest digits that give it back; nil of
    /// infinities and NaN, which JSON cannot say.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        text = value.description
    }

    /// Takes a text that fits RFC 8259's grammar of numbers, nil of any other.
    public init?(text: String) {
        var reader = StrictReader(Array(text.utf8), depthLimit: 0)
        guard reader.skipNumber(), reader.isAtEnd else { return nil }
        self.text = text
    }

    /// Takes a text that was parsed as a number before.
    init(verbatim text: String) {
        self.text = text
    }

    /// The value where it is written as an integer (no fraction, no exponent) that fits, else nil.
    public var integer: Int64? { Int64(text) }

    /// The nearest binary fraction; infinite past its range.
    public var double: Double { Double(text) ?? .nan }
}

extension JSONNumber: ExpressibleByIntegerLiteral, CustomStringConvertible {
    /// Makes an integer.
    public init(integerLiteral value: Int64) { self.init(value) }

    /// The text.
    public var description: String { text }
}
