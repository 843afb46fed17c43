extension JSONValue {
    /// The value as compact UTF-8 text of RFC 8259.
    ///
    /// Deterministic: members in their order, numbers as they are, and of the possible spellings of
    /// a string the one of RFC 8785 (`\b \t \n \f \r \" \\`, other control characters as `\u00xx`,
    /// everything else unescaped).
    public func serialized() -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(256)
        write(to: &output)
        return output
    }

    /// The value as text over several lines, two spaces a level, without a line end behind it.
    public func serializedPretty() -> [UInt8] {
        var output: [UInt8] = []
        write(to: &output, indentation: 0)
        return output
    }

    /// The compact text.
    public var text: String { String(decoding: serialized(), as: UTF8.self) }

    /// Appends the compact text.
    public func write(to output: inout [UInt8]) {
        switch self {
        case .array(let elements):
            output.append(UInt8(ascii: "["))
            var isFirst = true
            for element in elements {
                if !isFirst { output.append(UInt8(ascii: ",")) }
                isFirst = false
                element.write(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let object):
            output.append(UInt8(ascii: "{"))
            var isFirst = true
            for member in object.members {
                if !isFirst { output.append(UInt8(ascii: ",")) }
                isFirst = false
                Self.write(string: member.key, to: &output)
                output.append(UInt8(ascii: ":"))
                member.value.write(to: &output)
            }
            output.append(UInt8(ascii: "}"))
        case .null, .bool, .number, .string:
            writeScalar(to: &output)
        }
    }

    private func write(to output: inout [UInt8], indentation: Int) {
        switch self {
        case .array(let elements) where !elements.isEmpty:
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                Self.breakLine(in: &output, after: index, indentation: indentation + 1)
                element.write(to: &output, indentation: indentation + 1)
            }
            Self.breakLine(in: &output, after: 0, indentation: indentation)
            output.append(UInt8(ascii: "]"))
        case .object(let object) where !object.isEmpty:
            output.append(UInt8(ascii: "{"))
            for (index, member) in object.members.enumerated() {
                Self.breakLine(in: &output, after: index, indentation: indentation + 1)
                Self.write(string: member.key, to: &output)
                output.append(contentsOf: [UInt8(ascii: ":"), UInt8(ascii: " ")])
                member.value.write(to: &output, indentation: indentation + 1)
            }
            Self.breakLine(in: &output, after: 0, indentation: indentation)
            output.append(UInt8(ascii: "}"))
        case .null, .bool, .number, .string, .array, .object:
            write(to: &output)
        }
    }

    private static func breakLine(in output: inout [UInt8], after index: Int, indentation: Int) {
        if index > 0 { output.append(UInt8(ascii: ",")) }
        output.append(UInt8(ascii: "\n"))
        output.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * indentation))
    }

    private func writeScalar(to output: inout [UInt8]) {
        switch self {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(true): output.append(contentsOf: "true".utf8)
        case .bool(false): output.append(contentsOf: "false".utf8)
        case .number(let number): output.append(contentsOf: number.text.utf8)
        case .string(let string): Self.write(string: string, to: &output)
        case .array, .object: write(to: &output)
        }
    }

    private static let hexadecimal: [UInt8] = Array("0123456789abcdef".utf8)

    /// Appends a string with its quotes.
    static func write(string: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        // Every native string is contiguous; nearly none needs an escape.
        let isPlain = unsafe string.utf8.withContiguousStorageIfAvailable { bytes in
            guard unsafe bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C }) else {
                return false
            }
            unsafe output.append(contentsOf: bytes)
            return true
        }
        if isPlain != true {
            for byte in string.utf8 { write(escaping: byte, to: &output) }
        }
        output.append(UInt8(ascii: "\""))
    }

    private static func write(escaping byte: UInt8, to output: inout [UInt8]) {
        let letter: UInt8? =
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): byte
            case 0x08: UInt8(ascii: "b")
            case 0x09: UInt8(ascii: "t")
            case 0x0A: UInt8(ascii: "n")
            case 0x0C: UInt8(ascii: "f")
            case 0x0D: UInt8(ascii: "r")
            default: nil
            }
        if let letter {
            output.append(UInt8(ascii: "\\"))
            output.append(letter)
        } else if byte < 0x20 {
            output.append(contentsOf: "\\u00".utf8)
            output.append(hexadecimal[Int(byte >> 4)])
            output.append(hexadecimal[Int(byte & 15)])
        } else {
            output.append(byte)
        }
    }
}

extension JSONValue: CustomStringConvertible {
    /// The compact text.
    public var description: String { text }
}
