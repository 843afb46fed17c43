import Foundation
import Testing

@testable import RelayCommands

/// Every help text, as it is stored beside these tests.
@Suite struct HelpTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Help")

    /// File name and command line of each text.
    private static var texts: [(name: String, words: [String])] {
        let groups = Set(RelayCommandLine.commands.filter { $0.path.count > 1 }.map { $0.path[0] })
        return [("trax-relay", ["--help"])]
            + groups.sorted().map { ($0, [$0, "--help"]) }
            + RelayCommandLine.commands.map {
                ($0.path.joined(separator: "-"), $0.path + ["--help"])
            }
    }

    @Test func `every help text is as stored`() throws {
        let renews = ProcessInfo.processInfo.environment["RENEW_SNAPSHOTS"] != nil
        for (name, words) in Self.texts {
            let ending = Door.run(words)
            #expect(ending.code == .ok)
            #expect(ending.err.isEmpty)
            let file = Self.folder.appendingPathComponent("\(name).txt")
            if renews { try Data(ending.out.utf8).write(to: file) }
            let stored = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
            #expect(
                ending.out == stored,
                """
                The help of '\(words.dropLast().joined(separator: " "))' is no longer what \
                \(file.lastPathComponent) says. If it is meant, renew the texts and look at the \
                difference: RENEW_SNAPSHOTS=1 swift test --filter HelpTests; git diff
                """)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(
            Set(names) == Set(Self.texts.map { "\($0.name).txt" }),
            "A text of a command that is gone, or none of one that is new.")
    }

    @Test func `help fits a terminal of 80 columns`() {
        for (_, words) in Self.texts {
            for line in Door.run(words).out.split(separator: "\n") {
                #expect(line.count <= 80, "\(words): \(line)")
            }
        }
    }

    @Test func `help is had in every way that people try`() {
        let stored = Door.run(["accounts", "add", "--help"]).out
        #expect(!stored.isEmpty)
        for words in [
            ["accounts", "add", "-h"], ["help", "accounts", "add"],
            ["accounts", "add", "x", "--paused", "--help"], ["accounts", "add", "--wrong", "-h"],
        ] {
            let ending = Door.run(words)
            #expect(ending.out == stored)
            #expect(ending.code == .ok)
        }
        let group = Door.run(["accounts", "--help"]).out
        #expect(Door.run(["accounts", "-h"]).out == group)
        #expect(Door.run(["help", "accounts"]).out == group)
        #expect(Door.run(["help", "accounts"]).code == .ok)
        let all = Door.run(["--help"]).out
        for words in [["-h"], ["help"], ["--help", "run"]] {
            #expect(Door.run(words).out == all)
            #expect(Door.run(words).code == .ok)
        }
    }

    @Test func `without a command it is usage, and the list of them`() {
        let ending = Door.run([])
        #expect(ending.code == .usage)
        #expect(ending.out + ending.err == Door.run(["--help"]).out)
    }

    @Test func `the version is a line`() {
        #expect(Door.run(["--version"]).out == "trax-relay \(RelayVersion.text)\n")
    }

    @Test func `an unknown command is usage, with the nearest one`() {
        for (words, expected) in [
            (["rum"], "Error: unknown command 'rum'; did you mean 'run'?"),
            (["frobnicate"], "Error: unknown command 'frobnicate'"),
            (
                ["accounts", "ad"],
                "Error: unknown command 'accounts ad'; did you mean 'accounts add'?"
            ),
            (["help", "rum"], "Error: unknown command 'rum'; did you mean 'run'?"),
            (["schema"], "Error: 'schema' needs one of: event, pipeline"),
        ] {
            let ending = Door.run(words)
            #expect(ending.code == .usage)
            #expect(ending.out.isEmpty)
            #expect(ending.err.split(separator: "\n").first.map(String.init) == expected)
            #expect(ending.err.contains("--help'"))
        }
    }
}
