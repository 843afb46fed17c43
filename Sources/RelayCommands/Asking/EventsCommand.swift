internal import ConnectionEvents
internal import Glibc
internal import RelayCore
internal import RelayJournal
internal import RelayRuntime

/// `trax-relay events`: what is in the journal.
enum EventsCommand {
    /// How often `--follow` looks.
    static let followInterval: useconds_t = 200_000

    static let spec = CommandSpec(
        path: ["events"],
        summary: "Print the events in the journal.",
        discussion: """
            Works beside a running relay. Without --follow it ends at the newest event;
            with it, it waits for more until interrupted.
            """,
        options: [
            .pipeline,
            OptionSpec(name: "--follow", short: "-f", help: "Wait for further events."),
            OptionSpec(
                name: "--type", value: "TYPE",
                help: "Only this type, as connection.failing or failing; may be repeated.",
                repeats: true),
            OptionSpec(
                name: "--account", short: "-a", value: "ACCOUNT", help: "Only this account."),
            OptionSpec(
                name: "--since", value: "TIME",
                help: "Only events decided since then: RFC 3339, or a duration ago as 15m."),
            OptionSpec(
                name: "--parked", help: "Only events of which a record is parked (see 'parked')."),
            OptionSpec(name: "--json", help: "Print each event's JSON, one a line."),
        ], run: run)

    private static func run(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        var query = EventLog.Query()
        query.types = try arguments.all("--type").map { (text) throws(CommandError) in
            try type(text)
        }
        if let account = arguments.value("--account") {
            query.account = try Workshop.accountID(account)
        }
        if let since = arguments.value("--since") {
            query.since = try TimeArgument.of("--since", since)
        }
        query.parked = arguments.has("--parked")
        let log = EventLog(try workshop.openFile(.existing))
        if let since = query.since { try notePruned(since, log, terminal) }
        var isNothing = true
        while true {
            do throws(JournalFailure) {
                // Taken before the look, so that nothing between the two is passed over.
                let head = try log.head()
                let events = try log.events(query)
                for event in events { print(event, arguments, terminal) }
                isNothing = isNothing && events.isEmpty
                if events.count >= query.limit {
                    query.after = events.last?.position ?? query.after
                    continue
                }
                query.after = max(query.after, head, events.last?.position ?? .start)
            } catch {
                throw CommandError(error)
            }
            guard arguments.has("--follow") else {
                if isNothing { try noteNothing(query.account, log, terminal) }
                return .ok
            }
            usleep(followInterval)
        }
    }

    /// Says that there is nothing to show, and why that may be.
    private static func noteNothing(
        _ account: AccountID?, _ log: EventLog, _ terminal: Terminal
    ) throws(CommandError) {
        do throws(JournalFailure) {
            if let account, try !log.knows(account) {
                terminal.err("note: register and journal know no account \(account)\n")
            } else {
                terminal.err("note: the journal has no such event\n")
            }
        } catch {
            throw CommandError(error)
        }
    }

    /// Says that what is asked for reaches further back than the journal.
    private static func notePruned(
        _ since: Timestamp, _ log: EventLog, _ terminal: Terminal
    ) throws(CommandError) {
        do throws(JournalFailure) {
            guard try log.tail() > JournalPosition(1), let oldest = try log.oldest(), since < oldest
            else { return }
            terminal.err("note: events decided before \(oldest) are pruned (journal.retention)\n")
        } catch {
            throw CommandError(error)
        }
    }

    private static func print(
        _ event: EventLog.StoredEvent, _ arguments: ParsedArguments, _ terminal: Terminal
    ) {
        if arguments.has("--json") {
            terminal.print(String(decoding: event.body, as: UTF8.self))
            return
        }
        do throws(EventDecodingError) {
            terminal.print(EventLine.text(try ConnectionEvent(parsing: event.body)))
        } catch {
            terminal.err("position \(event.position): \(error.description)\n")
        }
    }

    private static func type(_ text: String) throws(CommandError) -> EventType {
        let names = EventType.known.map(\.name)
        for name in [text, "connection.\(text)", EventType(text).name] where names.contains(name) {
            return EventType(name)
        }
        throw CommandError(
            .usage,
            "unknown event type '\(text)'"
                + (nearest(text, among: names).map { "; did you mean '\($0)'?" } ?? ".")
                + "\nThere are: \(names.joined(separator: ", "))")
    }

    /// Of the short forms too: `connection.` may be left out.
    private static func nearest(_ text: String, among names: [String]) -> String? {
        let prefix = "connection."
        let short = names.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
        return Nearest.of(text, among: short + names)
    }
}
