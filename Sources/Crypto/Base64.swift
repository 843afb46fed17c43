/// Bytes as base64 text (RFC 4648).
public enum Base64 {
    /// Which of the two alphabets of RFC 4648, and its manner of ending.
    public enum Alphabet: Sendable {
        /// Section 4: `+`, `/`, and `=` to fill up.
        case standard
        /// Section 5: `-`, `_`, and nothing to fill up.
        case url

        fileprivate var characters: [UInt8] {
            switch self {
            case .standard: Base64.standardCharacters
            case .url: Base64.urlCharacters
            }
        }
    }

    /// The text of bytes.
    public static func encode(_ bytes: [UInt8], _ alphabet: Alphabet = .url) -> String {
        let characters = alphabet.characters
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for byte in group { bits = bits << 8 | UInt32(byte) }
            bits <<= UInt32(8 * (3 - group.count))
            for index in 0..<4 where index <= group.count {
                text.append(characters[Int(bits >> UInt32(18 - 6 * index) & 63)])
            }
            if alphabet == .standard {
                text.append(contentsOf: repeatElement(UInt8(ascii: "="), count: 3 - group.count))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of a text; nil when it is not canonical base64 of that alphabet.
    ///
    /// `=` at the end may be left out in both alphabets. Bits that no byte uses must be zero, so
    /// that one value has one text.
    public static func decode(_ text: String, _ alphabet: Alphabet = .url) -> [UInt8]? {
        var characters = Array(text.utf8)
        let filled = characters.count % 4 == 0
        for _ in 0..<2 where filled && characters.last == UInt8(ascii: "=") {
            characters.removeLast()
        }
        guard characters.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count * 3 / 4)
        var bits: UInt32 = 0
        var held: UInt32 = 0
        for character in characters {
            guard let value = value(character, alphabet) else { return nil }
            bits = bits << 6 | UInt32(value)
            held += 6
            if held >= 8 {
                held -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> held))
                bits &= (1 << held) - 1
            }
        }
        return bits == 0 ? bytes : nil
    }

    private static let standardCharacters = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let urlCharacters = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static func value(_ character: UInt8, _ alphabet: Alphabet) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case alphabet.characters[62]: 62
        case alphabet.characters[63]: 63
        default: nil
        }
    }
}
