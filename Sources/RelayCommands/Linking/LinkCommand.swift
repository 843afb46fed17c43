internal import ConnectionEvents
internal import RelayConfiguration
internal import RelayCore
internal import TraxAPI

/// `trax-relay link`: has a person link a platform account, or repair the link.
enum LinkCommand {
    static let spec = CommandSpec(
        path: ["link"],
        summary: "Link a platform account, or repair the link; waits for the outcome.",
        discussion: """
            Asks TRaX for an address, prints it, and reads the account's list until it
            shows what became of it: linked, repaired, or abandoned. Open the address in
            an ordinary browser; embedded web views are turned away. What the browser says
            at the end is a hint only: the list decides.

            A connection that fails is repaired with --reconnect and its id. Without it a
            second one is made, and what was bound to the first stays bound to it and
            fails at go-live; the command says so before anything is opened.

            A relay that runs beside it polls the account often meanwhile, and the event
            carries the attempt as data.attempt. A command that leaves without a row ends
            that; with --wait 0s it is left to the relay. Exit 0 linked or repaired, 1 not.
            """,
        arguments: [
            ArgumentSpec(
                name: "PLATFORM", help: "As twitch, youtube, kick, facebook or linkedin.")
        ],
        options: [
            .pipeline,
            OptionSpec(
                name: "--account", short: "-a", value: "ACCOUNT", help: "The account's id.",
                isRequired: true),
            OptionSpec(
                name: "--reconnect", value: "ID",
                help: "Repair this connection in place; it keeps its id."),
            OptionSpec(
                name: "--return-to", value: "URL",
                help: "Where the browser ends: https, on a host of TRaX's."),
            OptionSpec(
                name: "--wait", value: "DURATION",
                help: "How long to wait for the outcome, 5m by default; 0s leaves it to a relay."),
            OptionSpec(name: "--open", help: "Open the address in a browser."),
            OptionSpec(
                name: "--json",
                help: "Print JSON: one line with the address, one with the outcome."),
        ], run: run)

    /// What was asked for.
    struct Wish {
        let platform: String
        let reconnecting: ConnectionID?
        let returnTo: String?
        let wait: Duration
        let opensBrowser: Bool
        let printsJSON: Bool
    }

    private static func run(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let wish = try wish(arguments)
        // Before the first thread, all of which must leave them alone.
        Signals.block()
        let workshop = try Workshop(pipelineFile: arguments.required("--config"))
        let account = try workshop.account(arguments.required("--account"))
        return try LinkSession(wish, account, workshop, terminal).run()
    }

    private static func wish(_ arguments: ParsedArguments) throws(CommandError) -> Wish {
        let platform = arguments.required("PLATFORM")
        let isWord =
            (1...64).contains(platform.utf8.count)
            && platform.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F
                    || $0 == 0x2D
            }
        guard isWord else {
            throw CommandError(
                .usage,
                "'\(Table.clean(platform))' is no platform: small letters, as youtube.")
        }
        guard !TraxPlatform.takingKeys.contains(TraxPlatform(rawValue: platform)) else {
            throw CommandError(
                .usage,
                "\(platform) has no link: it takes a stream key. Paste the key in TRaX's own"
                    + " settings, or send it with POST /v1/connections/manual.")
        }
        var reconnecting: ConnectionID?
        if let text = arguments.value("--reconnect") {
            reconnecting = ConnectionID(text)
            guard reconnecting != nil else {
                throw CommandError(.usage, "--reconnect takes a connection's id.")
            }
        }
        let returnTo = arguments.value("--return-to")
        if let returnTo, !returnTo.hasPrefix("https://") {
            throw CommandError(
                .usage, "--return-to takes an https address on a host of TRaX's.")
        }
        var wait = Duration.seconds(300)
        if let text = arguments.value("--wait") {
            wait = text == "0" ? .zero : try DurationArgument.of("--wait", text)
            guard wait <= .seconds(86_400) else {
                throw CommandError(.usage, "--wait takes at most 1d, not '\(text)'.")
            }
        }
        return Wish(
            platform: platform, reconnecting: reconnecting, returnTo: returnTo, wait: wait,
            opensBrowser: arguments.has("--open"), printsJSON: arguments.has("--json"))
    }
}
