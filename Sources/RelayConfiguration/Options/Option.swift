/// One row of the option table: a key of the pipeline file and everything there is to say about it.
///
/// Reading, validation, defaults, the JSON Schema and the documentation all go by these rows.
struct Option: Sendable {
    /// What holds where the key is left out.
    enum Default: Sendable, Hashable {
        /// The key must be there.
        case required
        /// Nothing; the meaning says what that means.
        case nothing
        /// This text, as if it stood in the file.
        case text(String)
        /// This list.
        case texts([String])
        /// The section, with the defaults of its own keys.
        case section
    }

    let key: String
    let kind: Kind
    let standard: Default
    /// One or two sentences without a line break.
    let meaning: String

    /// A row with a scalar.
    init(_ key: String, _ kind: Kind, _ standard: Default, _ meaning: String) {
        self.key = key
        self.kind = kind
        self.standard = standard
        self.meaning = meaning
    }
}

extension Option {
    /// What may stand under a key.
    indirect enum Kind: Sendable {
        /// A whole number in a range, or one other number that means something else.
        case integer(ClosedRange<Int>, or: Int?)
        /// A decimal number in a range.
        case fraction(ClosedRange<Double>)
        /// A duration in a range.
        case duration(ClosedRange<Duration>)
        /// A duration in a range, or `never`.
        case durationOrNever(ClosedRange<Duration>)
        /// A rate in a range.
        case rate(ClosedRange<Rate>)
        /// A size in a range of bytes.
        case size(ClosedRange<Int>)
        /// One of a few words.
        case choice([String])
        /// A text that fits a rule.
        case text(TextRule)
        /// `env:NAME` or `file:PATH`.
        case secret
        /// A list of texts that each fit a rule; whether it may be empty.
        case texts(TextRule, mayBeEmpty: Bool)
        /// A mapping with keys of its own.
        case section([Option])
        /// A mapping with keys of its own, or `false`.
        case sectionOrFalse([Option])
        /// Properties of librdkafka, by their own names.
        case properties
        /// A list of mappings with one key each.
        case variants([Option])
    }
}

/// What a text must be like, in a form for people, for machines and for JSON Schema.
struct TextRule: Sendable {
    /// What is asked for, as in `must be …`.
    let demand: String
    /// A regular expression of ECMA 262 that says the same or less.
    let pattern: String
    /// Why a text does not fit, as in `must be …`; nil where it fits.
    let objection: @Sendable (String) -> String?

    init(_ demand: String, pattern: String, _ objection: @escaping @Sendable (String) -> String?) {
        self.demand = demand
        self.pattern = pattern
        self.objection = objection
    }

    /// A rule whose one objection is the demand itself.
    init(_ demand: String, pattern: String, fits: @escaping @Sendable (String) -> Bool) {
        self.init(demand, pattern: pattern) { fits($0) ? nil : "must be \(demand)" }
    }
}
