import Testing

/// The rules of the house, held against the package as it stands.
@Suite struct TidyTests {
    let tree = SourceTree.here
    var sources: [TextFile] { tree.files(below: ["Sources"]) }
    var documents: [TextFile] {
        tree.files(below: ["docs", "deploy"], ending: [".md"])
            + tree.files.filter { ["README.md", "CHANGELOG.md"].contains($0.path) }
    }

    @Test func `every import points down`() {
        expectNone(sources.flatMap(forbiddenImports))
    }

    @Test func `the core has no clock, no task, no randomness of its own`() {
        expectNone(sources.flatMap(impureWords))
    }

    @Test func `no source is too long, too wide or has too long a function`() {
        expectNone(sources.flatMap { oversized($0, fileLimit: 500, functionLimit: 60) })
    }

    @Test func `no test is too long or too wide`() {
        let tests = tree.files(below: ["Tests"], ending: [".swift", ".py"])
        expectNone(tests.flatMap { oversized($0, fileLimit: 700) })
    }

    @Test func `every shared declaration says what it is`() {
        expectNone(sources.flatMap(undocumented))
    }

    @Test func `no error is thrown away`() {
        expectNone(sources.flatMap(swallowedErrors))
    }

    @Test func `every unchecked promise about threads is explained`() {
        expectNone(sources.flatMap(unexplainedUnchecked))
    }

    @Test func `nothing is unfinished and nothing names the machine it was written on`() {
        let written = tree.files.filter { !$0.path.hasPrefix("Tests/TidyTests/") }
        expectNone(written.flatMap(unfinished))
    }

    @Test func `every command that a document shows exists`() {
        let code = tree.files(below: ["Sources/RelayCommands"]).flatMap(\.lines)
        func known(_ word: String) -> Bool { code.contains { $0.contains("\"\(word)\"") } }
        // Before the first command there is nothing to hold the documents to.
        guard known("run") else { return }
        expectNone(documents.flatMap { unknownCommands($0, known: known) })
    }

    @Test func `every link of a document leads to a file`() {
        expectNone(documents.flatMap { brokenLinks($0, exists: tree.exists) })
    }

    @Test func `each known failure has a test that exists, or a reason`() throws {
        let file = try #require(documents.first { $0.path == "docs/TESTING.md" })
        let names = testNames(
            tree.files(below: ["Tests"], ending: [".swift", ".py"])
                + tree.files(below: ["Sources/RelaySimulation"]))
        expectNone(brokenFailureTable(file, count: 54, names: names))
    }

    @Test func `nothing lies about at the top of the package`() {
        #expect(strays(tree.topLevel) == [])
    }

    private func expectNone(
        _ findings: [Finding], sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for finding in findings.prefix(40) {
            Issue.record(Comment(rawValue: finding.description), sourceLocation: sourceLocation)
        }
    }
}
