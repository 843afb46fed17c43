internal import ConnectionEvents
internal import Glibc
internal import JSON
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal

/// `trax-relay parked …`: records that a topic does not take.
///
/// Works beside a running relay, which sends what is ordered within a second; without one the next
/// run does.
enum ParkedCommands {
    /// How long a command waits for a running relay to carry its order out.
    private static let patience: useconds_t = 10_000_000
    private static let step: useconds_t = 50_000

    private static let record = ArgumentSpec(
        name: "RECORD", help: "Its number in 'parked list', an event's id, or 'all'.")

    static let all: [CommandSpec] = [
        CommandSpec(
            path: ["parked", "list"], summary: "List the records that a topic would not take.",
            discussion: """
                A record that a topic refuses as too large or invalid, sent alone and twice, is
                parked here, so that its neighbours go on. See why, mend it at the broker
                (max.message.bytes), then retry; or drop it.
                """,
            options: [.pipeline, .json], run: list),
        CommandSpec(
            path: ["parked", "retry"], summary: "Send a parked record again.",
            discussion: """
                A running relay sends it within a second, alone, with the header
                'trax-replay: <time>'; without one the next run does. An event is sent as it
                was; a state record as its connection is believed then.
                """,
            arguments: [record], options: [.pipeline], run: retry),
        CommandSpec(
            path: ["parked", "drop"], summary: "Drop a parked record for good.",
            arguments: [record], options: [.pipeline], run: drop),
    ]

    private static func list(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        var table = Table(header: [
            "RECORD", "SINK", "ACCOUNT", "WHAT", "BYTES", "REASON", "PARKED",
        ])
        for parked in try records(try workshop.openParkedBook()) {
            if arguments.has("--json") {
                terminal.print(json(parked).text)
                continue
            }
            table.add([
                String(parked.number), parked.sink.text, parked.account.text,
                parked.event.map { "\($0.type.name) \($0.id)" }
                    ?? "state of \(Table.clean(parked.message.key))",
                String(parked.message.value?.count ?? 0),
                parked.orderedAt == nil ? parked.code : "ordered",
                parked.parkedAt.description,
            ])
        }
        if !arguments.has("--json") { terminal.out(table.text) }
        return .ok
    }

    private static func json(_ parked: ParkedRecord) -> JSONValue {
        [
            "record": .number(JSONNumber(parked.number)),
            "sink": .string(parked.sink.text),
            "account": .string(parked.account.text),
            "key": .string(parked.message.key),
            "position": .number(JSONNumber(parked.message.position.number)),
            "event": JSONValue(parked.event?.id.text),
            "type": JSONValue(parked.event?.type.name),
            "epoch": parked.event.map { .number(JSONNumber($0.epoch)) } ?? .null,
            "sequence": parked.event.map { .number(JSONNumber($0.sequence)) } ?? .null,
            "bytes": .number(JSONNumber(Int64(parked.message.value?.count ?? 0))),
            "code": .string(parked.code),
            "reason": .string(parked.reason),
            "parkedAt": .string(parked.parkedAt.description),
            "orderedAt": JSONValue(parked.orderedAt?.description),
        ]
    }

    private static func retry(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let book = try workshop.openParkedBook()
        let chosen = try find(arguments.required("RECORD"), book, workshop, terminal)
        let sinks = Set(workshop.pipeline.sinks.map(\.name))
        if let stranger = chosen.first(where: { !sinks.contains($0.sink) }) {
            throw CommandError(
                .failure,
                "record \(stranger.number) is of \(stranger.sink), which is no sink of this"
                    + " pipeline any more: only 'parked drop' is left for it.")
        }
        do throws(JournalFailure) {
            for parked in chosen { try book.order(parked.number) }
            guard JournalLock.holder(of: workshop.pipeline.journal.sqlite) != nil else {
                for parked in chosen {
                    terminal.print(
                        "\(parked.number): ordered; no relay runs, the next run sends it")
                }
                return .ok
            }
            return try follow(chosen.map(\.number), book, terminal)
        } catch {
            throw CommandError(error)
        }
    }

    /// Says of each record what became of it, as long as patience lasts.
    private static func follow(
        _ numbers: [Int64], _ book: ParkedBook, _ terminal: Terminal
    ) throws(JournalFailure) -> ExitCode {
        var waiting = numbers
        var code = ExitCode.ok
        for _ in 0..<(patience / step) {
            var still: [Int64] = []
            for number in waiting {
                switch try book.standing(of: number) {
                case .ordered: still.append(number)
                case .gone: terminal.print("\(number): sent")
                case .parked(let reason):
                    code = .failure
                    terminal.print("\(number): refused again: \(reason)")
                }
            }
            waiting = still
            if waiting.isEmpty { return code }
            usleep(step)
        }
        for number in waiting {
            terminal.print("\(number): ordered; the relay has not sent it yet")
        }
        return code
    }

    private static func drop(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let book = try workshop.openParkedBook()
        let chosen = try find(arguments.required("RECORD"), book, workshop, terminal)
        do throws(JournalFailure) {
            for parked in chosen {
                try book.drop(parked.number)
                terminal.print("\(parked.number): dropped")
            }
            return .ok
        } catch {
            throw CommandError(error)
        }
    }

    private static func records(_ book: ParkedBook) throws(CommandError) -> [ParkedRecord] {
        var found: [ParkedRecord] = []
        do throws(JournalFailure) {
            while true {
                let more = try book.records(after: found.last?.number ?? 0, limit: 100)
                found += more
                if more.count < 100 { return found }
            }
        } catch {
            throw CommandError(error)
        }
    }

    /// The records that are meant; an event may be parked for several sinks.
    private static func find(
        _ text: String, _ book: ParkedBook, _ workshop: Workshop, _ terminal: Terminal
    ) throws(CommandError) -> [ParkedRecord] {
        let all = try records(book)
        guard text != "all" else {
            if all.isEmpty { terminal.err("note: no record is parked\n") }
            return all
        }
        let chosen = all.filter { String($0.number) == text || $0.event?.id.text == text }
        guard chosen.isEmpty else { return chosen }
        throw CommandError(
            .failure,
            "there is no parked record \(text). 'trax-relay parked list -c"
                + " \(workshop.pipeline.file)' names those there are.")
    }
}
