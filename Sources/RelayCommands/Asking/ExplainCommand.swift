internal import ConnectionEvents
internal import JSON
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal

/// `trax-relay explain`: why an event was published.
enum ExplainCommand {
    static let spec = CommandSpec(
        path: ["explain"],
        summary: "Say why an event was published, from the evidence stored with it.",
        discussion: """
            What was believed before, what the walk showed, when it was begun and
            sealed, its request ids, the rule, and which sinks have the event. Works
            beside a running relay.
            """,
        arguments: [
            ArgumentSpec(
                name: "EVENT_ID",
                help: "The event's id, or its first digits (4 or more).", isRequired: false)
        ],
        options: [
            .pipeline,
            OptionSpec(
                name: "--position", value: "N",
                help: "The event at this position of the journal, in place of an id."),
            .json,
        ], run: run)

    private static func run(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let choice = try EventChoice(
            id: arguments.argument("EVENT_ID"), position: arguments.value("--position"))
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let log = EventLog(try workshop.openFile(.existing))
        let explanation = try Explanation(
            choice.find(in: log), log, workshop.pipeline.sinks.map(\.plan))
        if arguments.has("--json") {
            terminal.print(
                String(decoding: explanation.json.serializedPretty(), as: UTF8.self))
        } else {
            for line in ExplanationPage(explanation).lines { terminal.print(line) }
        }
        return .ok
    }
}
