internal import ConnectionEvents
internal import RelayConfiguration
internal import RelayCore
internal import RelayRuntime

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

/// An instant on the command line: RFC 3339, or a duration ago as `15m`.
enum TimeArgument {
    /// The instant of an option.
    static func of(_ option: String, _ text: String) throws(CommandError) -> Timestamp {
        if let instant = Timestamp(text) { return instant }
        if let ago = DurationArgument.parse(text) {
            return Timestamp(milliseconds: RelayClock.wall.milliseconds - ago.wholeMilliseconds)
        }
        throw CommandError(
            .usage,
            "\(option): '\(Table.clean(text))' is no time: write RFC 3339 as 2026-11-30T12:00:00Z,"
                + " or a duration ago as 15m.")
    }
}
