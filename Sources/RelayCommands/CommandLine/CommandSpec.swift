/// One command: what it is called with, what it says about itself, and what it does.
struct CommandSpec: Sendable {
    /// The words that name it, as `["accounts", "add"]`.
    var path: [String]
    /// One line for the list of commands.
    var summary: String
    /// What else is to be said, wrapped by hand at 78 columns.
    var discussion: String = ""
    /// Words that follow the name, in order.
    var arguments: [ArgumentSpec] = []
    /// Options, in the order in which help lists them.
    var options: [OptionSpec] = []
    /// Does it.
    var run: @Sendable (ParsedArguments, Terminal) throws(CommandError) -> ExitCode

    var name: String { path.joined(separator: " ") }
}

/// A word that follows a command's name.
struct ArgumentSpec: Sendable {
    var name: String
    var help: String
    var isRequired = true
}

/// An option of a command, as `--since T` or `-c PIPELINE`.
struct OptionSpec: Sendable {
    /// With its dashes, as `--since`.
    var name: String
    /// A short form, as `-c`.
    var short: String?
    /// The name of its value; nil for a switch.
    var value: String?
    var help: String
    var isRequired = false
    var repeats = false

    /// The pipeline file, which most commands need.
    static let pipeline = OptionSpec(
        name: "--config", short: "-c", value: "PIPELINE", help: "The pipeline file.",
        isRequired: true)
    /// JSON in place of a table.
    static let json = OptionSpec(name: "--json", help: "Print JSON.")

    init(
        name: String, short: String? = nil, value: String? = nil, help: String,
        isRequired: Bool = false, repeats: Bool = false
    ) {
        self.name = name
        self.short = short
        self.value = value
        self.help = help
        self.isRequired = isRequired
        self.repeats = repeats
    }
}

/// What was given on a command line.
struct ParsedArguments: Sendable {
    fileprivate(set) var arguments: [String: String] = [:]
    fileprivate(set) var values: [String: [String]] = [:]
    fileprivate(set) var switches: Set<String> = []

    /// An argument by its name; nil when an optional one was left out.
    func argument(_ name: String) -> String? { arguments[name] }

    /// An argument that the specification requires, and the parser therefore has seen.
    func required(_ name: String) -> String {
        guard let value = arguments[name] ?? values[name]?.last else {
            preconditionFailure("\(name) is not required by its specification")
        }
        return value
    }

    /// The last value of an option; nil when it was not given.
    func value(_ option: String) -> String? { values[option]?.last }

    /// All values of an option.
    func all(_ option: String) -> [String] { values[option] ?? [] }

    /// Whether a switch was given.
    func has(_ option: String) -> Bool { switches.contains(option) }
}

extension CommandSpec {
    /// Reads what follows the command's name.
    ///
    /// - Throws: a usage error (64) naming what is wrong and the nearest option.
    func parse(_ words: [String]) throws(CommandError) -> ParsedArguments {
        var parsed = ParsedArguments()
        var positional: [String] = []
        var rest = words[...]
        var onlyArguments = false
        while let word = rest.popFirst() {
            guard !onlyArguments, word.hasPrefix("-"), word != "-" else {
                positional.append(word)
                continue
            }
            if word == "--" {
                onlyArguments = true
                continue
            }
            try take(word, &rest, into: &parsed)
        }
        for (index, argument) in arguments.enumerated() {
            if index < positional.count {
                parsed.arguments[argument.name] = positional[index]
            } else if argument.isRequired {
                throw usage("\(argument.name) is missing")
            }
        }
        if positional.count > arguments.count {
            throw usage("unexpected argument '\(positional[arguments.count])'")
        }
        for option in options where option.isRequired && parsed.values[option.name] == nil {
            let short = option.short.map { "\($0) " } ?? "\(option.name) "
            throw usage("\(short)\(option.value ?? "") is missing")
        }
        return parsed
    }

    private func take(
        _ word: String, _ rest: inout ArraySlice<String>, into parsed: inout ParsedArguments
    ) throws(CommandError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = word.hasPrefix("--") ? String(parts[0]) : word
        guard let option = options.first(where: { $0.name == name || $0.short == name }) else {
            let known = options.flatMap { [$0.name] + ($0.short.map { [$0] } ?? []) } + ["--help"]
            throw usage(
                "unknown option '\(name)'"
                    + (Nearest.of(name, among: known).map { "; did you mean '\($0)'?" } ?? ""))
        }
        let attached = word.hasPrefix("--") && parts.count == 2 ? String(parts[1]) : nil
        guard let valueName = option.value else {
            guard attached == nil else { throw usage("\(option.name) takes no value") }
            parsed.switches.insert(option.name)
            return
        }
        guard let value = attached ?? rest.popFirst() else {
            throw usage("\(option.name) needs a value: \(valueName)")
        }
        guard option.repeats || parsed.values[option.name] == nil else {
            throw usage("\(option.name) is given twice")
        }
        parsed.values[option.name, default: []].append(value)
    }

    private func usage(_ message: String) -> CommandError {
        CommandError(
            .usage,
            "\(message)\(message.hasSuffix("?") ? "" : ".")\nUsage: \(usageLine)"
                + "\nSee 'trax-relay \(name) --help'."
        )
    }
}

/// The nearest of some words, for "did you mean".
enum Nearest {
    /// Nil when none is near: more than a third of the letters differ.
    static func of(_ word: String, among words: [String]) -> String? {
        let near = words.map { ($0, distance(word, $0)) }.min { $0.1 < $1.1 }
        guard let (best, distance) = near, distance <= max(1, word.count / 3) else { return nil }
        return best
    }

    /// Levenshtein's distance.
    private static func distance(_ one: String, _ other: String) -> Int {
        let (left, right) = (Array(one.lowercased()), Array(other.lowercased()))
        guard left.count < 64, right.count < 64 else { return .max }
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let cost = min(
                    diagonal + (letter == right[column] ? 0 : 1), row[column] + 1,
                    row[column + 1] + 1)
                diagonal = row[column + 1]
                row[column + 1] = cost
            }
        }
        return row[right.count]
    }
}
