internal import ConnectionEvents
internal import Glibc
internal import JSON
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal

/// `trax-relay holds …`: changes that the brake holds.
///
/// Works beside a running relay, which carries orders out within a second; without one the next run
/// does.
enum HoldCommands {
    /// How long a command waits for a running relay to carry its order out.
    static let patience: useconds_t = 5_000_000
    private static let step: useconds_t = 50_000

    private static let hold = ArgumentSpec(
        name: "HOLD", help: "The hold's id, as 'holds list' shows it; or its account's.")

    static let all: [CommandSpec] = [
        CommandSpec(
            path: ["holds", "list"], summary: "List the open holds.",
            discussion: """
                A hold keeps changes back that look like a fault of the list rather than of the
                world: the brake's (detection.brake), or a new key with another account's list.
                """,
            options: [.pipeline, .json], run: list),
        CommandSpec(
            path: ["holds", "show"], summary: "Show one hold and what it holds.",
            arguments: [hold], options: [.pipeline, .json], run: show),
        CommandSpec(
            path: ["holds", "release"],
            summary: "Publish all that is held, as the changes that they are.",
            discussion: """
                Of a wrong account: its new list becomes the account's, with a new epoch and a
                quiet baseline.
                """,
            arguments: [hold], options: [.pipeline],
            run: { (arguments, terminal) throws(CommandError) in
                try order(.release, arguments, terminal)
            }),
        CommandSpec(
            path: ["holds", "discard"],
            summary: "Believe all that is held, and publish it as kind resync: no alerts.",
            arguments: [hold], options: [.pipeline],
            run: { (arguments, terminal) throws(CommandError) in
                try order(.discard, arguments, terminal)
            }),
    ]

    private static func list(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let book = try workshop.openHoldBook()
        var table = Table(header: [
            "HOLD", "ACCOUNT", "REASON", "REMOVALS", "FAILURES", "SINCE", "ORDERED",
        ])
        for open in try all(book) {
            if arguments.has("--json") {
                terminal.print(JSONValue.object(open.summary).text)
                continue
            }
            let hold = open.hold
            table.add([
                hold.id.text, open.account.text, hold.reason.rawValue, "\(hold.removals)",
                "\(hold.failures)", hold.since.description, open.ordered?.rawValue ?? "-",
            ])
        }
        if !arguments.has("--json") { terminal.out(table.text) }
        return .ok
    }

    private static func show(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let open = try find(arguments.required("HOLD"), try workshop.openHoldBook(), workshop)
        if arguments.has("--json") {
            terminal.print(open.json.text)
            return .ok
        }
        let hold = open.hold
        terminal.print("hold       \(hold.id)")
        terminal.print("account    \(open.account)")
        terminal.print("reason     \(hold.reason.rawValue)")
        terminal.print("since      \(hold.since)")
        terminal.print("held       \(hold.removals) removals, \(hold.failures) failures")
        terminal.print("so far     \(hold.recovered) recovered, \(hold.published) published")
        if let ordered = open.ordered {
            terminal.print("ordered    \(ordered.rawValue); no relay has carried it out yet")
        }
        terminal.print("")
        if let list = hold.list {
            var table = Table(header: ["ID OF THE NEW LIST", "PLATFORM", "STATUS"])
            for row in list.rows {
                let shown = row.connection
                table.add([shown.id.text, shown.platform ?? "-", shown.status ?? "-"])
            }
            terminal.out(table.text)
            return .ok
        }
        var table = Table(header: ["ID", "PLATFORM", "BELIEVED", "SEEN", "FIRST SEEN"])
        for row in open.rows {
            guard let held = row.held else { continue }
            table.add([
                row.shown.id.text, row.shown.platform ?? "-", row.shown.status ?? "-",
                held.kind == .removal ? "(missing)" : held.seen?.status ?? "-",
                held.firstSight.description,
            ])
        }
        terminal.out(table.text)
        return .ok
    }

    private static func order(
        _ action: HoldAction, _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let book = try workshop.openHoldBook()
        let open = try find(arguments.required("HOLD"), book, workshop)
        do throws(HoldOrderFailure) {
            let order = try book.order(action, of: open.hold.id)
            return try follow(order, book, workshop, terminal)
        } catch {
            switch error {
            case .journal(let failure): throw CommandError(failure)
            case .ordered(let other):
                throw CommandError(
                    .failure,
                    "hold \(open.hold.id) is ordered to be \(done(other)) already, and that stands."
                        + " A running relay carries it out within a second, the next run otherwise."
                )
            case .refused(.noSuchHold): throw unknown(open.hold.id.text, workshop)
            case .refused(.wrongAccountStays):
                throw CommandError(
                    .failure,
                    "hold \(open.hold.id) is of a wrong account and cannot be discarded. Release it"
                        + " if the new list is the account's; else give the account its own key:"
                        + " in the accounts file if it came from there, or by 'trax-relay accounts"
                        + " add \(open.account) --replace'.")
            }
        }
    }

    private static func done(_ action: HoldAction) -> String {
        action == .release ? "released" : "discarded"
    }

    private static func follow(
        _ order: HoldOrder, _ book: HoldBook, _ workshop: Workshop, _ terminal: Terminal
    ) throws(HoldOrderFailure) -> ExitCode {
        let done = done(order.action)
        guard JournalLock.holder(of: workshop.pipeline.journal.sqlite) != nil else {
            terminal.print("\(order.hold): ordered; no relay runs, the next run carries it out")
            return .ok
        }
        do throws(JournalFailure) {
            for _ in 0..<(patience / step) {
                if try !book.isWaiting(order) {
                    let isOpen = try book.hold(order.hold) != nil
                    terminal.print("\(order.hold): \(isOpen ? "refused; see the log" : done)")
                    return isOpen ? .failure : .ok
                }
                usleep(step)
            }
        } catch {
            throw .journal(error)
        }
        terminal.print("\(order.hold): ordered; the relay has not carried it out yet")
        return .ok
    }

    private static func all(_ book: HoldBook) throws(CommandError) -> [OpenHold] {
        var found: [OpenHold] = []
        do throws(JournalFailure) {
            while true {
                let more = try book.holds(after: found.last?.account, limit: 1000)
                found += more
                if more.count < 1000 { return found }
            }
        } catch {
            throw CommandError(error)
        }
    }

    /// A hold by its id, or by its account's.
    private static func find(
        _ text: String, _ book: HoldBook, _ workshop: Workshop
    ) throws(CommandError) -> OpenHold {
        var id = HoldID(text)
        if let byAccount = try all(book).first(where: { $0.account.text == text }) {
            id = byAccount.hold.id
        }
        do throws(JournalFailure) {
            if let open = try book.hold(id) { return open }
        } catch {
            throw CommandError(error)
        }
        throw unknown(text, workshop)
    }

    private static func unknown(_ text: String, _ workshop: Workshop) -> CommandError {
        CommandError(
            .failure,
            "there is no open hold \(text). 'trax-relay holds list -c \(workshop.pipeline.file)'"
                + " names those there are.")
    }
}
