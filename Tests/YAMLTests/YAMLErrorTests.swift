import Testing
import YAML

@Suite struct YAMLErrorTests {
    @Test(
        "A text that is no YAML is refused with place and reason",
        arguments: [
            ("a: [1, 2}", "1:9: did not find expected ',' or ']' while parsing a flow sequence"),
            ("a:\n\tb: 1", "2:1: a tab stands where only spaces may: indent with spaces"),
            ("a: 1\n b: 2", "2:3: mapping values are not allowed in this context"),
            ("a: \"x", "1:6: found unexpected end of stream while scanning a quoted scalar"),
            (
                "a:\n  - b\n c: 1",
                "3:2: did not find expected key while parsing a block mapping that begins at 1:1"
            ),
            ("a: 1\n---\nb: 2\n", "2:1: a second document begins: one file holds one"),
            ("a: *x", "1:4: there is no anchor `&x` before this alias"),
            ("a: &x [1, *x]", "1:11: `*x` stands within its own anchor"),
            (
                "a: @x",
                "1:4: found character that cannot start any token while scanning for the next token"
            ),
        ])
    func refused(text: String, expected: String) {
        let error = #expect(throws: YAMLError.self) { try YAMLDocument(parsing: text) }
        #expect(error.map { "\($0)" } == expected)
    }

    @Test func `bytes that are no UTF-8 are refused`() {
        let error = #expect(throws: YAMLError.self) {
            try YAMLDocument(parsing: Array("a: ".utf8) + [0xFF, 0xFE, 0x0A])
        }
        #expect(error?.reason.contains("UTF-8") == true)
    }

    @Test func `a key that stands twice is told with both places, and reading goes on`() throws {
        let document = try YAMLDocument(parsing: "a: 1\nb: {c: 1, c: 2}\na: 3\n")
        #expect(document.root?["a"]?.text == "1")
        #expect(
            document.problems.map { "\($0)" } == [
                "2:11: the key `c` stands here again; it was first given at 2:5",
                "3:1: the key `a` stands here again; it was first given at 1:1",
            ])
    }

    @Test func `keys that are no text and unknown tags are told`() throws {
        let document = try YAMLDocument(parsing: "[1]: 2\na: !secret x\nb: 1\n")
        #expect(document.root?["b"]?.text == "1")
        #expect(
            document.problems.map { "\($0)" } == [
                "1:1: a key must be a text",
                "2:4: the tag `!secret` means nothing here: remove it",
            ])
    }

    @Test func `aliases of aliases stop at a limit instead of filling the memory`() {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...9 {
            let aliases = repeatElement("*a\(level - 1)", count: 10).joined(separator: ", ")
            text += "a\(level): &a\(level) [\(aliases)]\n"
        }
        let error = #expect(throws: YAMLError.self) { try YAMLDocument(parsing: text) }
        #expect(error?.kind == .tooLarge)
        #expect(error?.position.line == 4 || error?.position.line == 5)
    }

    @Test func `depth and size stop at a limit`() throws {
        let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(try YAMLDocument(parsing: deep).root != nil)
        let deeper = #expect(throws: YAMLError.self) { try YAMLDocument(parsing: "[\(deep)]") }
        #expect(deeper?.kind == .tooLarge)
        let hostile = #expect(throws: YAMLError.self) {
            try YAMLDocument(parsing: String(repeating: "[", count: 200_000))
        }
        #expect(hostile?.kind == .tooLarge)
        let large = [UInt8](repeating: UInt8(ascii: "#"), count: YAMLDocument.sizeLimit + 1)
        #expect(throws: YAMLError.self) { try YAMLDocument(parsing: large) }
    }

    @Test func `every beginning of a document is read or refused, and none traps`() {
        let bytes = Array("a: &x [1, {b: 'c'}]\nd: *x\ne: |\n  text\nf: \"\\u00e9\"\n".utf8)
        for length in bytes.indices {
            for tail in [[], [0x00], [0xFF], [0x09], [0x3A]] as [[UInt8]] {
                _ = try? YAMLDocument(parsing: Array(bytes[..<length]) + tail)
            }
        }
    }
}
