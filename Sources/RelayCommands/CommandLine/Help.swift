extension CommandSpec {
    /// `trax-relay run PIPELINE [--once]`.
    var usageLine: String {
        var words = ["trax-relay"] + path
        words += arguments.map { $0.isRequired ? $0.name : "[\($0.name)]" }
        for option in options {
            let value = option.value.map { " \($0)" } ?? ""
            let form = (option.isRequired ? option.short ?? option.name : option.name) + value
            words.append(option.isRequired ? form : "[\(form)]")
        }
        return words.joined(separator: " ")
    }

    /// What `--help` prints.
    var help: String {
        var text = "\(summary)\n\nUSAGE\n\(Help.usage(usageLine))"
        if !discussion.isEmpty { text += "\n\(discussion)\n" }
        if !arguments.isEmpty {
            text += "\nARGUMENTS\n" + Help.table(arguments.map { ($0.name, $0.help) })
        }
        let rows =
            options.map { option in
                let names = [option.short, option.name].compactMap { $0 }.joined(separator: ", ")
                return (names + (option.value.map { " \($0)" } ?? ""), option.help)
            } + [("-h, --help", "Print this.")]
        text += "\nOPTIONS\n" + Help.table(rows)
        return text
    }
}

/// Layout of help texts.
enum Help {
    /// Two columns; the second is wrapped at 78 columns.
    static func table(_ rows: [(String, String)]) -> String {
        let width = min(28, rows.map(\.0.count).max() ?? 0)
        var text = ""
        for (name, help) in rows {
            let lines = wrap(help, width: 78 - width - 4)
            let padding = String(repeating: " ", count: max(0, width - name.count))
            if name.count > width {
                text += "  \(name)\n"
                text += lines.map { String(repeating: " ", count: width + 4) + $0 + "\n" }.joined()
                continue
            }
            text += "  \(name)\(padding)  \(lines.first ?? "")\n"
            for line in lines.dropFirst() {
                text += String(repeating: " ", count: width + 4) + line + "\n"
            }
        }
        return text
    }

    /// A usage line, broken between options at 78 columns.
    static func usage(_ line: String) -> String {
        // What belongs together is kept together: an option and its value.
        let parts = line.replacing(" [", with: "\n[").replacing(" -", with: "\n-")
            .split(separator: "\n")
        var lines = ["  "]
        for part in parts {
            if lines[lines.count - 1].count + 1 + part.count > 78 { lines.append("     ") }
            let isFirst = lines[lines.count - 1].allSatisfy { $0 == " " } && lines.count == 1
            lines[lines.count - 1] += (isFirst ? "" : " ") + part
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private static func wrap(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return lines + [line]
    }

    /// What `trax-relay --help` prints.
    static func overview(of commands: [CommandSpec]) -> String {
        """
        trax-relay watches the connections of TRaX accounts and publishes what changes.

        USAGE
          trax-relay COMMAND [--help]

        COMMANDS
        \(table(commands.map { ($0.name, $0.summary) }))
        Exit: 0 ok, 1 failure, 64 usage, 69 upstream or broker unavailable,
        78 configuration, 130 or 143 when a second signal ended it.

        """
    }
}
