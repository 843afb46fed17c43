import Testing

@testable import RelayCommands

/// A wrong pipeline is told all its faults, whatever command meets it.
@Suite struct ConfigurationErrorTests {
    @Test func `every command says what is wrong with the pipeline, and where`() throws {
        let door = try Door()
        try door.write(
            """
            version: 1
            soruce: {}
            source: { budget: fast }
            sinks:
              - log: { colour: red }
            """, to: "relay.yaml")
        for words in [
            ["check", "--offline", door.file], ["events", "-c", door.file],
            ["accounts", "list", "-c", door.file], ["poll", "a", "-c", door.file],
            ["connections", "list", "-a", "a", "-c", door.file],
        ] {
            let ending = Door.run(words)
            #expect(ending.code == .configuration)
            #expect(ending.out.isEmpty)
            let lines = ending.err.split(separator: "\n")
            #expect(lines.first == "Error: 3 problems in the configuration:")
            #expect(
                lines.dropFirst().map { $0.prefix { $0 != "`" } }.allSatisfy {
                    $0.hasPrefix("  \(door.file):")
                })
            #expect(ending.err.contains("\(door.file):2:1: "))
            #expect(ending.err.contains("source"))
        }
        #expect(try door.files() == ["relay.yaml"])
    }

    @Test func `a pipeline that is not there is configuration`() throws {
        let door = try Door()
        let ending = Door.run(["check", "\(door.path)/none.yaml"])
        #expect(ending.code == .configuration)
        #expect(ending.err.hasPrefix("Error: \(door.path)/none.yaml: "))
    }

    @Test func `without a journal there is nothing to list, and nothing is made`() throws {
        let door = try Door()
        for words in [
            ["accounts", "list"], ["events"], ["accounts", "show", "a"], ["poll", "a"],
        ] {
            let ending = Door.run(words + ["-c", door.file])
            #expect(ending.code == .failure)
            #expect(ending.err.contains("there is no journal at \(door.path)/relay.db: "))
        }
        #expect(try door.files() == ["relay.yaml"])
    }

    @Test func `a key file that does not fit is configuration, and stays`() throws {
        let door = try Door()
        #expect(door.run("accounts", "add", "a", "@", secret: "sk_1").code == .ok)
        let other = try Door()
        #expect(other.run("accounts", "add", "a", "@", secret: "sk_1").code == .ok)
        try door.take("relay.key", of: other)
        let ending = door.run("accounts", "list", "@")
        #expect(ending.code == .configuration)
        #expect(ending.err.contains("relay.key"))
    }
}
