/// Turns simdjson's tape into values, beside the source from which numbers keep their text.
///
/// The tape is a row of 64-bit words, a type in the top byte and a payload below: strings point
/// into the string buffer, containers to their end, numbers are followed by a word of their value.
/// It is written by simdjson alone and trusted. simdjson `doc/tape.md`.
@safe struct TapeWalk {
    private let tape: UnsafePointer<UInt64>
    private let strings: UnsafePointer<UInt8>
    private let tokens: UnsafeBufferPointer<UInt32>
    private let source: UnsafeRawBufferPointer
    private var word = 1
    private var token = 0

    /// Stands before the only value of the document.
    init(_ document: SimdDocument) {
        unsafe tape = document.tape
        unsafe strings = document.strings
        unsafe tokens = document.tokens
        unsafe source = document.source
    }

    /// The type of the word that comes next.
    var type: UInt8 { unsafe UInt8(truncatingIfNeeded: tape[word] >> 56) }

    private var payload: Int { unsafe Int(tape[word] & 0x00FF_FFFF_FFFF_FFFF) }

    /// Takes the next value with all that is in it.
    mutating func value() -> JSONValue {
        switch type {
        case UInt8(ascii: "{"):
            return .object(JSONObject(folding: object()))
        case UInt8(ascii: "["):
            return .array(array())
        case UInt8(ascii: "\""):
            return .string(string())
        case UInt8(ascii: "t"), UInt8(ascii: "f"):
            let value = type == UInt8(ascii: "t")
            step()
            return .bool(value)
        case UInt8(ascii: "n"):
            step()
            return .null
        default:
            return .number(number())
        }
    }

    /// Whether the end of a container comes next.
    var isAtClosing: Bool { type == UInt8(ascii: "}") || type == UInt8(ascii: "]") }

    private mutating func object() -> [JSONObject.Member] {
        var members: [JSONObject.Member] = []
        members.reserveCapacity(containerCount)
        step()
        while !isAtClosing {
            let key = string()
            members.append(JSONObject.Member(key: key, value: value()))
        }
        step()
        return members
    }

    private mutating func array() -> [JSONValue] {
        var elements: [JSONValue] = []
        elements.reserveCapacity(containerCount)
        step()
        while !isAtClosing { elements.append(value()) }
        step()
        return elements
    }

    /// The number of members of the container that comes next; simdjson counts to 2^24 - 1.
    private var containerCount: Int { payload >> 32 }

    private mutating func string() -> String {
        let text = unsafe String(decoding: stringBytes(), as: UTF8.self)
        step()
        return text
    }

    /// Whether the string that comes next has these bytes.
    func stringEquals(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { unsafe $0.elementsEqual(stringBytes()) }
    }

    private func stringBytes() -> UnsafeBufferPointer<UInt8> {
        let start = unsafe strings + payload
        let length = unsafe UnsafeRawPointer(start).loadUnaligned(as: UInt32.self)
        return unsafe UnsafeBufferPointer(start: start + 4, count: Int(length))
    }

    /// Takes a number, by its text in the source.
    private mutating func number() -> JSONNumber {
        skipSeparators()
        let start = unsafe Int(tokens[token])
        var end = start
        while unsafe end < source.count, unsafe StrictReader.isNumberByte(source[end]) { end += 1 }
        let bytes = unsafe source[start..<end]
        word += 2
        token += 1
        return JSONNumber(verbatim: unsafe String(decoding: bytes, as: UTF8.self))
    }

    private mutating func step() {
        skipSeparators()
        word += 1
        token += 1
    }

    /// Colons and commas are tokens of the source that the tape does not have.
    private mutating func skipSeparators() {
        while unsafe token < tokens.count {
            let byte = unsafe source[Int(tokens[token])]
            guard byte == UInt8(ascii: ",") || byte == UInt8(ascii: ":") else { return }
            token += 1
        }
    }
}

/// The walk without the source, for looking at single members: it takes no text of numbers, and
/// cannot be mixed with `value`.
extension TapeWalk {
    /// Steps into the container that comes next.
    mutating func passOpening() { word += 1 }

    /// Steps over a key.
    mutating func passKey() { word += 1 }

    /// Steps over the next value with all that is in it, and says what it was.
    mutating func passValue() -> JSONPeek.Member {
        let start = word
        switch type {
        case UInt8(ascii: "{"):
            word = payload & 0xFFFF_FFFF
            return .object(count: unsafe Int(tape[start] >> 32 & 0xFF_FFFF))
        case UInt8(ascii: "["):
            word = payload & 0xFFFF_FFFF
            return .array(count: unsafe Int(tape[start] >> 32 & 0xFF_FFFF))
        case UInt8(ascii: "\""):
            let text = unsafe String(decoding: stringBytes(), as: UTF8.self)
            word += 1
            return .string(text)
        case UInt8(ascii: "n"):
            word += 1
            return .null
        case UInt8(ascii: "t"), UInt8(ascii: "f"):
            let value = type == UInt8(ascii: "t")
            word += 1
            return .bool(value)
        default:
            word += 2
            return .number
        }
    }
}
