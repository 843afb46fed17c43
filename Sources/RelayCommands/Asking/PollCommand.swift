internal import ConnectionEvents
internal import JSON
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal
internal import RelayRuntime

/// `trax-relay poll` and `trax-relay connections list`: one walk now, which changes nothing.
enum PollCommand {
    static let poll = CommandSpec(
        path: ["poll"],
        summary: "Walk one account now and print what would change.",
        discussion: """
            Reads the account's list once, compares it with what the relay believes, and
            prints the events that would follow. Believes and publishes nothing. A removal
            needs its confirmations, so a missing row is named as missing first.
            """,
        arguments: [ArgumentSpec(name: "ACCOUNT", help: "The account's id.")],
        options: [.pipeline, .json], run: runPoll)

    static let list = CommandSpec(
        path: ["connections", "list"],
        summary: "Print an account's live list.",
        options: [
            .pipeline,
            OptionSpec(
                name: "--account", short: "-a", value: "ACCOUNT", help: "The account's id.",
                isRequired: true),
            .json,
        ], run: runList)

    private static func runPoll(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let account = try workshop.account(arguments.required("ACCOUNT"))
        let stored = try belief(of: account, in: workshop)
        let walk = try walk(account, in: workshop)
        let rules = workshop.pipeline.detection
        var belief =
            stored
            ?? Belief(
                meeting: account.id, epoch: RelayClock.wall.milliseconds,
                incarnation: account.incarnation, rules: rules)
        let isNew = !belief.head.isBaselined
        var decision = belief.rejudge(rules: rules, decidedAt: walk.sealedAt)
        decision.append(
            belief.observe(walk, lastSealed: nil, rules: rules, decidedAt: walk.sealedAt))
        let events = decision.entries.compactMap(\.event)
        if arguments.has("--json") {
            for event in events {
                terminal.print(String(decoding: event.serialized(), as: UTF8.self))
            }
            return .ok
        }
        terminal.print("\(account.id): \(walk.rows.count) connections, the list is complete.")
        if isNew { terminal.print("It would be the account's baseline: believed without news.") }
        for event in events { terminal.print("would publish: \(EventLine.text(event))") }
        for (id, row) in belief.rows.sorted(by: { $0.key < $1.key }) {
            guard let missing = row.missing else { continue }
            terminal.print(
                "missing: \(Table.clean(id.text)), \(missing.count) of \(rules.confirmations)"
                    + " confirmations")
        }
        if events.isEmpty, !isNew { terminal.print("Nothing would be published.") }
        return .ok
    }

    private static func runList(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let account = try workshop.account(arguments.required("--account"))
        let walk = try walk(account, in: workshop)
        let rules = workshop.pipeline.detection
        let connections = walk.connections(by: rules)
        if arguments.has("--json") {
            terminal.print(JSONValue.array(connections.map(\.json)).text)
            return .ok
        }
        var table = Table(header: ["ID", "PLATFORM", "STATUS", "HEALTH", "SCOPES"])
        for connection in connections {
            table.add([
                connection.id.text, connection.platform ?? "-", connection.status ?? "-",
                connection.health.rawValue,
                connection.grantedScopes.map { $0.joined(separator: " ") } ?? "unknown",
            ])
        }
        terminal.out(table.text)
        return .ok
    }

    private static func belief(
        of account: RegisteredAccount, in workshop: Workshop
    ) throws(CommandError) -> Belief? {
        let file = try workshop.openFile(.existing)
        do throws(JournalFailure) {
            let belief = try BeliefReader(file).belief(of: account.id)
            return belief?.head.incarnation == account.incarnation ? belief : nil
        } catch {
            throw CommandError(error)
        }
    }

    /// Walks the account's list, at the account's pace.
    private static func walk(
        _ account: RegisteredAccount, in workshop: Workshop
    ) throws(CommandError) -> SealedWalk {
        switch try AccountLists(account, workshop).read() {
        case .success(let walk): return walk
        case .failure(let failure):
            throw CommandError(
                .unavailable,
                "\(account.id) could not be read: \(failure.reason) (\(failure.code)). Nothing is"
                    + " known of its connections now; the relay would believe nothing of this.")
        }
    }
}
