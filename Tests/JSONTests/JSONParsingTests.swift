import JSON
import Testing

@Suite struct JSONParsingTests {
    private func parse(_ text: String) throws -> JSONValue {
        try JSONValue(parsing: Array(text.utf8))
    }

    @Test func `a document becomes values in the order of its members`() throws {
        let value = try parse(
            #"{"b":[1,true,false,null,"x"],"a":{"é":"\u00e9\ud83d\ude00"},"c":[],"d":{}}"#)
        #expect(value.objectValue?.keys == ["b", "a", "c", "d"])
        #expect(value["b"] == [1, true, false, nil, "x"])
        #expect(value["a"]?["é"] == "é😀")
        #expect(value["c"] == [])
        #expect(value["d"] == [:])
        #expect(value["e"] == nil)
    }

    @Test(
        "A scalar alone is a document",
        arguments: [
            ("null", JSONValue.null), ("true", true), (" \r\n\t7 ", 7), (#""x""#, "x"),
        ])
    func scalars(text: String, value: JSONValue) throws {
        #expect(try parse(text) == value)
    }

    @Test(
        "A number keeps its text, whatever its size",
        arguments: [
            "0", "-0", "1.10", "1e2", "1E+2", "-1.5e-3", "0.1000", "1e400", "-1e-400",
            "9223372036854775807", "-9223372036854775808", "18446744073709551615",
            "18446744073709551616", "123456789012345678901234567890.5",
        ])
    func numbers(text: String) throws {
        #expect(try parse(text).numberValue?.text == text)
        let inside = try parse(#"{"a":[{"b":\#(text)},"1",-3],"c":\#(text)}"#)
        #expect(inside["a"]?.arrayValue?[0]["b"]?.numberValue?.text == text)
        #expect(inside["a"]?.arrayValue?[2] == -3)
        #expect(inside["c"]?.numberValue?.text == text)
    }

    @Test func `an integer is one only where it is written as one and fits`() throws {
        #expect(try parse("9223372036854775807").integerValue == .max)
        #expect(try parse("9223372036854775808").integerValue == nil)
        #expect(try parse("1.0").integerValue == nil)
        #expect(try parse("-0").integerValue == 0)
        #expect(try parse("1.5e1").numberValue?.double == 15)
        #expect(try parse("1e400").numberValue?.double == .infinity)
        #expect(JSONNumber(text: "01") == nil)
        #expect(JSONNumber(text: "1 ") == nil)
        #expect(JSONNumber(text: "-0.5E+07")?.double == -5_000_000)
        #expect(JSONNumber(Double.nan) == nil)
        #expect(JSONNumber(0.1)?.text == "0.1")
    }

    @Test(
        "Half a surrogate pair becomes U+FFFD",
        arguments: [
            (#""\ud83d""#, "\u{FFFD}"), (#""\ude00""#, "\u{FFFD}"),
            (#""a\ud83dxyz""#, "a\u{FFFD}xyz"),
            (#""\ude00\ud83d""#, "\u{FFFD}\u{FFFD}"), (#""\ud83d\ud83d\ude00""#, "\u{FFFD}😀"),
            (#""\ud83d\u0041""#, "\u{FFFD}A"), (#""\ud83d\n""#, "\u{FFFD}\n"),
        ])
    func surrogates(text: String, expected: String) throws {
        let value = try parse(text)
        #expect(value.stringValue.map { Array($0.utf8) } == Array(expected.utf8))
        #expect(try parse("[1e400,\(text)]").arrayValue?[1] == value)
    }

    @Test func `of a member named twice the last counts, in the place of the first`() throws {
        let value = try parse(#"{"a":1,"b":2,"a":3}"#)
        #expect(value["a"] == 3)
        #expect(value.text == #"{"a":3,"b":2}"#)
        let many = (0..<100).map { #""k\#($0 % 60)":\#($0)"# }.joined(separator: ",")
        let object = try #require(try parse("{\(many)}").objectValue)
        #expect(object.count == 60)
        #expect(object["k10"] == 70)
        #expect(object["k59"] == 59)
    }

    @Test func `a byte order mark is skipped, and an offset counts it`() throws {
        #expect(try JSONValue(parsing: [0xEF, 0xBB, 0xBF] + Array("[1]".utf8)) == [1])
        #expect(
            try JSONValue(parsing: [0xEF, 0xBB, 0xBF] + Array("[1e999]".utf8)).text == "[1e999]")
        let error = #expect(throws: JSONError.self) {
            try JSONValue(parsing: [0xEF, 0xBB, 0xBF] + Array("[x]".utf8))
        }
        #expect(error?.offset == 4)
    }

    @Test func `a NUL is a character where it is escaped, and a mistake where it is not`() throws {
        #expect(try parse(#""a\u0000b""#) == "a\0b")
        #expect(throws: JSONError.self) { try JSONValue(parsing: Array("\"a\0b\"".utf8)) }
        #expect(throws: JSONError.self) { try JSONValue(parsing: Array("1\0".utf8)) }
    }

    @Test func `containers may stand in each other 512 deep`() throws {
        let limit = JSONValue.depthLimit
        let nested = String(repeating: "[", count: limit) + String(repeating: "]", count: limit)
        #expect(try parse(nested).arrayValue?.count == 1)
        #expect(
            try parse("\(nested.dropLast(limit))1e999\(nested.dropFirst(limit))").text.count > 5)
        let error = #expect(throws: JSONError.self) { try parse("[\(nested)]") }
        #expect(error?.kind == .tooDeep)
        let hostile = [UInt8](repeating: UInt8(ascii: "["), count: 1 << 20)
        #expect(throws: JSONError.self) { try JSONValue(parsing: hostile) }
        let members = String(repeating: #"{"a":"#, count: 100_000)
        #expect(throws: JSONError.self) { try parse(members) }
    }

    @Test func `strings of every kind of UTF-8 come through`() throws {
        for text in [
            "", "a", "é", "\u{2028}", "😀", "e\u{301}", String(repeating: "ж", count: 5000),
        ] {
            #expect(try parse("\"\(text)\"").stringValue.map { Array($0.utf8) } == Array(text.utf8))
        }
        #expect(try parse(#""\"\\\/\b\f\n\r\t""#) == "\"\\/\u{8}\u{C}\n\r\t")
    }

    @Test func `a large document is read whole, and the next small one too`() throws {
        let rows = (0..<200_000).map { #"{"id":"conn_\#($0)","n":\#($0).50,"s":["a","b"]}"# }
        let value = try parse("[" + rows.joined(separator: ",") + "]")
        #expect(value.arrayValue?.count == 200_000)
        #expect(value.arrayValue?[199_999].text == rows[199_999])
        #expect(try parse("[1]") == [1])
    }

    @Test func `a member named twice is refused where that is wished, at any depth`() throws {
        for text in [#"{"a":1,"a":1}"#, #"[{"b":{"a":1,"c":2,"\u0061":3}}]"#] {
            #expect(throws: JSONError.self) {
                try JSONValue(parsingWithoutRepeats: Array(text.utf8))
            }
            _ = try JSONValue(parsing: Array(text.utf8))
        }
        let fine = #"{"a":{"a":1},"b":[{"a":1},{"a":2}]}"#
        #expect(
            try JSONValue(parsingWithoutRepeats: Array(fine.utf8))
                == JSONValue(parsing: Array(fine.utf8)))
    }
}
