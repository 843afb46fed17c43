internal import ConnectionEvents
internal import Crypto
internal import RelayCore
internal import RelayJournal
internal import SignIn

/// `trax-relay logout`: ends a person's session.
enum LogoutCommand {
    static let spec = CommandSpec(
        path: ["logout"],
        summary: "End a person's session, here and at the provider.",
        discussion: """
            Pauses the account, revokes the refresh token, ends the session at the provider,
            and forgets the tokens. The account stays in the register with what is believed
            of it; 'trax-relay login' takes it up again. With --remove it leaves the
            register, and the relay publishes account.removed.

            Where the provider cannot be reached nothing is changed (exit 69), so that it
            can be tried again; --force forgets the tokens all the same.
            """,
        options: [
            .pipeline,
            OptionSpec(
                name: "--account", short: "-a", value: "ACCOUNT",
                help: "The account's id; needed where several people are signed in."),
            OptionSpec(name: "--remove", help: "Remove the account from the register, too."),
            OptionSpec(
                name: "--force", help: "Forget the tokens even if the provider is not reached."),
        ],
        run: run)

    private static func run(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let register = try workshop.openRegister()
        let named = try People.named(arguments)
        let account = if let named { named } else { try People.only(in: register, workshop) }
        guard var session = try People.session(of: account, in: register) else {
            throw CommandError(.failure, "nobody is signed in for an account \(account).")
        }
        do {
            if !session.refreshToken.isEmpty {
                // First, and in the register: what the API says of a session that is being ended
                // is no news of the account.
                try register.beginSignOut(account)
                // The relay may have refreshed it up to here.
                session = try register.person(of: account) ?? session
                do throws(CommandError) {
                    try end(session, isForced: arguments.has("--force"), workshop, terminal)
                } catch {
                    try register.abandonSignOut(account)
                    throw error
                }
            }
            try register.signOut(account)
            if arguments.has("--remove") { try register.remove(account) }
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError(registering: error)
        }
        terminal.print(
            "\(account): signed out, "
                + (arguments.has("--remove") ? "removed" : "paused until somebody signs in"))
        return .ok
    }

    private static func end(
        _ session: PersonSession, isForced: Bool, _ workshop: Workshop, _ terminal: Terminal
    ) throws(CommandError) {
        do throws(SignInError) {
            if let left = try SignedIn.end(session, manners: workshop.manners) {
                terminal.err(
                    "note: the tokens are revoked, but the person may stay signed in at"
                        + " \(session.issuer) itself: \(left.reason)\n")
            }
        } catch {
            guard isForced else {
                throw CommandError(
                    .unavailable,
                    "the session was not ended at \(session.issuer): \(error.reason)"
                        + " (\(error.code)). Nothing was changed: try again, or forget the tokens"
                        + " all the same with --force.")
            }
            terminal.err("note: the session may go on at \(session.issuer): \(error.reason)\n")
        }
    }
}
