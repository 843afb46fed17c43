public import ConnectionEvents

/// The id of a walk: the milliseconds of its start and 80 random bits, written as `w_` and a ULID.
///
/// Since the start is in it, the id of an account's last sealed walk is all that must be remembered
/// of it. https://github.com/ulid/spec
public struct WalkID: Hashable, Sendable, CustomStringConvertible {
    /// 48 bits of time, 16 of randomness.
    public let high: UInt64
    /// 64 bits of randomness.
    public let low: UInt64

    /// The id with these 128 bits.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A walk that starts now, made unique by `random`.
    public init(start: Timestamp, random: (UInt64, UInt64)) {
        high = UInt64(truncatingIfNeeded: start.milliseconds) << 16 | random.0 & 0xFFFF
        low = random.1
    }

    /// When the walk began.
    public var start: Timestamp { Timestamp(milliseconds: Int64(high >> 16)) }

    /// As `w_01JDXYZ…`: Crockford's base 32, 26 digits.
    public var description: String {
        var digits: [UInt8] = []
        digits.reserveCapacity(28)
        var (high, low) = (high, low)
        for _ in 0..<26 {
            digits.append(Self.alphabet[Int(low & 31)])
            low = low >> 5 | high << 59
            high >>= 5
        }
        return "w_" + String(decoding: digits.reversed(), as: UTF8.self)
    }

    /// Reads what `description` wrote.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        // 26 digits of 5 bits are 130: the first is at most 7.
        guard bytes.count == 28, bytes.starts(with: "w_".utf8), bytes[2] <= UInt8(ascii: "7") else {
            return nil
        }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for byte in bytes.dropFirst(2) {
            guard let digit = Self.alphabet.firstIndex(of: byte) else { return nil }
            high = high << 5 | low >> 59
            low = low << 5 | UInt64(digit)
        }
        self.init(high: high, low: low)
    }

    /// The id of the walk's nth page request, sent as `X-Request-Id`; pages count from 1.
    public func requestID(page: Int) -> String { "\(self).\(page)" }

    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
}
