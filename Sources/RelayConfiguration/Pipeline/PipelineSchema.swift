public import JSON

extension Pipeline {
    /// The JSON Schema (2020-12) of the pipeline file, made from the option table.
    ///
    /// `${NAME}` is allowed wherever a single value stands.
    public static var schema: JSONValue {
        var schema: JSONObject = [
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "https://traxstreaming.live/schemas/trax-relay/pipeline/1",
            "title": "Pipeline file of trax-relay",
        ]
        for (key, value) in SchemaWriter.section(OptionTable.pipeline) { schema[key] = value }
        schema["$defs"] = [
            "fromEnvironment": [
                "description": "A value with `${NAME}` or `${NAME:-default}` in it.",
                "type": "string",
                "pattern": #"\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}"#,
            ],
            "secret": [
                "description": "Where a secret is: `env:NAME` or `file:PATH`.",
                "type": "string",
                "pattern": "^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+)$",
            ],
        ]
        return .object(schema)
    }
}

/// Turns rows of the option table into JSON Schema.
private enum SchemaWriter {
    static func section(_ options: [Option]) -> JSONObject {
        var properties = JSONObject()
        for option in options {
            var schema = value(option.kind)
            schema["description"] = .string(option.meaning)
            switch option.standard {
            case .text(let text): schema["default"] = standard(text, option.kind)
            case .texts(let texts): schema["default"] = .array(texts.map { .string($0) })
            case .required, .nothing, .section: break
            }
            properties[option.key] = .object(schema)
        }
        var schema: JSONObject = ["type": ["object", "null"]]
        schema["additionalProperties"] = false
        schema["properties"] = .object(properties)
        let required = options.filter { $0.standard == .required }.map(\.key)
        if !required.isEmpty {
            schema["type"] = "object"
            schema["required"] = .array(required.map { .string($0) })
        }
        return schema
    }

    private static func standard(_ text: String, _ kind: Option.Kind) -> JSONValue {
        switch kind {
        case .integer, .fraction: .number(JSONNumber(text: text) ?? 0)
        case .duration, .durationOrNever, .rate, .size, .choice, .text, .secret, .texts, .section,
            .sectionOrFalse,
            .properties, .variants:
            .string(text)
        }
    }

    private static func value(_ kind: Option.Kind) -> JSONObject {
        switch kind {
        case .integer(let range, let other):
            let bounds: JSONValue = [
                "type": "integer", "minimum": JSONValue(range.lowerBound),
                "maximum": JSONValue(range.upperBound),
            ]
            return orVariable(other.map { [bounds, ["const": JSONValue($0)]] } ?? [bounds])
        case .fraction(let range):
            return orVariable([
                [
                    "type": "number", "minimum": bound(range.lowerBound),
                    "maximum": bound(range.upperBound),
                ]
            ])
        case .duration: return orVariable([text("^[0-9]+(ms|s|m|h|d)$")])
        case .durationOrNever: return orVariable([text("^([0-9]+(ms|s|m|h|d)|never)$")])
        case .rate: return orVariable([text(#"^[0-9]+(\.[0-9]+)?/(s|m|h)$"#)])
        case .size: return orVariable([text("^[0-9]+(B|KiB|MiB|GiB|TiB)$")])
        case .choice(let words): return orVariable([["enum": .array(words.map { .string($0) })]])
        case .text(let rule): return orVariable([text(rule.pattern)])
        case .secret: return orVariable([["$ref": "#/$defs/secret"]])
        case .texts(let rule, let mayBeEmpty):
            return [
                "type": "array", "items": .object(orVariable([text(rule.pattern)])),
                "minItems": mayBeEmpty ? 0 : 1,
            ]
        case .section(let options): return section(options)
        case .sectionOrFalse(let options):
            return ["anyOf": [["const": false], .object(section(options))]]
        case .properties: return properties()
        case .variants(let options):
            let entries = options.map { option -> JSONValue in
                var inner = JSONObject()
                inner["type"] = "object"
                inner["description"] = .string(option.meaning)
                inner["additionalProperties"] = false
                inner["required"] = [.string(option.key)]
                inner["properties"] = .object([option.key: .object(value(option.kind))])
                return .object(inner)
            }
            return ["type": ["array", "null"], "items": ["oneOf": .array(entries)]]
        }
    }

    private static func bound(_ value: Double) -> JSONValue {
        .number(JSONNumber(text: FractionText.format(value)) ?? 0)
    }

    private static func text(_ pattern: String) -> JSONValue {
        ["type": "string", "pattern": .string(pattern)]
    }

    private static func orVariable(_ schemas: [JSONValue]) -> JSONObject {
        ["anyOf": .array(schemas + [["$ref": "#/$defs/fromEnvironment"]])]
    }

    private static func properties() -> JSONObject {
        let names = KafkaProperties.ours.keys.sorted().map { JSONValue.string($0) }
        return [
            "type": ["object", "null"],
            "propertyNames": ["not": ["enum": .array(names)]],
            "patternProperties": [
                #"(password|secret|\.key\.pem)$"#: .object(orVariable([["$ref": "#/$defs/secret"]]))
            ],
            "additionalProperties": ["type": ["string", "number", "boolean"]],
        ]
    }
}
