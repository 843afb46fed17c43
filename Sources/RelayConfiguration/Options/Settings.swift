internal import YAML

/// A value that passed its row of the option table.
enum Setting {
    case text(String)
    case integer(Int)
    case fraction(Double)
    case duration(Duration)
    case rate(Rate)
    case size(Int)
    case off
    case secret(SecretReference)
    case texts([PlacedText])
    case section(Settings)
    case properties([KafkaProperty])
    case variants([Variant])

    /// One entry of a list of mappings with one key each.
    struct Variant {
        let key: String
        let settings: Settings
        let position: YAMLPosition
    }
}

/// A text with the place where it stands.
struct PlacedText {
    let text: String
    let position: YAMLPosition
}

/// The values of one section by key, with the places they stand at.
///
/// A key whose value was refused is absent; one that was left out has its default, without a place.
struct Settings {
    /// Where the section stands, or the section around it where it was left out.
    let position: YAMLPosition
    private var values: [String: Setting] = [:]
    private(set) var places: [String: YAMLPosition] = [:]

    init(at position: YAMLPosition) {
        self.position = position
    }

    mutating func set(_ key: String, _ value: Setting?, at place: YAMLPosition?) {
        values[key] = value
        places[key] = place
    }

    /// Where a key's value stands, the section where the key was left out.
    func place(of key: String) -> YAMLPosition { places[key] ?? position }

    subscript(_ key: String) -> Setting? { values[key] }
}

/// Typed views; nil where the value was refused or the key has neither value nor default.
extension Settings {
    func text(_ key: String) -> String? {
        if case .text(let value)? = values[key] { value } else { nil }
    }

    func integer(_ key: String) -> Int? {
        if case .integer(let value)? = values[key] { value } else { nil }
    }

    func fraction(_ key: String) -> Double? {
        if case .fraction(let value)? = values[key] { value } else { nil }
    }

    func duration(_ key: String) -> Duration? {
        if case .duration(let value)? = values[key] { value } else { nil }
    }

    func rate(_ key: String) -> Rate? {
        if case .rate(let value)? = values[key] { value } else { nil }
    }

    func size(_ key: String) -> Int? {
        if case .size(let value)? = values[key] { value } else { nil }
    }

    func secret(_ key: String) -> SecretReference? {
        if case .secret(let value)? = values[key] { value } else { nil }
    }

    func texts(_ key: String) -> [PlacedText]? {
        if case .texts(let value)? = values[key] { value } else { nil }
    }

    func section(_ key: String) -> Settings? {
        if case .section(let value)? = values[key] { value } else { nil }
    }

    func properties(_ key: String) -> [KafkaProperty] {
        if case .properties(let value)? = values[key] { value } else { [] }
    }

    func variants(_ key: String) -> [Setting.Variant] {
        if case .variants(let value)? = values[key] { value } else { [] }
    }
}
