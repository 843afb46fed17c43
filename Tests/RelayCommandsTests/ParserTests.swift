import Testing

@testable import RelayCommands

@Suite struct ParserTests {
    private let spec = CommandSpec(
        path: ["thing", "do"], summary: "Do a thing.",
        arguments: [
            ArgumentSpec(name: "WHAT", help: "What."),
            ArgumentSpec(name: "WHERE", help: "Where.", isRequired: false),
        ],
        options: [
            .pipeline, .json,
            OptionSpec(name: "--type", short: "-t", value: "TYPE", help: "Types.", repeats: true),
            OptionSpec(name: "--since", value: "TIME", help: "Since."),
        ], run: { (_, _) throws(CommandError) in .ok })

    private func refusal(_ words: String...) -> String? {
        do throws(CommandError) {
            _ = try spec.parse(words)
            return nil
        } catch {
            #expect(error.code == .usage)
            #expect(error.message.contains("Usage: trax-relay thing do WHAT [WHERE] -c PIPELINE"))
            #expect(error.message.hasSuffix("See 'trax-relay thing do --help'."))
            return error.message.split(separator: "\n").first.map(String.init)
        }
    }

    @Test func `arguments and options may stand in any order`() throws {
        let parsed = try spec.parse([
            "-t", "a", "x", "--config=p.yaml", "--type=b", "y", "--json", "-t", "c=d",
        ])
        #expect(parsed.required("WHAT") == "x")
        #expect(parsed.argument("WHERE") == "y")
        #expect(parsed.required("--config") == "p.yaml")
        #expect(parsed.all("--type") == ["a", "b", "c=d"])
        #expect(parsed.has("--json"))
        #expect(parsed.value("--since") == nil)
        #expect(parsed.all("--since").isEmpty)
        #expect(!parsed.has("--since"))
    }

    @Test func `after two dashes everything is an argument, and one dash is one`() throws {
        let parsed = try spec.parse(["-c", "p", "--", "--json", "-t"])
        #expect(parsed.required("WHAT") == "--json")
        #expect(parsed.argument("WHERE") == "-t")
        #expect(!parsed.has("--json"))
        #expect(try spec.parse(["-c", "p", "-"]).required("WHAT") == "-")
    }

    @Test func `a value may be empty, hold an equals sign or begin with a dash`() throws {
        let parsed = try spec.parse(["x", "-c", "p", "--since=", "-t", "-5"])
        #expect(parsed.value("--since")?.isEmpty == true)
        #expect(parsed.all("--type") == ["-5"])
    }

    @Test func `each mistake is named`() {
        #expect(refusal("-c", "p") == "WHAT is missing.")
        #expect(refusal("x") == "-c PIPELINE is missing.")
        #expect(refusal("x", "y", "z", "-c", "p") == "unexpected argument 'z'.")
        #expect(refusal("x", "-c") == "--config needs a value: PIPELINE.")
        #expect(refusal("x", "-c", "p", "--since") == "--since needs a value: TIME.")
        #expect(refusal("x", "-c", "p", "--config", "q") == "--config is given twice.")
        #expect(refusal("x", "-c", "p", "--json=yes") == "--json takes no value.")
        #expect(refusal("x", "-c", "p", "-q") == "unknown option '-q'; did you mean '-c'?")
        #expect(
            refusal("x", "-c", "p", "--jsno") == "unknown option '--jsno'; did you mean '--json'?")
        #expect(
            refusal("x", "-c", "p", "--sinc=5")
                == "unknown option '--sinc'; did you mean '--since'?")
        #expect(refusal("x", "-c", "p", "--frobnicate") == "unknown option '--frobnicate'.")
    }

    @Test func `the nearest word is near, or there is none`() {
        #expect(Nearest.of("lst", among: ["list", "show"]) == "list")
        #expect(Nearest.of("LIST", among: ["list", "show"]) == "list")
        #expect(Nearest.of("qqqq", among: ["list", "show"]) == nil)
        #expect(Nearest.of("", among: []) == nil)
        #expect(Nearest.of(String(repeating: "x", count: 100), among: ["list"]) == nil)
    }
}
