import Foundation
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

    @Test func `all files are told of at once: properties and accounts beside other mistakes`()
        throws
    {
        let door = try Door()
        let kafka = """
            version: 1
            source: { accounts: accounts.csv }
            kafka:
              brokers: "127.0.0.1:9"
              properties: { compression.typo: lz4, sasl.mechanism: NONE }
            sinks:
              - kafka: { topic: events }

            """
        for (text, count) in [(kafka, 2), (kafka + "x: 1\n", 3)] {
            try door.write(text, to: "relay.yaml")
            try door.write("account,credential\na b,k\n", to: "accounts.csv")
            let bad = door.run("events", "@")
            #expect(bad.code == .configuration)
            #expect(bad.err.contains("\(door.file):5:35: compression.typo"))
            #expect(bad.err.contains("\(door.path)/accounts.csv:2"))
            #expect(bad.err.hasPrefix("Error: \(count) problems"))
            try FileManager.default.removeItem(atPath: "\(door.path)/accounts.csv")
            let missing = door.run("events", "@")
            #expect(missing.err.contains("\(door.file):2:21: the accounts file"))
            #expect(missing.err.contains("compression.typo"))
            #expect(missing.err.hasPrefix("Error: \(count) problems"))
        }
    }

    @Test func `a pipeline that is not there is configuration`() throws {
        let door = try Door()
        let ending = Door.run(["check", "\(door.path)/none.yaml"])
        #expect(ending.code == .configuration)
        #expect(ending.err.hasPrefix("Error: \(door.path)/none.yaml: "))
        #expect(ending.err.contains("or try 'trax-relay quickstart'"))
    }

    @Test func `without a journal there is nothing to list, and nothing is made`() throws {
        let door = try Door()
        for words in [
            ["accounts", "list"], ["events"], ["accounts", "show", "a"], ["poll", "a"],
            ["journal", "check"], ["holds", "list"], ["parked", "list"],
        ] {
            let ending = Door.run(words + ["-c", door.file])
            #expect(ending.code == .failure)
            #expect(ending.err.contains("there is no journal at \(door.path)/relay.db: "))
            #expect(ending.err.contains("`accounts add` makes it"))
        }
        #expect(try door.files() == ["relay.yaml"])
    }

    @Test func `what of an accounts file was not taken is one sentence of readiness`() {
        let told = RunningRelay.told(["2 problems in the configuration:", "a:1: x", "a:2: y"])
        #expect(told == "the accounts file was not taken: a:1: x; a:2: y")
        #expect(RunningRelay.told(["a:1: x"]) == "the accounts file was not taken: a:1: x")
        let many = RunningRelay.told((1...6).map { "a:\($0): x" })
        #expect(many.hasSuffix("a:3: x; and 3 more"))
    }

    @Test func `a file that would remove half is told its remedy once`() throws {
        let door = try Door()
        let lines = (1...10).map { "a\($0),sk_\($0)\n" }
        try door.write("account,credential\n" + lines.joined(), to: "accounts.csv")
        #expect(door.run("accounts", "import", "\(door.path)/accounts.csv", "@").code == .ok)
        try door.write("account,credential\n" + lines[0], to: "accounts.csv")
        let ending = door.run("accounts", "import", "\(door.path)/accounts.csv", "@")
        #expect(ending.code == .configuration)
        #expect(ending.err.components(separatedBy: "--force").count == 2)
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
