import Testing
import YAML

@Suite struct YAMLDocumentTests {
    @Test func `a document becomes a tree in which every key and value has its place`() throws {
        let text = """
            # comment
            name: one
            list:
              - a
              - {b: "5", c: 5}
            empty:
            é: 'x'
            """
        let document = try YAMLDocument(parsing: text)
        let root = try #require(document.root)
        #expect(document.problems.isEmpty)
        #expect(root.entries?.map(\.key) == ["name", "list", "empty", "é"])
        #expect(root.entries?.map { "\($0.keyPosition)" } == ["2:1", "3:1", "6:1", "7:1"])
        #expect(root["name"]?.text == "one")
        #expect(root["name"]?.position == YAMLPosition(line: 2, column: 7))
        let inner = try #require(root["list"]?.elements?[1])
        #expect(inner.position == YAMLPosition(line: 5, column: 5))
        #expect(inner["b"]?.content == .scalar("5", isPlain: false))
        #expect(inner["c"]?.content == .scalar("5", isPlain: true))
        #expect(inner["c"]?.position == YAMLPosition(line: 5, column: 17))
        #expect(root["empty"]?.isNull == true)
        #expect(root["é"]?.position == YAMLPosition(line: 7, column: 4))
        #expect(root["none"] == nil)
        #expect(root["name"]?["none"] == nil)
    }

    @Test("A file without a value has no root", arguments: ["", "# only a comment\n", "\n\n"])
    func empty(text: String) throws {
        #expect(try YAMLDocument(parsing: text).root == nil)
    }

    @Test("Nothing written is null, and a quoted null is a text", arguments: ["~", "null", ""])
    func nulls(text: String) throws {
        #expect(try YAMLDocument(parsing: "a: \(text)").root?["a"]?.isNull == true)
        #expect(try YAMLDocument(parsing: "a: '\(text)'").root?["a"]?.isNull == false)
    }

    @Test func `block texts keep their lines`() throws {
        let root = try YAMLDocument(parsing: "a: |\n  x\n  y\nb: >-\n  x\n  y\n").root
        #expect(root?["a"]?.content == .scalar("x\ny\n", isPlain: false))
        #expect(root?["b"]?.text == "x y")
    }

    @Test func `an alias stands for the node of its anchor, with the anchor's place`() throws {
        let root = try YAMLDocument(parsing: "a: &x [1, 2]\nb: *x\nc: &x 3\nd: *x\n").root
        #expect(root?["b"] == root?["a"])
        #expect(root?["b"]?.position == YAMLPosition(line: 1, column: 4))
        #expect(root?["d"]?.text == "3")
    }

    @Test func `a tag of the standard types is taken, and text stays text`() throws {
        let document = try YAMLDocument(parsing: "a: !!str 5\nb: !!int 5\nc: ! 5\n")
        #expect(document.problems.isEmpty)
        #expect(document.root?["a"]?.content == .scalar("5", isPlain: false))
        #expect(document.root?["b"]?.content == .scalar("5", isPlain: true))
        #expect(document.root?["c"]?.content == .scalar("5", isPlain: false))
    }

    @Test func `windows line ends and a byte order mark change nothing`() throws {
        let root = try YAMLDocument(parsing: "\u{FEFF}a: 1\r\nb: 2\r\n").root
        #expect(root?["a"]?.text == "1")
        #expect(root?["b"]?.position == YAMLPosition(line: 2, column: 4))
    }
}
