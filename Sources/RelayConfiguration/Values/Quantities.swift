/// Durations as they are written in files and options: `500ms`, `2s`, `5m`, `1h`, `2d`.
public enum DurationText {
    private static let units: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// Reads a duration; nil where the text is none, or one of more than a billion units.
    public static func parse(_ text: String) -> Duration? {
        guard let (digits, suffix) = splitNumber(text),
            let unit = units.first(where: { $0.suffix == suffix }), let count = Int64(digits),
            count <= 1_000_000_000
        else { return nil }
        return .milliseconds(count * unit.milliseconds)
    }

    /// Writes a duration in its largest whole unit, cut to milliseconds.
    public static func format(_ duration: Duration) -> String {
        let parts = duration.components
        let total = parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000
        guard total != 0 else { return "0s" }
        for unit in units.reversed() where total % unit.milliseconds == 0 {
            return "\(total / unit.milliseconds)\(unit.suffix)"
        }
        return "\(total)ms"
    }
}

/// Decimal numbers as they are written in files: `0.5`, `1`.
enum FractionText {
    /// Reads digits with at most one point between them; nil where the text is anything else.
    static func parse(_ text: String) -> Double? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), text.utf8.count <= 16,
            parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(isDigit) })
        else { return nil }
        return Double(text)
    }

    /// Writes a number without a point where it is whole.
    static func format(_ value: Double) -> String {
        value == value.rounded() ? String(Int(value)) : String(value)
    }
}

/// So many a second, as `200/s`, `60/m` or `1000/h` is written.
public struct Rate: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// How many a second.
    public let perSecond: Double

    /// Makes a rate.
    public init(perSecond: Double) {
        self.perSecond = perSecond
    }

    /// Reads a rate; nil where the text is none.
    public init?(_ text: String) {
        guard let slash = text.firstIndex(of: "/") else { return nil }
        let seconds: Double
        switch text[text.index(after: slash)...] {
        case "s": seconds = 1
        case "m": seconds = 60
        case "h": seconds = 3600
        default: return nil
        }
        let digits = text[..<slash]
        guard let (whole, rest) = splitNumber(String(digits)),
            rest.isEmpty || (rest.hasPrefix(".") && rest.count > 1),
            rest.dropFirst().utf8.allSatisfy(isDigit), whole.utf8.count <= 9,
            let count = Double(digits)
        else { return nil }
        perSecond = count / seconds
    }

    /// Whether the left one is slower.
    public static func < (left: Rate, right: Rate) -> Bool { left.perSecond < right.perSecond }

    /// As it is written in a file, by the second, minute or hour, whichever gives a whole number.
    public var description: String {
        for (unit, seconds) in [("s", 1.0), ("m", 60.0), ("h", 3600.0)] {
            let count = (perSecond * seconds * 1e6).rounded() / 1e6
            if count == count.rounded(), count > 0, count < 1e15 { return "\(Int(count))/\(unit)" }
        }
        return "\(perSecond)/s"
    }
}

/// Sizes in bytes as they are written in files: `512B`, `64KiB`, `4MiB`, `8GiB`.
public enum SizeText {
    private static let units: [(suffix: String, bytes: Int)] = [
        ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
    ]

    /// Reads a size in bytes; nil where the text is none, or one of more than a million units.
    public static func parse(_ text: String) -> Int? {
        guard let (digits, suffix) = splitNumber(text),
            let unit = units.first(where: { $0.suffix == suffix }), let count = Int(digits),
            count <= 1_000_000 || suffix == "B" && count <= 1 << 50
        else { return nil }
        return count * unit.bytes
    }

    /// Writes a size in its largest whole unit.
    public static func format(_ bytes: Int) -> String {
        for unit in units.reversed() where bytes > 0 && bytes % unit.bytes == 0 {
            return "\(bytes / unit.bytes)\(unit.suffix)"
        }
        return "\(bytes)B"
    }
}

/// The digits at the start of a text and what follows them; nil where there is no digit.
private func splitNumber(_ text: String) -> (digits: String, rest: String)? {
    let digits = text.prefix { $0.utf8.count == 1 && $0.utf8.allSatisfy(isDigit) }
    guard !digits.isEmpty, digits.utf8.count <= 18 else { return nil }
    return (String(digits), String(text.dropFirst(digits.count)))
}

private func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
}
