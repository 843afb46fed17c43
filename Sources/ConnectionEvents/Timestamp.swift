/// A wall-clock instant in whole milliseconds since 1970-01-01T00:00:00Z, written as RFC 3339 in
/// UTC.
public struct Timestamp: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// Milliseconds since the epoch of Unix.
    public var milliseconds: Int64

    /// The instant that many milliseconds after the epoch of Unix.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Earlier comes first.
    public static func < (left: Self, right: Self) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// As `2026-11-30T12:00:00.123Z`: always UTC, always three digits after the point.
    public var description: String {
        let days = milliseconds.flooredDivision(by: 86_400_000)
        let rest = milliseconds - days * 86_400_000
        let (year, month, day) = Self.civil(days)
        let seconds = rest / 1000
        return pad(year, 4) + "-" + pad(month, 2) + "-" + pad(day, 2) + "T"
            + pad(seconds / 3600, 2) + ":" + pad(seconds / 60 % 60, 2) + ":" + pad(seconds % 60, 2)
            + "." + pad(rest % 1000, 3) + "Z"
    }

    /// Reads RFC 3339, any offset, any number of fractional digits (cut to milliseconds).
    ///
    /// A date alone (`2026-11-30`) is its midnight in UTC. Nil when it is neither.
    public init?(_ text: String) {
        var reader = TimestampReader(bytes: Array(text.utf8))
        guard let value = reader.read() else { return nil }
        milliseconds = value
    }

    /// The time from an earlier instant to this one; negative when that one is later.
    public func since(_ earlier: Timestamp) -> Duration {
        .milliseconds(milliseconds - earlier.milliseconds)
    }

    /// The instant a duration later.
    public func adding(_ duration: Duration) -> Timestamp {
        Timestamp(milliseconds: milliseconds + duration.wholeMilliseconds)
    }

    /// Days since 1970-01-01 to year, month, day of the proleptic Gregorian calendar.
    private static func civil(_ days: Int64) -> (Int64, Int64, Int64) {
        let shifted = days + 719_468
        let era = shifted.flooredDivision(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    /// Year, month, day of the proleptic Gregorian calendar to days since 1970-01-01.
    static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted.flooredDivision(by: 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }
}

/// Reads an RFC 3339 timestamp byte by byte.
private struct TimestampReader {
    let bytes: [UInt8]
    var position = 0

    /// Milliseconds since the epoch of Unix; nil when the bytes are no timestamp.
    mutating func read() -> Int64? {
        guard let year = number(4), take("-"), let month = number(2), take("-"),
            let day = number(2), (1...12).contains(month), day >= 1
        else { return nil }
        let first = Timestamp.days(year: year, month: month, day: 1)
        let next = Timestamp.days(year: year + month / 12, month: month % 12 + 1, day: 1)
        guard first + day <= next else { return nil }
        let midnight = (first + day - 1) * 86_400_000
        if position == bytes.count { return midnight }
        guard take("T") || take("t") || take(" "), let hour = number(2), take(":"),
            let minute = number(2), take(":"), let second = number(2),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        var milliseconds: Int64 = 0
        if take(".") {
            var scale: Int64 = 100
            let start = position
            while let digit = number(1) {
                milliseconds += digit * scale
                scale /= 10
            }
            guard position > start else { return nil }
        }
        guard let offset = offsetMinutes(), position == bytes.count else { return nil }
        return midnight + (hour * 3600 + (minute - offset) * 60 + second) * 1000 + milliseconds
    }

    private mutating func offsetMinutes() -> Int64? {
        if take("Z") || take("z") { return 0 }
        let negative = take("-")
        guard negative || take("+"), let hours = number(2), take(":"), let minutes = number(2),
            hours < 24, minutes < 60
        else { return nil }
        return (hours * 60 + minutes) * (negative ? -1 : 1)
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else {
            return false
        }
        position += 1
        return true
    }

    private mutating func number(_ digits: Int) -> Int64? {
        guard position + digits <= bytes.count else { return nil }
        var value: Int64 = 0
        for byte in bytes[position..<position + digits] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        position += digits
        return value
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero.
    public var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }

    /// ISO 8601, as `P1DT2H3M4.5S` with days of 24 hours; `PT0S` for zero and below.
    public var iso8601: String {
        let total = wholeMilliseconds
        guard total > 0 else { return "PT0S" }
        let days = total / 86_400_000
        let hours = total / 3_600_000 % 24
        let minutes = total / 60_000 % 60
        var text = days > 0 ? "P\(days)D" : "P"
        guard total % 86_400_000 > 0 else { return text }
        text += "T"
        if hours > 0 { text += "\(hours)H" }
        if minutes > 0 { text += "\(minutes)M" }
        let (seconds, fraction) = (total / 1000 % 60, total % 1000)
        guard seconds > 0 || fraction > 0 else { return text }
        text += "\(seconds)"
        if fraction > 0 {
            var digits = pad(fraction, 3)
            while digits.hasSuffix("0") { digits.removeLast() }
            text += "." + digits
        }
        return text + "S"
    }
}

/// A number of at least that many digits, zeros in front.
func pad(_ number: Int64, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
}

extension Int64 {
    /// Division that rounds towards minus infinity, as calendars need.
    fileprivate func flooredDivision(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}
