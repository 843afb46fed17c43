internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal

/// `trax-relay journal …`: the journal's file itself.
enum JournalCommands {
    static let all: [CommandSpec] = [
        CommandSpec(
            path: ["journal", "check"], summary: "Look the whole journal over; change nothing.",
            discussion: """
                Reads every page, position, place, belief, event and credential. Works beside a
                running relay. Exit: 0 all is well, 1 something is wrong, each finding told.
                """,
            options: [
                .pipeline,
                OptionSpec(
                    name: "--quick", help: "Leave out whether indexes fit their tables."),
            ], run: check),
        CommandSpec(
            path: ["journal", "rotate-key"],
            summary: "Seal all credentials anew under a new key.",
            discussion: """
                The relay must be stopped. The new key takes the place of journal.keyFile; the
                old one stays beside it as .old, for backups of before. With --to the new key
                is made at another place (or is there already), which journal.keyFile must
                then name. Cut short at any instant, the next command finds a key that fits.
                """,
            options: [
                .pipeline,
                OptionSpec(name: "--to", value: "FILE", help: "Where the new key is to lie."),
            ], run: rotate),
    ]

    private static func check(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let journal = try Workshop(pipelineFile: arguments.required("--config")).pipeline.journal
        let check: JournalCheck
        do throws(JournalFailure) {
            check = try JournalCheck.run(
                path: journal.sqlite, keyFile: journal.keyFile, isQuick: arguments.has("--quick"))
        } catch {
            throw CommandError(.failure, error.reason)
        }
        for fact in check.facts { terminal.print("ok     \(fact)") }
        for finding in check.findings { terminal.print("WRONG  \(finding)") }
        guard !check.findings.isEmpty else { return .ok }
        let count = check.findings.count + check.unlisted
        throw CommandError(
            .failure,
            "\(count) \(count == 1 ? "finding" : "findings") in \(journal.sqlite). Nothing was"
                + " changed: see \"A damaged journal\" in docs/OPERATING.md for the ways back.")
    }

    private static func rotate(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let journal = try Workshop(pipelineFile: arguments.required("--config")).pipeline.journal
        let outcome: KeyRotation.Outcome
        do throws(JournalFailure) {
            outcome = try KeyRotation.rotate(
                journal: journal.sqlite, keyFile: journal.keyFile, to: arguments.value("--to"))
        } catch {
            throw CommandError(opening: error)
        }
        terminal.print(
            "\(outcome.accounts) credentials are sealed with key \(outcome.current) now,"
                + " in \(outcome.keyFile).")
        if arguments.value("--to") != nil {
            terminal.print("Name it in the pipeline: journal.keyFile.")
        }
        terminal.print(
            "The key before (\(outcome.former)) is kept in \(outcome.keptAt): remove it once no"
                + " backup of before is needed.")
        return .ok
    }
}
