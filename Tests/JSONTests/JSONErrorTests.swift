import JSON
import Testing

@Suite struct JSONErrorTests {
    @Test(
        "A document that breaks the rules is refused with kind and place",
        arguments: [
            ("", "not JSON: there is nothing"),
            (" \n", "not JSON: there is nothing"),
            ("\u{FEFF}", "not JSON: there is nothing"),
            ("<html></html>", "not JSON: a value is missing (byte 0)"),
            ("{", "not JSON: the document breaks off (byte 1)"),
            (#"{"a""#, "not JSON: the document breaks off (byte 4)"),
            (#"{"a":"#, "not JSON: the document breaks off (byte 5)"),
            (#"{"a":1"#, "not JSON: the document breaks off (byte 6)"),
            (#"{"a":1,"#, "not JSON: the document breaks off (byte 7)"),
            ("[1", "not JSON: the document breaks off (byte 2)"),
            ("[1,", "not JSON: the document breaks off (byte 3)"),
            ("tru", "not JSON: the document breaks off (byte 3)"),
            ("\"abc", "not JSON: the document breaks off (byte 4)"),
            ("\"abc\\", "not JSON: the document breaks off (byte 5)"),
            (#""\u12"#, "not JSON: the document breaks off (byte 5)"),
            ("-", "not JSON: the document breaks off (byte 1)"),
            ("[1,]", "not JSON: a value is missing (byte 3)"),
            (#"{"a":1,}"#, "not JSON: a member's name is missing (byte 7)"),
            (#"{a:1}"#, "not JSON: a member's name is missing (byte 1)"),
            (#"{"a" 1}"#, "not JSON: a colon is missing (byte 5)"),
            ("[1 2]", "not JSON: a comma or bracket is missing (byte 3)"),
            (#"{"a":1 "b":2}"#, "not JSON: a comma or brace is missing (byte 7)"),
            ("{} {}", "not JSON: something follows the document (byte 3)"),
            ("[]]", "not JSON: something follows the document (byte 2)"),
            ("01", "not JSON: something follows the document (byte 1)"),
            ("1.x", "not JSON: a number is misspelt (byte 2)"),
            ("1ex", "not JSON: a number is misspelt (byte 2)"),
            ("+1", "not JSON: a value is missing (byte 0)"),
            (".5", "not JSON: a value is missing (byte 0)"),
            ("NaN", "not JSON: a value is missing (byte 0)"),
            ("[nulL]", "not JSON: a value is missing (byte 4)"),
            ("'a'", "not JSON: a value is missing (byte 0)"),
            (#""\x41""#, "not JSON: an escape is unknown (byte 2)"),
            (#""\u12G4""#, "not JSON: four hexadecimal digits are missing (byte 5)"),
            ("\"a\nb\"", "not JSON: a control character stands unescaped in a string (byte 2)"),
            ("[1] // x", "not JSON: something follows the document (byte 4)"),
        ])
    func refused(text: String, expected: String) {
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: Array(text.utf8)) }
        #expect(error.map { "\($0)" } == expected)
        #expect((error?.kind == .truncated) == expected.contains("breaks off"))
        #expect(throws: JSONError.self) { try JSONPeek.members(["a"], in: Array(text.utf8)) }
    }

    @Test(
        "Bytes that are no UTF-8 are refused wherever they stand",
        arguments: [
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
            [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xE2, 0x82, 0x22],
            [0xFF, 0xFE, 0x31, 0x00],
        ] as [[UInt8]])
    func notUTF8(bytes: [UInt8]) {
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: bytes) }
        #expect(error?.kind == (bytes[0] == 0x22 ? .notUTF8 : .malformed))
    }

    @Test func `an error holds nothing of the document`() {
        let error = #expect(throws: JSONError.self) {
            try JSONValue(parsing: Array(#"{"apiKey":"hunter2" oops}"#.utf8))
        }
        #expect(error.map { String(reflecting: $0).contains("hunter2") } == false)
    }

    @Test func `every beginning of a document is refused as cut, and none traps`() {
        let text = #"{"a":[1.5e3,true,{"b":null,"c":"\u00e9\ud83d\ude00\n"}],"d":-0}"#
        let bytes = Array(text.utf8)
        for length in 1..<bytes.count {
            let error = #expect(throws: JSONError.self) {
                try JSONValue(parsing: Array(bytes[..<length]))
            }
            #expect(error?.kind == .truncated)
        }
    }

    @Test
    func `a document with any byte changed is read or refused, and reads the same when written`() {
        let bytes = Array(#"{"a":[1.5e3,true,{"b":null,"c":"\u00e9x\n"}],"d":-0}"#.utf8)
        for place in bytes.indices {
            for replacement in stride(from: UInt8(0), through: 255, by: 3) {
                var changed = bytes
                changed[place] = replacement
                guard let value = try? JSONValue(parsing: changed) else { continue }
                #expect((try? JSONValue(parsing: value.serialized())) == value)
            }
        }
    }
}
