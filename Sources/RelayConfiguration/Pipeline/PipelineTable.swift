extension Pipeline {
    /// The configuration table of the documentation as Markdown, made from the option table.
    public static var markdownTable: String {
        var lines = ["| key | default | values | meaning |", "|---|---|---|---|"]
        append(OptionTable.pipeline, path: "", to: &lines)
        return lines.joined(separator: "\n") + "\n"
    }

    private static func append(_ options: [Option], path: String, to lines: inout [String]) {
        for option in options {
            let name = path.isEmpty ? option.key : "\(path).\(option.key)"
            let cells = ["`\(name)`", standard(option), values(option.kind), option.meaning]
            lines.append(
                "| " + cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |")
            if let inner = option.kind.options { append(inner, path: name, to: &lines) }
            if case .variants(let inner) = option.kind {
                append(inner, path: name + "[]", to: &lines)
            }
        }
    }

    private static func standard(_ option: Option) -> String {
        switch option.standard {
        case .required: "required"
        case .nothing, .section: ""
        case .text(let text): "`\(text)`"
        case .texts(let texts): "`[\(texts.joined(separator: ", "))]`"
        }
    }

    private static func values(_ kind: Option.Kind) -> String {
        switch kind {
        case .integer(let range, let other):
            (range.count == 1
                ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)")
                + (other.map { ", or \($0)" } ?? "")
        case .duration(let range):
            "\(DurationText.format(range.lowerBound)) to \(DurationText.format(range.upperBound))"
        case .durationOrNever(let range): values(.duration(range)) + ", or `never`"
        case .fraction(let range):
            "\(FractionText.format(range.lowerBound)) to \(FractionText.format(range.upperBound))"
        case .rate(let range): "\(range.lowerBound) to \(range.upperBound)"
        case .size(let range):
            "\(SizeText.format(range.lowerBound)) to \(SizeText.format(range.upperBound))"
        case .text(let rule): rule.demand
        case .texts(let rule, _): "list, each \(rule.demand)"
        case .section: ""
        case .sectionOrFalse: "keys below, or `false`"
        case .choice, .secret, .properties, .variants: OptionValues.demand(kind)
        }
    }
}
