internal import YAML

/// Reads a YAML tree by the option table and collects everything that is wrong.
struct OptionReader {
    let file: String
    let environment: EnvironmentVariables
    private(set) var problems: [ConfigurationProblem] = []

    init(file: String, environment: EnvironmentVariables) {
        self.file = file
        self.environment = environment
    }

    mutating func refuse(_ position: YAMLPosition, _ message: String) {
        problems.append(place(position).problem(message))
    }

    func place(_ position: YAMLPosition) -> Place {
        Place(file: file, line: position.line, column: position.column)
    }

    /// Reads a section; `path` names it in messages and is empty for the file itself.
    mutating func section(_ node: YAMLNode, _ options: [Option], path: String) -> Settings {
        var settings = Settings(at: node.position)
        guard let entries = node.entries ?? (node.isNull ? [] : nil) else {
            refuse(
                node.position,
                "\(path.isEmpty ? "the file" : "`\(path)`") must be a mapping with the keys "
                    + list(options.map(\.key)))
            return settings
        }
        for entry in entries where !options.contains(where: { $0.key == entry.key }) {
            refuse(entry.keyPosition, unknownKey(entry.key, options, path: path))
        }
        for option in options {
            let name = path.isEmpty ? option.key : "\(path).\(option.key)"
            if let entry = entries.first(where: { $0.key == option.key }) {
                let value = value(entry.value, option, path: name)
                settings.set(option.key, value, at: entry.value.position)
            } else {
                let value = standard(option, path: name, around: node.position)
                settings.set(option.key, value, at: nil)
            }
        }
        return settings
    }

    private func unknownKey(_ key: String, _ options: [Option], path: String) -> String {
        let scope = path.isEmpty ? "" : " in `\(path)`"
        let start = "unknown key `\(key.prefix(64))`\(scope): "
        if NearestName.of(key, in: options.map(\.key)) == nil {
            let elsewhere = OptionTable.paths(ofKey: key)
            if !elsewhere.isEmpty {
                return start + "it belongs to " + elsewhere.joined(separator: " or ")
            }
        }
        return start + NearestName.hint(key, in: options.map(\.key), noun: "the keys here")
    }

    private mutating func standard(
        _ option: Option, path: String, around position: YAMLPosition
    ) -> Setting? {
        switch option.standard {
        case .nothing: return nil
        case .required:
            refuse(position, "`\(path)` is missing: it must be \(OptionValues.demand(option.kind))")
            return nil
        case .text(let text):
            guard case .success(let setting) = OptionValues.judge(text, option.kind) else {
                preconditionFailure("the default of \(path) breaks its own rule")
            }
            return setting
        case .texts(let texts):
            return .texts(texts.map { PlacedText(text: $0, position: position) })
        case .section:
            guard let options = option.kind.options else {
                preconditionFailure("\(path) is no section")
            }
            let empty = YAMLNode(emptyMappingAt: position)
            return .section(section(empty, options, path: path))
        }
    }

    private mutating func value(_ node: YAMLNode, _ option: Option, path: String) -> Setting? {
        switch option.kind {
        case .section(let options):
            return .section(section(node, options, path: path))
        case .sectionOrFalse(let options):
            if let text = scalar(node), text == "false" { return .off }
            guard node.entries != nil else {
                refuse(
                    node.position,
                    "`\(path)` must be `false` or a mapping with the keys "
                        + list(options.map(\.key)))
                return nil
            }
            return .section(section(node, options, path: path))
        case .texts(let rule, let mayBeEmpty):
            return texts(node, rule, mayBeEmpty: mayBeEmpty, path: path)
        case .variants(let options):
            return variants(node, options, path: path)
        case .properties:
            return properties(node, path: path)
        case .secret:
            guard let expanded = expanded(node, path: path) else { return nil }
            return secret(expanded, at: node.position, path: path)
        case .integer, .fraction, .duration, .durationOrNever, .rate, .size, .choice, .text:
            guard let expanded = expanded(node, path: path) else { return nil }
            switch OptionValues.judge(expanded.text, option.kind) {
            case .success(let setting): return setting
            case .failure(let refusal):
                let quoted = expanded.isFromEnvironment ? nil : refusal.quotation
                refuse(
                    node.position,
                    "`\(path)` " + (quoted.map { "is `\($0)`, it " } ?? "") + refusal.reason)
                return nil
            }
        }
    }

    /// The text of a scalar before its `${…}` are replaced.
    private func scalar(_ node: YAMLNode) -> String? { node.isNull ? nil : node.text }

