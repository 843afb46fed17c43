internal import ConnectionEvents
internal import Crypto
internal import JSON
internal import RelayCore
internal import RelayJournal
internal import RelayRuntime
internal import SignIn

/// `trax-relay whoami`: who is signed in for an account.
enum WhoAmICommand {
    static let spec = CommandSpec(
        path: ["whoami"],
        summary: "Say who is signed in for an account, and for how long.",
        discussion: """
            Asks the provider for name and e-mail address, with the account's access token,
            which is refreshed if that is due. Without --account, where several people are
            signed in, it lists them and asks nobody.
            """,
        options: [
            .pipeline,
            OptionSpec(
                name: "--account", short: "-a", value: "ACCOUNT", help: "The account's id."),
            .json,
        ],
        run: run)

    private static func run(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let register = try workshop.openRegister()
        if let account = try People.named(arguments) {
            return try tell(account, register, workshop, arguments, terminal)
        }
        let people = try People.summaries(in: register).filter {
            $0.scheme == .person && !$0.isRemoving
        }
        if people.count > 1 {
            try list(people.map(\.id), register, arguments, terminal)
            return .ok
        }
        let only = try People.only(in: register, workshop)
        return try tell(only, register, workshop, arguments, terminal)
    }

    private static func list(
        _ accounts: [AccountID], _ register: AccountRegister, _ arguments: ParsedArguments,
        _ terminal: Terminal
    ) throws(CommandError) {
        var table = Table(header: ["ACCOUNT", "PERSON", "ISSUER", "ACCESS UNTIL"])
        for account in accounts {
            guard let session = try People.session(of: account, in: register) else { continue }
            if arguments.has("--json") {
                terminal.print(json(account, session, nil).text)
                continue
            }
            table.add([
                account.text, session.name ?? session.subject ?? "-", session.issuer.text,
                until(session),
            ])
        }
        if !arguments.has("--json") { terminal.out(table.text) }
    }

    private static func tell(
        _ account: AccountID, _ register: AccountRegister, _ workshop: Workshop,
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let found = try People.summaries(of: account, in: register).first { !$0.isRemoving }
        guard let found else {
            throw CommandError(.failure, "there is no account \(account).")
        }
        guard found.scheme == .person else {
            if arguments.has("--json") {
                let value: JSONValue = ["account": .string(account.text), "credential": "key"]
                terminal.print(value.text)
            } else {
                terminal.print("\(account): an API key (\(found.credentialMark)), no person")
            }
            return .ok
        }
        let profile = try profile(of: account, register, workshop)
        guard let session = try People.session(of: account, in: register) else {
            throw CommandError(.failure, "the account \(account) changed meanwhile: try again.")
        }
        if arguments.has("--json") {
            terminal.print(json(account, session, profile).text)
            return .ok
        }
        terminal.print("account    \(account)")
        terminal.print("person     \(Table.clean(session.subject ?? "not known"))")
        if let name = profile?.name ?? session.name {
            terminal.print("name       \(Table.clean(name))")
        }
        if let email = profile?.email { terminal.print("e-mail     \(Table.clean(email))") }
        terminal.print("issuer     \(session.issuer)")
        terminal.print("client     \(session.clientID)")
        terminal.print("access     \(until(session))")
        return .ok
    }

    /// Asks the provider, with a token that is good.
    private static func profile(
        of account: AccountID, _ register: AccountRegister, _ workshop: Workshop
    ) throws(CommandError) -> SignedIn.Profile? {
        let desk = try workshop.tokenDesk()
        defer { desk.close(within: .seconds(1)) }
        let bearer: Bearer
        do throws(BearerFailure) {
            bearer = try desk.bearer(for: account)
        } catch {
            throw CommandError(error, of: account, workshop)
        }
        guard let session = try People.session(of: account, in: register) else { return nil }
        do throws(SignInError) {
            return try SignedIn.profile(of: session, bearer: bearer, manners: workshop.manners)
        } catch {
            throw CommandError(error)
        }
    }

    private static func until(_ session: PersonSession) -> String {
        if session.refreshToken.isEmpty { return "signed out" }
        guard session.accessToken != nil else { return "none yet" }
        let isOver = session.expiresAt <= RelayClock.wall
        return isOver ? "over since \(session.expiresAt)" : "until \(session.expiresAt)"
    }

    private static func json(
        _ account: AccountID, _ session: PersonSession, _ profile: SignedIn.Profile?
    ) -> JSONValue {
        let hasAccess = session.accessToken != nil
        return [
            "account": .string(account.text), "credential": "person",
            "subject": JSONValue(session.subject),
            "name": JSONValue(profile?.name ?? session.name), "email": JSONValue(profile?.email),
            "issuer": .string(session.issuer.text), "client": .string(session.clientID),
            "accessUntil": hasAccess ? .string(session.expiresAt.description) : .null,
        ]
    }
}
