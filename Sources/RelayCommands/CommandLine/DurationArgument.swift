internal import RelayConfiguration

/// A duration on the command line, written as in the pipeline file: `30s`, `5m`.
enum DurationArgument {
    /// Nil when the text is none.
    static func parse(_ text: String) -> Duration? { DurationText.parse(text) }

    /// The duration of an option.
    static func of(_ option: String, _ text: String) throws(CommandError) -> Duration {
        guard let duration = parse(text) else {
            throw CommandError(
                .usage, "\(option) takes a duration as 500ms, 30s or 5m, not '\(text)'.")
        }
        return duration
    }
}
