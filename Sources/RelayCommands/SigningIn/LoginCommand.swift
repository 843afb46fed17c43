internal import ConnectionEvents
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal
internal import SignIn

/// `trax-relay login`: a person's own account signs in.
enum LoginCommand {
    static let spec = CommandSpec(
        path: ["login"],
        summary: "Sign a person in, whose account the relay then watches.",
        discussion: """
            Prints an address to open in a browser on this machine, and waits until the
            person has signed in there. Their account is added to the register, or gets its
            new tokens if it is there; a running relay notices within a second.

            Without --account it is the account that this person has already, or a new
            one that is called after their e-mail address or their id at the provider; an
            account of that name that is not theirs is left alone.

            The provider and the relay's client there are `source.signIn` in the pipeline.
            Tokens are sealed in the journal and shown nowhere.
            """,
        options: [
            .pipeline,
            OptionSpec(
                name: "--account", short: "-a", value: "ACCOUNT",
                help: "The account's id, of the register or new."),
            OptionSpec(name: "--open", help: "Open the address in a browser, too."),
            OptionSpec(
                name: "--wait", value: "DURATION", help: "Give up after that long; 5m if left out."
            ),
        ],
        run: run)

    private static func run(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let wanted = try People.named(arguments)
        var wait = Duration.seconds(300)
        if let text = arguments.value("--wait") { wait = try DurationArgument.of("--wait", text) }
        let register = try workshop.openRegister(.create)
        var known: PersonSession?
        if let wanted { known = try People.session(of: wanted, in: register) }
        let (issuer, client) = try place(known, workshop)
        let flow: SignInFlow
        let person: SignedInPerson
        do throws(SignInError) {
            flow = try SignInFlow(
                issuer: issuer, clientID: client,
                manners: workshop.manners,
                hint: known?.name.flatMap { $0.contains("@") ? $0 : nil })
            terminal.print("Open this address in a browser on this machine, and sign in there:")
            terminal.print("  \(flow.address)")
            if arguments.has("--open") { Browser.open(flow.address, terminal) }
            person = try flow.person(within: wait)
        } catch {
            throw CommandError(error)
        }
        let sentence: String
        do throws(CommandError) {
            sentence = try keep(person, as: wanted, in: register, workshop)
        } catch {
            flow.end(isKept: false)
            discard(person, workshop, terminal)
            throw error
        }
        flow.end(isKept: true)
        terminal.print(sentence)
        return .ok
    }

    /// Puts the person into the register, and says so.
    private static func keep(
        _ person: SignedInPerson, as wanted: AccountID?, in register: AccountRegister,
        _ workshop: Workshop
    ) throws(CommandError) -> String {
        let session = person.session
        let account = try account(for: person, wanted: wanted, in: register)
        let effect: SignInEffect
        do {
            effect = try register.signIn(session, as: account)
        } catch {
            throw CommandError(registering: error)
        }
        let who = Table.clean(session.name ?? session.subject ?? "somebody")
        let done =
            switch effect {
            case .added: "added"
            case .renewed: "signed in again"
            case .changed: "has another credential now"
            }
        return "\(account): \(done): \(who) at \(session.issuer)"
    }

    /// Nobody keeps these tokens: they must not stay good.
    private static func discard(
        _ person: SignedInPerson, _ workshop: Workshop, _ terminal: Terminal
    ) {
        let left: SignInError?
        do throws(SignInError) {
            left = try SignedIn.end(person.session, manners: workshop.manners)
        } catch {
            left = error
        }
        guard let left else { return }
        terminal.err(
            "note: the session may go on at \(person.session.issuer): \(left.reason)\n")
    }

    /// The account that a person is for.
    private static func account(
        for person: SignedInPerson, wanted: AccountID?, in register: AccountRegister
    ) throws(CommandError) -> AccountID {
        if let wanted { return wanted }
        let known: [AccountID]
        do throws(JournalFailure) {
            known = try register.accounts(of: person.session)
        } catch {
            throw CommandError(error)
        }
        if let only = known.first, known.count == 1 { return only }
        guard known.isEmpty else {
            let names = known.map(\.text).joined(separator: ", ")
            throw CommandError(
                .usage, "this person has several accounts: name one of \(names) with --account.")
        }
        let names = [person.email, person.session.subject].compactMap(\.self)
        guard let id = names.lazy.compactMap({ AccountID($0) }).first else {
            throw CommandError(
                .usage, "this person's names are no account ids: name one with --account.")
        }
        // What people are called at the provider is often theirs to choose.
        guard try People.summaries(of: id, in: register).isEmpty else {
            throw CommandError(
                .usage,
                "there is an account \(id) already, and it is not known to be this person's."
                    + " Nothing was changed: name the account with --account.")
        }
        return id
    }

    /// Where to sign in: as the account did before, or as the pipeline says.
    private static func place(
        _ known: PersonSession?, _ workshop: Workshop
    ) throws(CommandError) -> (Issuer, String) {
        if let signIn = workshop.pipeline.source.signIn { return (signIn.issuer, signIn.clientID) }
        if let known { return (known.issuer, known.clientID) }
        throw CommandError(
            ConfigurationError(
                .invalid,
                [
                    workshop.pipeline.problem(
                        at: "source",
                        "`source.signIn` is missing: it names the issuer and the client to sign in"
                            + " with")
                ]))
    }
}
