/// Judges the text of a single value by the kind of its option.
enum OptionValues {
    /// Why a text is refused, as in `must be …`, and the text where it may be quoted.
    struct Refusal: Error {
        let reason: String
        /// Nil where the text might be a secret in the wrong place.
        let quotation: String?
    }

    static func judge(_ text: String, _ kind: Option.Kind) -> Result<Setting, Refusal> {
        switch kind {
        case .integer(let range, let other):
            guard let value = Int(text), range.contains(value) || value == other else { break }
            return .success(.integer(value))
        case .fraction(let range):
            guard let value = FractionText.parse(text), range.contains(value) else { break }
            return .success(.fraction(value))
        case .durationOrNever(let range):
            guard text != "never" else { return .success(.off) }
            return judge(text, .duration(range)).mapError { refusal in
                Refusal(reason: "must be \(demand(kind))", quotation: refusal.quotation)
            }
        case .duration(let range):
            guard let value = DurationText.parse(text), range.contains(value) else { break }
            return .success(.duration(value))
        case .rate(let range):
            guard let value = Rate(text), range.contains(value) else { break }
            return .success(.rate(value))
        case .size(let range):
            guard let value = SizeText.parse(text), range.contains(value) else { break }
            return .success(.size(value))
        case .choice(let words):
            guard !words.contains(text) else { return .success(.text(text)) }
            let near = NearestName.of(text, in: words).map { ": did you mean `\($0)`?" } ?? ""
            return .failure(
                Refusal(reason: "must be \(demand(kind))\(near)", quotation: quotation(text)))
        case .text(let rule):
            guard let objection = rule.objection(text) else { return .success(.text(text)) }
            return .failure(Refusal(reason: objection, quotation: nil))
        case .secret, .texts, .section, .sectionOrFalse, .properties, .variants:
            break
        }
        return .failure(Refusal(reason: "must be \(demand(kind))", quotation: quotation(text)))
    }

    /// Numbers and words as short as ours are quoted; anything longer may be a secret gone astray.
    static func quotation(_ text: String) -> String? {
        let isShort = (1...24).contains(text.utf8.count)
        return isShort && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != 0x60 }
            ? text : nil
    }

    /// What an option asks for, as in `must be …`.
    static func demand(_ kind: Option.Kind) -> String {
        switch kind {
        case .integer(let range, let other):
            if range.count == 1 { return "\(range.lowerBound)" }
            return "a whole number from \(range.lowerBound) to \(range.upperBound)"
                + (other.map { ", or \($0)" } ?? "")
        case .fraction(let range):
            return "a number from \(FractionText.format(range.lowerBound)) to "
                + FractionText.format(range.upperBound)
        case .durationOrNever(let range):
            return demand(.duration(range)) + ", or `never`"
        case .duration(let range):
            return "a duration such as `500ms`, `2s`, `5m`, `1h` or `2d`, from "
                + "\(DurationText.format(range.lowerBound)) to "
                + "\(DurationText.format(range.upperBound))"
        case .rate(let range):
            return "a rate such as `200/s` or `60/m`, from \(range.lowerBound) to "
                + "\(range.upperBound)"
        case .size(let range):
            return "a size such as `64KiB` or `4MiB`, from \(SizeText.format(range.lowerBound)) to "
                + "\(SizeText.format(range.upperBound))"
        case .choice(let words):
            return words.map { "`\($0)`" }.joined(separator: " or ")
        case .text(let rule):
            return rule.demand
        case .secret:
            return "`env:NAME` or `file:PATH`"
        case .texts(let rule, _):
            return "a list, each \(rule.demand)"
        case .section, .properties:
            return "a mapping"
        case .sectionOrFalse:
            return "a mapping or `false`"
        case .variants:
            return "a list"
        }
    }
}
