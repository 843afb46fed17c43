import JSON
import Testing

@Suite struct JSONWritingTests {
    @Test func `text is compact, in order, and escapes no more than it must`() {
        let value: JSONValue = [
            "z": [1, nil, true, false, "x"], "a": ["/": "\u{2028}\u{7F}😀"], "e": [], "o": [:],
        ]
        #expect(
            value.text
                == #"{"z":[1,null,true,false,"x"],"a":{"/":"\#u{2028}\#u{7F}😀"},"e":[],"o":{}}"#)
    }

    @Test func `control characters, quotes and backslashes are escaped`() {
        let text = "\0\u{1}\u{8}\t\n\u{B}\u{C}\r\u{1F}\"\\"
        #expect(
            JSONValue(text).text == #""\u0000\u0001\b\t\n\u000b\f\r\u001f\"\\""#)
    }

    @Test func `the pretty form stands on several lines and reads the same`() throws {
        let value: JSONValue = ["a": [1, ["b": "c"]], "d": [], "e": [:]]
        let pretty = value.serializedPretty()
        #expect(
            String(decoding: pretty, as: UTF8.self) == """
                {
                  "a": [
                    1,
                    {
                      "b": "c"
                    }
                  ],
                  "d": [],
                  "e": {}
                }
                """)
        #expect(try JSONValue(parsing: pretty) == value)
    }

    @Test func `whatever is written is read back the same, by seed`() throws {
        for seed in 0..<200 {
            var generator = Generator(state: UInt64(seed))
            let value = generator.value(depth: 0)
            let bytes = value.serialized()
            #expect(try JSONValue(parsing: bytes) == value, "seed \(seed)")
            #expect(try JSONValue(parsing: bytes).serialized() == bytes, "seed \(seed)")
            #expect(try JSONValue(parsing: value.serializedPretty()) == value, "seed \(seed)")
            // Beside a number that simdjson refuses, the slow reader must agree.
            let slow = try JSONValue(parsing: Array("[1e999,".utf8) + bytes + Array("]".utf8))
            #expect(slow.arrayValue?[1].serialized() == bytes, "seed \(seed)")
        }
    }

    /// Values of every kind, from a xorshift sequence.
    private struct Generator {
        var state: UInt64

        mutating func next(_ bound: UInt64) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % bound)
        }

        mutating func value(depth: Int) -> JSONValue {
            switch next(depth > 3 ? 5 : 7) {
            case 0: .null
            case 1: .bool(next(2) == 0)
            case 2: JSONValue(Int64(next(1 << 30)) * (next(2) == 0 ? -1 : 1))
            case 3: .number(number())
            case 4: .string(string())
            case 5: .array((0..<next(6)).map { _ in value(depth: depth + 1) })
            default: .object(object(depth: depth))
            }
        }

        mutating func object(depth: Int) -> JSONObject {
            var object = JSONObject()
            for _ in 0..<next(20) { object[string()] = value(depth: depth + 1) }
            return object
        }

        mutating func number() -> JSONNumber {
            let texts = [
                "1.10", "-0", "1e5", "0.000001", "-12.5E-7", "18446744073709551615", "1e308",
            ]
            return JSONNumber(text: texts[next(UInt64(texts.count))]) ?? 0
        }

        mutating func string() -> String {
            let alphabet: [Unicode.Scalar] = [
                "a", "b", "\"", "\\", "/", "\n", "\0", "\u{1F}", "\u{7F}", "é", "\u{301}",
                "\u{2028}",
                "\u{FFFD}", "😀", "\u{10FFFF}", ",", ":", "{", "]",
            ]
            var text = String.UnicodeScalarView()
            for _ in 0..<next(12) { text.append(alphabet[next(UInt64(alphabet.count))]) }
            return String(text)
        }
    }
}
