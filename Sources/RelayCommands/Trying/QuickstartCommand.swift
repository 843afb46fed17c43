internal import ConnectionEvents
internal import Glibc
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal
internal import RelayRuntime
internal import Threading
internal import TraxSandbox

/// `trax-relay quickstart`: the whole thing on one machine, with nothing configured.
enum QuickstartCommand {
    static let spec = CommandSpec(
        path: ["quickstart"],
        summary: "Show the whole thing on this machine, with nothing configured.",
        discussion: """
            Starts a sandbox in place of TRaX, an embedded Kafka broker, and the relay
            between them. Scripted accounts link, break and get repaired; each event is
            printed as it arrives, with the addresses to look for yourself. Everything is
            on loopback and gone at the end. Ctrl-C stops it cleanly.
            """,
        options: [
            OptionSpec(name: "--for", value: "DURATION", help: "Stop by itself, as 30s.")
        ], run: run)

    /// How long the stop may deliver.
    private static let stopLimit: Duration = .seconds(5)

    private static func run(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        var limit: Duration?
        if let text = arguments.value("--for") {
            limit = try DurationArgument.of("--for", text)
        }
        Signals.block()
        let folder = try QuickstartFolder()
        defer { folder.remove() }
        let sandbox: Sandbox
        do throws(SandboxError) {
            sandbox = try Sandbox(port: 0)
        } catch {
            throw CommandError(.failure, "the sandbox did not start: \(error.reason)")
        }
        defer { sandbox.stop() }
        let workshop = try folder.workshop(api: sandbox.url)
        let log = RelayLog { line in
            // What the demonstration makes on purpose is told as events; the rest is worth a line.
            if !line.contains(" info ") { terminal.err("  log: \(line)\n") }
        }
        let running = try RunningRelay(workshop, log: log, terminal: terminal)
        var script = QuickstartScript(state: sandbox.state, register: running.register)
        do {
            try script.begin()
        } catch {
            running.close()
            throw CommandError(.failure, "the demonstration did not begin: \(error)")
        }
        try running.start(once: false, serves: true)
        introduce(running, sandbox: sandbox, folder: folder, terminal: terminal)
        try play(&script, running, folder: folder, limit: limit, terminal: terminal)
        let isDelivered = running.stop(within: stopLimit)
        terminal.print(
            isDelivered
                ? "\nStopped: everything that was found is delivered."
                : "\nStopped; not everything could be delivered in time.")
        return .ok
    }

    /// Plays the script and prints what arrives, until a signal or the time is over.
    private static func play(
        _ script: inout QuickstartScript, _ running: RunningRelay, folder: QuickstartFolder,
        limit: Duration?, terminal: Terminal
    ) throws(CommandError) {
        var printer = QuickstartPrinter(journal: try folder.openFile(), terminal: terminal)
        let clock = ContinuousClock()
        let start = clock.now
        while limit.map({ clock.now - start < $0 }) ?? true {
            switch Signals.wait(.milliseconds(100)) {
            case .terminate, .interrupt: return
            case .hangUp, nil: break
            }
            if let failure = running.relay.failure(within: .zero) {
                running.stop(within: .seconds(1))
                throw CommandError(failure)
            }
            do {
                try script.advance(after: clock.now - start) { terminal.print("\n\($0)") }
                try printer.printNew()
            } catch {
                running.stop(within: .seconds(1))
                throw CommandError(.failure, "the demonstration failed: \(error)")
            }
        }
        do {
            try printer.printNew()
        } catch {
            terminal.err("the last events could not be read: \(error)\n")
        }
    }

    private static func introduce(
        _ running: RunningRelay, sandbox: Sandbox, folder: QuickstartFolder, terminal: Terminal
    ) {
        let broker = running.embeddedBootstrap ?? ""
        let http = running.address ?? ""
        terminal.print(
            """
            trax-relay \(RelayVersion.text) quickstart: everything runs in this process, \
            on loopback.

              TRaX sandbox   \(sandbox.url)         the API that is polled
              Kafka broker   \(broker)                embedded, for trying out
              relay          \(http)/readyz  /metrics

            Topics: quickstart.events  every event, in order per account (key: the account)
                    quickstart.alerts  failing and repaired only
                    quickstart.state   the last state of each connection, compacted

            Look for yourself, in another terminal:
              kcat -b \(broker) -t quickstart.events -C -f '%k  %s\\n'
              kcat -b \(broker) -t quickstart.state -C -f '%k  %s\\n'
              curl \(http)/metrics
              curl \(sandbox.url)/sandbox            how to break things yourself

            Two accounts are polled every half second. What they had at first is believed without
            news (a baseline); from then on, every change is an event.
            """)
    }
}
