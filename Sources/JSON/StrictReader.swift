/// A plain reader of RFC 8259, for what simdjson refuses and for saying why.
///
/// simdjson refuses integers past 64 bits, numbers past a double's range and halves of surrogate
/// pairs, all of which are legal; and its errors have no place. Slow, rarely used, and bounded in
/// depth.
struct StrictReader {
    static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private let bytes: [UInt8]
    private let depthLimit: Int
    private(set) var place = 0
    /// Whether an object may not name a member twice.
    var refusesRepeats = false

    init(_ bytes: [UInt8], depthLimit: Int) {
        self.bytes = bytes
        self.depthLimit = depthLimit
    }

    var isAtEnd: Bool { place == bytes.count }

    private var byte: UInt8? { place < bytes.count ? bytes[place] : nil }

    /// Reads the one value of the document and sees that nothing follows.
    mutating func document() throws(JSONError) -> JSONValue {
        if bytes.starts(with: Self.byteOrderMark) { place = 3 }
        skipSpace()
        guard !isAtEnd else { throw JSONError(.empty, at: nil, "there is nothing") }
        let result = try value(depth: 0)
        skipSpace()
        guard isAtEnd else {
            throw JSONError(.trailing, at: place, "something follows the document")
        }
        return result
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        guard let first = byte else { throw cut() }
        switch first {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONObject {
        try enter(depth)
        var members: [JSONObject.Member] = []
        skipSpace()
        if take(UInt8(ascii: "}")) { return JSONObject() }
        while true {
            skipSpace()
            guard byte == UInt8(ascii: "\"") else { throw wrong("a member's name is missing") }
            let key = try string()
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw wrong("a colon is missing") }
            skipSpace()
            members.append(JSONObject.Member(key: key, value: try value(depth: depth)))
            skipSpace()
            if take(UInt8(ascii: "}")) {
                guard !refusesRepeats || !JSONObject.hasDuplicates(members) else {
                    throw JSONError(.malformed, at: place, "a member is named twice")
                }
                return JSONObject(folding: members)
            }
            guard take(UInt8(ascii: ",")) else { throw wrong("a comma or brace is missing") }
        }
    }

    private mutating func array(depth: Int) throws(JSONError) -> [JSONValue] {
        try enter(depth)
        var elements: [JSONValue] = []
        skipSpace()
        if take(UInt8(ascii: "]")) { return [] }
        while true {
            skipSpace()
            elements.append(try value(depth: depth))
            skipSpace()
            if take(UInt8(ascii: "]")) { return elements }
            guard take(UInt8(ascii: ",")) else { throw wrong("a comma or bracket is missing") }
        }
    }

    private mutating func enter(_ depth: Int) throws(JSONError) {
        guard depth <= depthLimit else {
            throw JSONError(.tooDeep, at: place, "more than \(depthLimit) containers in each other")
        }
        place += 1
    }

    private mutating func literal(
        _ word: StaticString, _ value: JSONValue
    ) throws(JSONError) -> JSONValue {
        for expected in word.description.utf8 {
            guard take(expected) else { throw wrong("a value is missing") }
        }
        return value
    }

    private mutating func number() throws(JSONError) -> JSONNumber {
        let start = place
        guard skipNumber() else {
            throw wrong(place == start ? "a value is missing" : "a number is misspelt")
        }
        return JSONNumber(verbatim: String(decoding: bytes[start..<place], as: UTF8.self))
    }

    /// Steps over a number; false, at the wrong byte, where it breaks the grammar.
    mutating func skipNumber() -> Bool {
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) {
            guard skipDigits() else { return false }
        }
        if take(UInt8(ascii: ".")) {
            guard skipDigits() else { return false }
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard skipDigits() else { return false }
        }
        return true
    }

    private mutating func skipDigits() -> Bool {
        let start = place
        while let byte, isDigit(byte) { place += 1 }
        return place > start
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// Whether a number may hold this byte.
    static func isNumberByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"),
            UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }

    private mutating func string() throws(JSONError) -> String {
        let start = place
        place += 1
        var content: [UInt8] = []
        while true {
            guard let next = byte else { throw cut() }
            switch next {
            case UInt8(ascii: "\""):
                place += 1
                guard let text = String(validating: content, as: UTF8.self) else {
                    throw JSONError(.notUTF8, at: start, "a string is not UTF-8")
                }
                return text
            case UInt8(ascii: "\\"):
                place += 1
                try escape(into: &content)
            case 0..<0x20:
                throw wrong("a control character stands unescaped in a string")
            default:
                content.append(next)
                place += 1
            }
        }
    }

    private mutating func escape(into content: inout [UInt8]) throws(JSONError) {
        guard let letter = byte else { throw cut() }
        let plain: UInt8? =
            switch letter {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
            case UInt8(ascii: "b"): 0x08
            case UInt8(ascii: "f"): 0x0C
            case UInt8(ascii: "n"): 0x0A
            case UInt8(ascii: "r"): 0x0D
            case UInt8(ascii: "t"): 0x09
            default: nil
            }
        if let plain {
            place += 1
            content.append(plain)
            return
        }
        guard letter == UInt8(ascii: "u") else { throw wrong("an escape is unknown") }
        place += 1
        var code = UInt32(try hexadecimal())
        if (0xD800..<0xDC00).contains(code), let low = lowSurrogate() {
            place += 6
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        // Half a pair is no character: the one that stands for "unreadable" takes its place.
        let scalar = Unicode.Scalar(code) ?? "\u{FFFD}"
        content.append(contentsOf: String(Character(scalar)).utf8)
    }

    /// The second half of a surrogate pair if its escape comes next, which is not yet taken.
    private func lowSurrogate() -> UInt32? {
        guard place + 6 <= bytes.count, bytes[place] == UInt8(ascii: "\\"),
            bytes[place + 1] == UInt8(ascii: "u")
        else { return nil }
        var ahead = self
        ahead.place += 2
        guard let code = ahead.fourDigits(), (0xDC00..<0xE000).contains(code) else { return nil }
        return UInt32(code)
    }

    private mutating func hexadecimal() throws(JSONError) -> UInt16 {
        guard let code = fourDigits() else { throw wrong("four hexadecimal digits are missing") }
        return code
    }

    private mutating func fourDigits() -> UInt16? {
        var code: UInt16 = 0
        for _ in 0..<4 {
            guard let byte, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80
            else { return nil }
            code = code << 4 | UInt16(digit)
            place += 1
        }
        return code
    }

    private mutating func take(_ expected: UInt8) -> Bool {
        guard byte == expected else { return false }
        place += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { place += 1 }
    }

    private func wrong(_ reason: String) -> JSONError {
        isAtEnd ? cut() : JSONError(.malformed, at: place, reason)
    }

    private func cut() -> JSONError {
        JSONError(.truncated, at: place, "the document breaks off")
    }
}
