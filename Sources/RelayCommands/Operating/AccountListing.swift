internal import ConnectionEvents
internal import JSON
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal

extension AccountCommands {
    static func list(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let summaries = try summaries(nil, in: workshop)
        if arguments.has("--json") {
            for summary in summaries { terminal.print(json(summary, head: nil).text) }
            return .ok
        }
        var table = Table(header: ["ACCOUNT", "STATE", "FROM", "INTERVAL", "KEY", "LABELS"])
        for summary in summaries {
            table.add([
                summary.id.text, state(summary), summary.origin.rawValue,
                summary.interval.map { DurationText.format($0) } ?? "-",
                summary.issuer.map { "person at \($0)" } ?? summary.credentialMark,
                labels(summary),
            ])
        }
        terminal.out(table.text)
        return .ok
    }

    static func show(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let id = try Workshop.accountID(arguments.required("ACCOUNT"))
        guard let summary = try summaries(id, in: workshop).first else {
            throw CommandError(
                .failure,
                "there is no account \(id). 'trax-relay accounts list -c"
                    + " \(workshop.pipeline.file)' names those there are.")
        }
        let file = try workshop.openFile(.existing)
        let belief: Belief?
        do throws(JournalFailure) {
            belief = try BeliefReader(file).belief(of: id)
        } catch {
            throw CommandError(error)
        }
        if arguments.has("--json") {
            terminal.print(json(summary, head: belief?.head).text)
            return .ok
        }
        print(summary, belief, terminal)
        return .ok
    }

    private static func print(
        _ summary: AccountSummary, _ belief: Belief?, _ terminal: Terminal
    ) {
        terminal.print("account    \(summary.id)")
        terminal.print("state      \(state(summary))")
        terminal.print("from       \(summary.origin.rawValue)")
        terminal.print("added      \(summary.addedAt)")
        terminal.print("changed    \(summary.changedAt)")
        terminal.print(
            "interval   \(summary.interval.map { DurationText.format($0) } ?? "the pipeline's")")
        if let issuer = summary.issuer {
            terminal.print("person     signed in at \(issuer)")
        } else {
            terminal.print("key        \(summary.credentialMark)")
        }
        if !summary.labels.isEmpty { terminal.print("labels     \(labels(summary))") }
        guard let belief else {
            terminal.print("belief     none: no walk was sealed yet")
            return
        }
        terminal.print("epoch      \(belief.head.epoch), \(belief.head.sequence) events")
        if let since = belief.head.blindSince {
            terminal.print("blind      since \(since): its credential is refused")
        }
        var table = Table(header: ["ID", "PLATFORM", "STATUS", "HEALTH", "SINCE"])
        for (_, row) in belief.rows.sorted(by: { $0.key < $1.key }) {
            table.add([
                row.shown.id.text, row.shown.platform ?? "-", row.shown.status ?? "-",
                row.shown.health.rawValue + (row.missing != nil ? ", missing" : ""),
                row.since?.description ?? "baseline",
            ])
        }
        terminal.print("")
        terminal.out(table.text)
    }

    private static func summaries(
        _ id: AccountID?, in workshop: Workshop
    ) throws(CommandError) -> [AccountSummary] {
        let register = try workshop.openRegister()
        do throws(JournalFailure) {
            return try register.summaries(of: id).sorted { $0.id < $1.id }
        } catch {
            throw CommandError(error)
        }
    }

    private static func state(_ summary: AccountSummary) -> String {
        if summary.isRemoving { return "being removed" }
        guard summary.isPaused else { return "active" }
        return summary.pausedBy == .file ? "paused by file" : "paused"
    }

    private static func labels(_ summary: AccountSummary) -> String {
        summary.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            .joined(separator: " ")
    }

    private static func json(_ summary: AccountSummary, head: BeliefHead?) -> JSONValue {
        var object = JSONObject()
        object["account"] = .string(summary.id.text)
        object["state"] = .string(state(summary))
        object["paused"] = .bool(summary.isPaused)
        object["from"] = .string(summary.origin.rawValue)
        object["interval"] =
            summary.interval.map { .string(DurationText.format($0)) } ?? .null
        object["credential"] = .string(summary.scheme.rawValue)
        if let issuer = summary.issuer { object["issuer"] = .string(issuer.text) }
        object["key"] = .string(summary.credentialMark)
        object["labels"] = .object(
            summary.labels.sorted { $0.key < $1.key }.reduce(into: JSONObject()) {
                $0[$1.key] = .string($1.value)
            })
        object["addedAt"] = .string(summary.addedAt.description)
        object["changedAt"] = .string(summary.changedAt.description)
        if let head {
            object["epoch"] = .number(JSONNumber(head.epoch))
            object["sequence"] = .number(JSONNumber(head.sequence))
            object["blindSince"] = head.blindSince.map { .string($0.description) } ?? .null
        }
        return .object(object)
    }
}
