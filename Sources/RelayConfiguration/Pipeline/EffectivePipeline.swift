public import Crypto
internal import YAML

extension Pipeline {
    /// Every key of a pipeline file with the value that counts, one a line, for a bug report.
    ///
    /// Defaults are marked. Secrets are named (`env:NAME`, `file:PATH`), never read; of
    /// librdkafka's properties the value is shown only where it can be no secret; users in
    /// addresses are left out.
    ///
    /// - Throws: `ConfigurationError` with every problem of the file at once.
    public static func effectiveLines(
        file: String, environment: EnvironmentVariables = .process
    ) throws(ConfigurationError) -> [String] {
        let settings = try settings(file: file, environment: environment)
        var page = EffectivePage()
        page.add(settings, OptionTable.pipeline, path: "")
        return page.lines
    }

    /// The secrets that the pipeline names, as far as they can be had, to keep them from a page.
    public func knownSecrets(_ environment: EnvironmentVariables = .process) -> [Secret] {
        secretReferences.compactMap { reference in
            do throws(ConfigurationError) {
                return try reference.resolve(environment)
            } catch {
                // What cannot be had cannot be shown either; `secretProblems` tells of it.
                return nil
            }
        }
    }
}

/// Lines of `key: value`.
private struct EffectivePage {
    private(set) var lines: [String] = []

    mutating func add(_ settings: Settings, _ options: [Option], path: String) {
        for option in options {
            let name = path.isEmpty ? option.key : "\(path).\(option.key)"
            let isDefault = settings.places[option.key] == nil
            guard let setting = settings[option.key] else {
                lines.append("\(name): (none)")
                continue
            }
            add(setting, option, name, mark: isDefault ? "  (default)" : "")
        }
    }

    private mutating func add(_ setting: Setting, _ option: Option, _ name: String, mark: String) {
        switch setting {
        case .section(let inner):
            add(inner, option.kind.options ?? [], path: name)
        case .variants(let variants):
            guard case .variants(let options) = option.kind else { return }
            for (index, variant) in variants.enumerated() {
                let path = "\(name)[\(index)].\(variant.key)"
                let inner = options.first { $0.key == variant.key }?.kind.options ?? []
                add(variant.settings, inner, path: path)
                if inner.isEmpty { lines.append("\(path): {}") }
            }
        case .properties(let properties):
            for property in properties {
                lines.append("\(name).\(property.name): \(Self.text(property))")
            }
        case .text(let text): line(name, Self.withoutUser(text), mark)
        case .integer(let value): line(name, "\(value)", mark)
        case .fraction(let value): line(name, FractionText.format(value), mark)
        case .duration(let value): line(name, DurationText.format(value), mark)
        case .rate(let value): line(name, "\(value)", mark)
        case .size(let value): line(name, SizeText.format(value), mark)
        case .off: line(name, "false", mark)
        case .secret(let reference): line(name, "\(reference)", mark)
        case .texts(let texts):
            line(name, "[\(texts.map(\.text).joined(separator: ", "))]", mark)
        }
    }

    private mutating func line(_ name: String, _ value: String, _ mark: String) {
        lines.append("\(name): \(value)\(mark)")
    }

    private static func text(_ property: KafkaProperty) -> String {
        switch property.value {
        case .secret(let reference): return "\(reference)"
        case .text(let text):
            let isPlain =
                ["true", "false"].contains(text)
                || text.utf8.count <= 12 && text.utf8.allSatisfy { $0 >= 0x2D && $0 <= 0x39 }
            let isShown =
                isPlain || KafkaProperties.paths.contains(property.name)
                || shownProperties.contains(property.name)
            return isShown ? withoutUser(text) : "[not shown]"
        }
    }

    /// Properties whose values are words that say nothing of anybody.
    private static let shownProperties: Set<String> = [
        "security.protocol", "sasl.mechanism", "sasl.mechanisms", "compression.type",
        "compression.codec", "debug", "client.dns.lookup", "broker.address.family",
        "ssl.endpoint.identification.algorithm", "ssl.providers", "sasl.oauthbearer.method",
        "auto.offset.reset",
    ]

    /// An address without the user that may stand before its host.
    private static func withoutUser(_ text: String) -> String {
        guard let slashes = text.firstRange(of: "://") else { return text }
        let rest = text[slashes.upperBound...]
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        guard let user = rest[..<end].lastIndex(of: "@") else { return text }
        return text[..<slashes.upperBound] + "[redacted]" + rest[user...]
    }
}
