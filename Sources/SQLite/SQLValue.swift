/// A value to bind to a place of a statement.
public enum SQLValue: Equatable, Sendable {
    /// No value.
    case null
    /// A whole number.
    case integer(Int64)
    /// Text.
    case text(String)
    /// Bytes, which may be none.
    case blob([UInt8])

    /// A number or null.
    public static func integer(_ value: Int64?) -> SQLValue {
        value.map { .integer($0) } ?? .null
    }

    /// A text or null.
    public static func text(_ value: String?) -> SQLValue {
        value.map { .text($0) } ?? .null
    }

    /// Bytes or null.
    public static func blob(_ value: [UInt8]?) -> SQLValue {
        value.map { .blob($0) } ?? .null
    }

    /// A number of the platform's size.
    public static func integer(_ value: Int) -> SQLValue { .integer(Int64(value)) }

    /// A truth value as 1 or 0, which is all that SQLite knows.
    public static func flag(_ value: Bool) -> SQLValue { .integer(value ? Int64(1) : Int64(0)) }
}