    /// The text of a scalar with its `${…}` replaced; nil, and told, where there is none.
    mutating func expanded(_ node: YAMLNode, path: String) -> ExpandedText? {
        guard !node.isNull else {
            refuse(node.position, "`\(path)` has no value: write one, or remove the key")
            return nil
        }
        guard let text = node.text else {
            refuse(node.position, "`\(path)` must be a single value, not a list or mapping")
            return nil
        }
        let expanded = ExpandedText(text, environment: environment)
        for problem in expanded.problems { refuse(node.position, "`\(path)`: \(problem)") }
        return expanded.problems.isEmpty ? expanded : nil
    }

    private mutating func secret(
        _ expanded: ExpandedText, at position: YAMLPosition, path: String
    ) -> Setting? {
        guard let found = SecretReference(expanded.text, besides: file, place: place(position))
        else {
            refuse(
                position,
                "`\(path)` must be `env:NAME` or `file:PATH`: a secret is never written in this "
                    + "file"
            )
            return nil
        }
        return .secret(found)
    }

    private mutating func texts(
        _ node: YAMLNode, _ rule: TextRule, mayBeEmpty: Bool, path: String
    ) -> Setting? {
        guard let elements = node.elements else {
            refuse(node.position, "`\(path)` must be a list, such as `[a, b]`")
            return nil
        }
        if elements.isEmpty && !mayBeEmpty {
            refuse(node.position, "`\(path)` is empty and lets nothing through: remove the key")
            return nil
        }
        var result: [PlacedText] = []
        for (index, element) in elements.enumerated() {
            let name = "\(path)[\(index)]"
            guard let expanded = expanded(element, path: name) else { continue }
            if let objection = rule.objection(expanded.text) {
                let quoted =
                    expanded.isFromEnvironment ? nil : OptionValues.quotation(expanded.text)
                refuse(
                    element.position,
                    "`\(name)` " + (quoted.map { "is `\($0)`: it " } ?? "") + objection)
            } else {
                result.append(PlacedText(text: expanded.text, position: element.position))
            }
        }
        return result.count == elements.count ? .texts(result) : nil
    }

    private mutating func variants(
        _ node: YAMLNode, _ options: [Option], path: String
    ) -> Setting? {
        guard let elements = node.elements ?? (node.isNull ? [] : nil) else {
            refuse(
                node.position, "`\(path)` must be a list of entries, such as `- log: {}`")
            return nil
        }
        var result: [Setting.Variant] = []
        for (index, element) in elements.enumerated() {
            let name = "\(path)[\(index)]"
            guard let entries = element.entries, entries.count == 1, let entry = entries.first
            else {
                refuse(
                    element.position,
                    "`\(name)` must be a mapping with one key: "
                        + list(options.map(\.key), or: true))
                continue
            }
            guard let option = options.first(where: { $0.key == entry.key }),
                let inner = option.kind.options
            else {
                refuse(entry.keyPosition, unknownKey(entry.key, options, path: name))
                continue
            }
            let settings = section(entry.value, inner, path: "\(name).\(entry.key)")
            result.append(
                Setting.Variant(key: entry.key, settings: settings, position: entry.keyPosition))
        }
        return .variants(result)
    }

    private func list(_ names: [String], or: Bool = false) -> String {
        let quoted = names.map { "`\($0)`" }
        guard let last = quoted.last, quoted.count > 1 else { return quoted.first ?? "" }
        return quoted.dropLast().joined(separator: ", ") + (or ? " or " : " and ") + last
    }
}

extension Option.Kind {
    /// The keys of a section.
    var options: [Option]? {
        switch self {
        case .section(let options), .sectionOrFalse(let options): options
        case .integer, .fraction, .duration, .durationOrNever, .rate, .size, .choice, .text,
            .secret, .texts, .properties, .variants:
            nil
        }
    }
}

extension OptionTable {
    /// The sections that have a key of this name, in words.
    static func paths(ofKey key: String) -> [String] {
        func search(_ options: [Option], _ path: String, _ words: String) -> [String] {
            var found = options.contains { $0.key == key } ? [words] : []
            for option in options {
                let name = path.isEmpty ? option.key : "\(path).\(option.key)"
                if let inner = option.kind.options { found += search(inner, name, "`\(name)`") }
                if case .variants(let inner) = option.kind {
                    found += search(inner, name + "[]", "an entry of `\(name)`")
                }
            }
            return found
        }
        return Array(search(pipeline, "", "the top level of the file").prefix(3))
    }
}
