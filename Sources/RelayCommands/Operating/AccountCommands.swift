internal import ConnectionEvents
internal import Crypto
internal import JSON
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal

/// `trax-relay accounts …`: the register.
///
/// Works beside a running relay.
enum AccountCommands {
    private static let account = ArgumentSpec(name: "ACCOUNT", help: "The account's id.")

    static let all: [CommandSpec] = [
        CommandSpec(
            path: ["accounts", "add"],
            summary: "Add an account to the register.",
            discussion: """
                The API key comes from --key-file, else from standard input: a prompt on a
                terminal, one line otherwise. It is never an argument. It is sealed with the
                pipeline's key.
                """,
            arguments: [account],
            options: [
                .pipeline,
                OptionSpec(
                    name: "--key-file", value: "FILE", help: "A file that holds the API key."),
                OptionSpec(
                    name: "--interval", value: "DURATION",
                    help: "Takes the place of source.interval.slowest for this account."),
                OptionSpec(name: "--paused", help: "Add it paused."),
                OptionSpec(
                    name: "--replace",
                    help: "The account is there already: give it this key, interval and pause."),
            ], run: add),
        CommandSpec(
            path: ["accounts", "import"],
            summary: "Take in an accounts file: all of it, or nothing.",
            discussion: """
                Without FILE, the pipeline's source.accounts. Accounts that came from the file
                and are gone from it are removed; those added by command stay.
                """,
            arguments: [
                ArgumentSpec(
                    name: "FILE", help: "CSV with a header, or JSON lines.", isRequired: false)
            ],
            options: [
                .pipeline,
                OptionSpec(
                    name: "--force",
                    help: "Also take a file that removes half of the accounts or more."),
            ], run: importFile),
        CommandSpec(
            path: ["accounts", "list"], summary: "List the accounts of the register.",
            options: [.pipeline, .json], run: list),
        CommandSpec(
            path: ["accounts", "show"], summary: "Show one account, and how the relay sees it.",
            arguments: [account], options: [.pipeline, .json], run: show),
        CommandSpec(
            path: ["accounts", "pause"], summary: "Stop walking an account.",
            arguments: [account], options: [.pipeline],
            run: { (arguments, terminal) throws(CommandError) in
                try change(arguments, terminal, "paused") { try $0.pause($1) }
            }),
        CommandSpec(
            path: ["accounts", "resume"], summary: "Walk a paused account again.",
            arguments: [account], options: [.pipeline],
            run: { (arguments, terminal) throws(CommandError) in
                try change(arguments, terminal, "resumed") { try $0.resume($1) }
            }),
        CommandSpec(
            path: ["accounts", "remove"],
            summary: "Remove an account; the relay publishes account.removed.",
            arguments: [account], options: [.pipeline],
            run: { (arguments, terminal) throws(CommandError) in
                try change(arguments, terminal, "removed; a running relay publishes that") {
                    try $0.remove($1)
                }
            }),
    ]

    private static func add(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let id = try Workshop.accountID(arguments.required("ACCOUNT"))
        var interval: Duration?
        if let text = arguments.value("--interval") {
            interval = try DurationArgument.interval("--interval", text)
        }
        let key = try key(of: id, file: arguments.value("--key-file"), terminal)
        let entry = AccountEntry(
            account: id, credential: key, interval: interval,
            isPaused: arguments.has("--paused") ? true : nil, labels: [:], line: 0)
        do {
            try workshop.openRegister(.create).add(entry, replacing: arguments.has("--replace"))
        } catch let error as CommandError {
            throw error
        } catch let error as RegisterRefusal where error.kind == .exists {
            throw CommandError(
                .failure,
                "account \(id) is in the register already. Give it another key with --replace.")
        } catch {
            throw CommandError(registering: error)
        }
        terminal.print("\(id): added")
        return .ok
    }

    private static func key(
        of id: AccountID, file: String?, _ terminal: Terminal
    ) throws(CommandError) -> Secret {
        if let file {
            do throws(ConfigurationError) {
                return try KeyFile.read(file)
            } catch {
                throw CommandError(error)
            }
        }
        guard let key = terminal.askSecret("API key of \(id): ") else {
            throw CommandError(
                .usage, "no API key on standard input. Give it there, or with --key-file FILE.")
        }
        if let reason = KeyFile.problem(with: key) { throw CommandError(.usage, "\(reason).") }
        return key
    }

    private static func importFile(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        guard let file = arguments.argument("FILE") ?? workshop.pipeline.source.accounts else {
            throw CommandError(
                .usage, "FILE is missing, and the pipeline has no source.accounts.")
        }
        let summary = try AccountsImport.take(
            file, signIn: workshop.pipeline.source.signIn,
            into: try workshop.openRegister(.create), force: arguments.has("--force"),
            terminal: terminal)
        terminal.print(
            "\(summary.added) added, \(summary.changed) changed, \(summary.removed) removed,"
                + " \(summary.unchanged) unchanged")
        return .ok
    }

    private static func change(
        _ arguments: ParsedArguments, _ terminal: Terminal, _ done: String,
        _ body: (AccountRegister, AccountID) throws -> Void
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let id = try Workshop.accountID(arguments.required("ACCOUNT"))
        let register = try workshop.openRegister()
        do {
            try body(register, id)
        } catch {
            throw CommandError(registering: error)
        }
        terminal.print("\(id): \(done)")
        return .ok
    }
}
