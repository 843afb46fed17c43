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

    /// An account's own interval, within the bounds that the accounts file has for it.
    static func interval(_ option: String, _ text: String) throws(CommandError) -> Duration {
        let duration = try of(option, text)
        guard (.milliseconds(10)...Duration.seconds(604_800)).contains(duration) else {
            throw CommandError(.usage, "\(option) takes a duration from 10ms to 7d, not '\(text)'.")
        }
        return duration
    }
}
