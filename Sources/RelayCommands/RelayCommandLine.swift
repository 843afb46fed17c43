internal import Glibc

/// The door: reads the command line, runs one command, says what went wrong.
public enum RelayCommandLine {
    /// Runs the process's command line and ends the process with its exit code.
    public static func main() -> Never {
        signal(SIGPIPE, SIG_IGN)
        let code = run(Array(CommandLine.arguments.dropFirst()), terminal: .standard)
        ProcessEnd.now(code.rawValue)
    }

    /// Runs one command line.
    static func run(_ words: [String], terminal: Terminal) -> ExitCode {
        guard let first = words.first else {
            terminal.out(Help.overview(of: commands))
            return .usage
        }
        if first == "--help" || first == "-h" || words == ["help"] {
            terminal.out(Help.overview(of: commands))
            return .ok
        }
        if first == "--version" {
            terminal.print("trax-relay \(RelayVersion.text)")
            return .ok
        }
        let named = first == "help" ? Array(words.dropFirst()) : words
        guard let command = find(named) else {
            return unknown(first == "help" ? named + ["--help"] : named, terminal)
        }
        let rest = Array(named.dropFirst(command.path.count))
        if first == "help" || isHelp(rest) {
            terminal.out(command.help)
            return .ok
        }
        do throws(CommandError) {
            return try command.run(try command.parse(rest), terminal)
        } catch {
            terminal.err("Error: \(error.message)\n")
            return error.code
        }
    }

    /// Whether help is asked for before `--` ends the options.
    private static func isHelp(_ words: [String]) -> Bool {
        words.prefix { $0 != "--" }.contains { $0 == "--help" || $0 == "-h" }
    }

    private static func find(_ words: [String]) -> CommandSpec? {
        commands.filter { words.starts(with: $0.path) }.max { $0.path.count < $1.path.count }
    }

    private static func unknown(_ words: [String], _ terminal: Terminal) -> ExitCode {
        let group = commands.filter { $0.path.count > 1 && $0.path.first == words.first }
        if !group.isEmpty {
            let isHelp = words.dropFirst().allSatisfy { $0 == "--help" || $0 == "-h" }
            if isHelp, words.count > 1 {
                terminal.out(Help.group(words[0], of: group))
                return .ok
            }
            let known = group.map { $0.path[1] }
            let given = words.count > 1 ? "unknown command '\(words[0]) \(words[1])'" : nil
            let near = words.count > 1 ? Nearest.of(words[1], among: known) : nil
            terminal.err(
                "Error: \(given ?? "'\(words[0])' needs one of: \(known.joined(separator: ", "))")"
                    + (near.map { "; did you mean '\(words[0]) \($0)'?" } ?? "")
                    + "\nSee 'trax-relay \(words[0]) --help'.\n")
            return .usage
        }
        let near = Nearest.of(words[0], among: Set(commands.map { $0.path[0] }).sorted())
        terminal.err(
            "Error: unknown command '\(words[0])'"
                + (near.map { "; did you mean '\($0)'?" } ?? "")
                + "\nSee 'trax-relay --help'.\n")
        return .usage
    }
}

extension Help {
    /// What `trax-relay accounts --help` prints.
    static func group(_ name: String, of commands: [CommandSpec]) -> String {
        """
        USAGE
          trax-relay \(name) COMMAND [--help]

        COMMANDS
        \(table(commands.map { ($0.name, $0.summary) }))
        """
    }
}

/// The product's version.
public enum RelayVersion {
    /// As in `User-Agent: trax-relay/0.1.0`.
    public static let text = "0.1.0"
}
