import Testing

/// Each rule, proved once on a snippet that breaks it and once on one that does not.
@Suite struct RuleTests {
    private func file(_ path: String, _ text: String) -> TextFile {
        TextFile(path: path, text: text)
    }

    @Test(arguments: [
        "import Foundation", "internal import Glibc", "@testable import RelayRuntime",
        "public import struct Foundation.URL", "import Kafka",
    ])
    func `a forbidden import is found`(line: String) {
        let found = forbiddenImports(file("Sources/RelayCore/A.swift", "// why\n\(line)\n"))
        #expect(found.map(\.line) == [2])
    }

    @Test(arguments: [
        "public import ConnectionEvents", "// import Foundation", "let important = 1",
    ])
    func `an allowed import and the mere word pass`(line: String) {
        #expect(forbiddenImports(file("Sources/RelayCore/A.swift", line)).isEmpty)
    }

    @Test func `a wrapper does not import another wrapper, and an unknown target is found`() {
        #expect(!forbiddenImports(file("Sources/Kafka/A.swift", "import SQLite")).isEmpty)
        #expect(!forbiddenImports(file("Sources/Elsewhere/A.swift", "")).isEmpty)
    }

    @Test(arguments: [
        "func f() async {}", "await g()", "Task { }", "let now = ContinuousClock().now",
        "var g = SystemRandomNumberGenerator()",
    ])
    func `the core is held to purity`(line: String) {
        #expect(!impureWords(file("Sources/RelayCore/A.swift", line)).isEmpty)
        #expect(impureWords(file("Sources/RelayRuntime/A.swift", line)).isEmpty)
    }

    @Test(arguments: ["let a = row.async", "// await the end", "let s = \"Task\""])
    func `members, comments and strings are not impure`(line: String) {
        #expect(impureWords(file("Sources/RelayCore/A.swift", line)).isEmpty)
    }

    @Test func `long files, wide lines and long functions are found`() {
        let long = String(repeating: "let a = 1\n", count: 501)
        #expect(oversized(file("Sources/JSON/A.swift", long), fileLimit: 500).count == 1)
        #expect(oversized(file("Sources/JSON/A.swift", long), fileLimit: 501).isEmpty)
        let wide = String(repeating: "x", count: 101)
        #expect(oversized(file("Sources/JSON/A.swift", wide), fileLimit: 500).count == 1)
        let body = String(repeating: "        g()\n", count: 59)
        let function = "struct S {\n    func f() {\n\(body)    }\n}\n"
        let found = oversized(
            file("Sources/JSON/A.swift", function), fileLimit: 500, functionLimit: 60)
        #expect(found.map(\.line) == [2])
        #expect(
            oversized(file("Sources/JSON/A.swift", function), fileLimit: 500, functionLimit: 61)
                .isEmpty)
        let short = "struct S {\n    init(a: Int) { b = a }\n\(body)    }\n}\n"
        #expect(
            oversized(file("Sources/JSON/A.swift", short), fileLimit: 500, functionLimit: 60)
                .isEmpty)
    }

    @Test(arguments: [
        "public struct S {", "package func f() {", "    public static let a = 1",
        "@safe public final class C {", "    public internal(set) var b: Int",
        "// a plain comment\npublic enum E {", "    public init(a: Int) {",
    ])
    func `an undocumented declaration is found`(text: String) {
        #expect(undocumented(file("Sources/JSON/A.swift", text)).count == 1)
    }

    @Test(arguments: [
        "/// A thing.\npublic struct S {", "/// A thing.\n@safe\npublic final class C {",
        "public import Glibc", "let package = 1", "struct S { }",
        "/** A thing. */\npublic var a: Int",
    ])
    func `a documented or private declaration passes`(text: String) {
        #expect(undocumented(file("Sources/JSON/A.swift", text)).isEmpty)
    }

    @Test(arguments: [
        "let a = try? f()", "do { try f() } catch {}", "} catch let error as E { }",
        "} catch {\n}",
    ])
    func `a swallowed error is found`(text: String) {
        let found = swallowedErrors(file("Sources/JSON/A.swift", text))
        #expect(found.count == 1)
    }

    @Test(arguments: [
        "// try? is not for us", "var first: Entry?",
        "} catch {\n    log(error)\n}", "let catches = 1",
        "} catch {\n    // A closed file has nothing left to tell.\n}",
    ])
    func `a handled error passes`(text: String) {
        #expect(swallowedErrors(file("Sources/JSON/A.swift", text)).isEmpty)
    }

    @Test func `an unexplained promise about threads is found`() {
        let bare = "final class C: @unchecked Sendable {\n    var a = 1\n}\n"
        #expect(unexplainedUnchecked(file("Sources/JSON/A.swift", bare)).map(\.line) == [1])
        let told = "// @unchecked: librdkafka handles may be used from any thread.\n\(bare)"
        #expect(unexplainedUnchecked(file("Sources/JSON/A.swift", told)).isEmpty)
    }

    @Test func `unfinished work and paths of a machine are found`() {
        let text = "// TO" + "DO later\nlet path = \"/" + "work/main\"\nlet fine = \"/var/lib\"\n"
        #expect(unfinished(file("Sources/JSON/A.swift", text)).map(\.line) == [1, 2])
    }

    @Test func `a command in a code block that does not exist is found`() {
        let text = """
            trax-relay nonsense is only prose
            ```sh
            trax-relay run Pipelines/connections.yaml
            .build/release/trax-relay dance
            trax-relay --help
            ```
            """
        let found = unknownCommands(file("README.md", text)) { $0 == "run" }
        #expect(found.map(\.line) == [4])
    }

    @Test func `a link to a missing file is found`() {
        let text = """
            [a](../README.md) [b](EVENTS.md#types) [c](https://example.com/x) [d](#here)
            [e](GONE.md)
            ```
            [f](NOT-A-LINK.md)
            ```
            """
        let there: Set = ["README.md", "docs/EVENTS.md"]
        let found = brokenLinks(file("docs/A.md", text)) { there.contains($0) }
        #expect(found.map(\.line) == [2])
    }

    @Test func `a hole in the table of known failures is found`() {
        let text = """
            | F1 | told twice | "a test that is there" |
            | F1 | told twice | "a test that is there"; `test_there`; Simulation: `sealed` |
            | F2 | of no test | "a test that is gone"; `test_gone`; Simulation: `gone`, `sealed` |
            | F3 | of nothing | see elsewhere |
            | F4 | of a reason | cannot arise: there is none of it |
            """
        let names: Set = ["a test that is there", "test_there", "rule sealed"]
        let found = brokenFailureTable(file("docs/TESTING.md", text), count: 5, names: names)
        #expect(found.map(\.line) == [2, 3, 3, 3, 4, 1])
    }

    @Test func `a stray at the top of the package is found`() {
        #expect(strays(["Sources", "README.md", ".build", "notes.txt"]) == ["notes.txt"])
    }
}
