internal import JSON
internal import RelayCore

/// An account's labels as the register stores them: a JSON object, sorted by name.
enum LabelText {
    /// The stored form.
    static func text(of labels: [String: String]) -> String {
        guard !labels.isEmpty else { return "{}" }
        let sorted = labels.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        return JSONValue.object(JSONObject(sorted.map { ($0.key, .string($0.value)) })).text
    }

    /// Reads the stored form.
    ///
    /// - Throws: `JournalFailure` when it is none.
    static func labels(of text: String) throws -> [String: String] {
        guard text != "{}" else { return [:] }
        guard let object = try JSONValue(parsing: Array(text.utf8)).objectValue else {
            throw JournalFailure.unusable("corrupt", "the labels of an account are no JSON object")
        }
        var labels: [String: String] = [:]
        for (name, value) in object { labels[name] = value.stringValue }
        return labels
    }
}
