internal import ConnectionEvents
internal import JSON
internal import RelayConfiguration

/// `trax-relay schema`: the machine-readable contract.
enum SchemaCommand {
    static let event = CommandSpec(
        path: ["schema", "event"], summary: "Print the JSON Schema of events.",
        run: { (_, terminal) throws(CommandError) in
            terminal.print(String(decoding: EventSchema.json.serializedPretty(), as: UTF8.self))
            return .ok
        })

    static let pipeline = CommandSpec(
        path: ["schema", "pipeline"], summary: "Print the JSON Schema of the pipeline file.",
        options: [
            OptionSpec(
                name: "--markdown", help: "Print the table of keys, defaults and ranges instead.")
        ],
        run: { (arguments, terminal) throws(CommandError) in
            if arguments.has("--markdown") {
                terminal.out(Pipeline.markdownTable)
            } else {
                terminal.print(String(decoding: Pipeline.schema.serializedPretty(), as: UTF8.self))
            }
            return .ok
        })
}
