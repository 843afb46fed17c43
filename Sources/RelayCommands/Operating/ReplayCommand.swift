internal import ConnectionEvents
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal
internal import RelayRuntime
internal import RelaySinks

/// `trax-relay replay`: delivers stored events again.
enum ReplayCommand {
    static let spec = CommandSpec(
        path: ["replay"],
        summary: "Deliver stored events again.",
        discussion: """
            The stored bytes with the same id and kind, in the order of the journal; times
            go by `decidedAt`. The sink's `when` applies. A Kafka sink's events go into
            another topic, marked by the header `trax-replay`; a log sink's to standard
            output. At least once: what is repeated has the same id. Works beside a running
            relay and changes nothing of what it does. Ctrl-C tells how to go on.
            """,
        options: [
            .pipeline,
            OptionSpec(
                name: "--to", value: "SINK", help: "The sink: its topic or its name.",
                isRequired: true),
            OptionSpec(
                name: "--into-topic", value: "TOPIC",
                help: "Of a Kafka sink: the topic to write to, none of the pipeline's."),
            OptionSpec(
                name: "--since", value: "TIME",
                help: "From then on: RFC 3339, or a duration ago as 2h."),
            OptionSpec(name: "--until", value: "TIME", help: "Before that time."),
            OptionSpec(
                name: "--account", short: "-a", value: "ACCOUNT", help: "Only this account."),
            OptionSpec(
                name: "--id", value: "EVENT_ID",
                help: "Only this event, by its id or the id's first digits."),
            OptionSpec(
                name: "--after", value: "POSITION",
                help: "Only after this position of the journal, to go on with a replay."),
            OptionSpec(
                name: "--rate", value: "RATE", help: "No faster than that, as 200/s or 60/m."),
            OptionSpec(
                name: "--dry-run", help: "Only count; write nothing and ask no broker."),
        ], run: run)

    private static func run(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let order = try ReplayOrder(arguments)
        let stop = StopWatch()
        defer { stop.end() }
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let sink = try sink(arguments.required("--to"), workshop.pipeline)
        let target = try target(sink, arguments.value("--into-topic"), workshop.pipeline)
        let log = EventLog(try workshop.openFile(.existing))
        var shown = terminal
        // Lines of events and a line of progress would mix.
        if case .output = target { shown.showsProgress = false }
        var replay = try Replay(order, of: sink.plan, from: log, stop, shown)
        guard !arguments.has("--dry-run") else {
            try replay.run(through: nil)
            terminal.print("would replay \(replay.summary)")
            return .ok
        }
        guard case .topic(let topic) = target else {
            try replay.run(through: LogOutlet(terminal: terminal))
            terminal.err("replayed \(replay.summary)\n")
            return .ok
        }
        let outlet = try KafkaOutlet(
            topic, Assembly(pipeline: workshop.pipeline, log: .standardError), stop, terminal)
        defer { outlet.close() }
        try replay.run(through: outlet)
        terminal.print(
            "replayed \(replay.summary) into \(topic), marked trax-replay: \(replay.mark)")
        return .ok
    }

    /// Where records go.
    private enum Target {
        case output
        case topic(String)
    }

    private static func sink(
        _ name: String, _ pipeline: Pipeline
    ) throws(CommandError) -> Pipeline.Sink {
        if let sink = pipeline.sinks.first(where: { $0.name.text == name }) { return sink }
        let names = pipeline.sinks.filter { $0.kind != .state }.map(\.name.text)
        let near = Nearest.of(name, among: names).map { "; did you mean '\($0)'?" } ?? "."
        let all = names.isEmpty ? "it has none that takes events" : names.joined(separator: ", ")
        throw CommandError(
            .usage,
            "the pipeline has no sink '\(Table.clean(name))'\(near)\nSinks of events: \(all)")
    }

    private static func target(
        _ sink: Pipeline.Sink, _ topic: String?, _ pipeline: Pipeline
    ) throws(CommandError) -> Target {
        switch sink.kind {
        case .state:
            throw CommandError(
                .usage,
                "\(sink.name) is a state sink: it holds the last state of each connection, and"
                    + " older ones would take its place. The relay fills it by itself.")
        case .log:
            guard topic == nil else {
                throw CommandError(
                    .usage, "--into-topic is for Kafka sinks; a log sink writes to standard output."
                )
            }
            return .output
        case .kafka:
            guard let topic else {
                throw CommandError(
                    .usage,
                    "\(sink.name) is a Kafka sink: name a topic of the replay's own with"
                        + " --into-topic TOPIC. In \(sink.name) its readers would see events"
                        + " twice, and old ones after new ones.")
            }
            if let objection = TopicName.objection(to: topic) {
                throw CommandError(
                    .usage, "--into-topic \(objection), not '\(Table.clean(topic))'.")
            }
            let taken = pipeline.sinks.compactMap(\.topic) + ["\(pipeline.name).progress"]
            guard !taken.contains(topic) else {
                throw CommandError(
                    .usage,
                    "\(topic) is a topic of this pipeline, whose readers count on seeing each event"
                        + " once and in order: name another one.")
            }
            guard pipeline.kafka.brokers != .embedded else {
                throw CommandError(
                    .configuration,
                    "kafka.brokers is `embedded`: that broker lives within the relay's process and"
                        + " cannot be reached by another. Replay to a log sink, or name a broker.")
            }
            return .topic(topic)
        }
    }
}

/// Which events are asked for, and how fast.
struct ReplayOrder {
    var query = EventLog.Query()
    var choice: EventChoice?
    /// Events a second; nil for as fast as it goes.
    var rate: Double?

    init(_ arguments: ParsedArguments) throws(CommandError) {
        if let text = arguments.value("--since") {
            query.since = try TimeArgument.of("--since", text)
        }
        if let text = arguments.value("--until") {
            query.until = try TimeArgument.of("--until", text)
        }
        if let since = query.since, let until = query.until, until <= since {
            throw CommandError(.usage, "--until \(until) is not after --since \(since).")
        }
        if let text = arguments.value("--account") {
            query.account = try Workshop.accountID(text)
        }
        if let text = arguments.value("--id") { choice = try EventChoice(id: text) }
        if let text = arguments.value("--after") {
            guard let number = Int64(text), number >= 0 else {
                throw CommandError(
                    .usage, "--after takes a position of the journal, not '\(Table.clean(text))'.")
            }
            query.after = JournalPosition(number)
        }
        if let text = arguments.value("--rate") {
            guard let rate = Rate(text), rate.perSecond > 0 else {
                throw CommandError(
                    .usage, "--rate takes a rate as 200/s or 60/m, not '\(Table.clean(text))'.")
            }
            self.rate = rate.perSecond
        }
        guard query.since != nil || choice != nil || arguments.value("--after") != nil else {
            throw CommandError(
                .usage, "say which events: --since TIME, --id EVENT_ID or --after POSITION.")
        }
    }
}
