internal import Glibc
internal import RelayConfiguration
internal import RelayCore
internal import RelayRuntime
internal import Threading

/// `trax-relay run`: the relay in the foreground.
enum RunCommand {
    /// How long a stop may deliver.
    static let stopLimit: Duration = .seconds(10)
    /// How long `--once` may deliver after its last walk.
    static let oncePatience: Duration = .seconds(30)

    static let spec = CommandSpec(
        path: ["run"],
        summary: "Run the relay in the foreground.",
        discussion: """
            Polls every account of the register, and publishes what changes to the
            pipeline's sinks. The log is on standard error; standard output belongs to the
            `log` sink.

            SIGTERM, SIGINT  stop polling, deliver for at most 10 s, exit 0; what is not
                             delivered stays in the journal. A second signal exits at once.
            SIGHUP           reload the accounts file and secrets.

            With --once: exit 0 when every account was read, 1 when some were not, 69 when
            none was or what was found could not be delivered.

            A journal that was lost, or restored from an older copy, is noticed from what
            the broker remembers: every account then begins a new epoch with
            account.resynced, and what is believed is read back from the state topic. A
            journal that is neither, while another one has published under this name, is
            refused (exit 78): put the right file back, or let it take over.
            """,
        arguments: [ArgumentSpec(name: "PIPELINE", help: "The pipeline file.")],
        options: [
            OptionSpec(
                name: "--once",
                help: "One walk of every account, deliver, exit. Confirmations go on next time."),
            OptionSpec(
                name: "--take-over",
                help: "Let this journal take the place of another that published under this name."),
        ],
        run: run)

    private static func run(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        Signals.block()
        let workshop = try Workshop(pipelineFile: arguments.required("PIPELINE"))
        let isOnce = arguments.has("--once")
        let running = try Signals.guardingStart(stopped: { stoppedEarly(isOnce: isOnce) }) {
            () throws(CommandError) in
            try RunningRelay(workshop, log: .standardError, terminal: terminal)
        }
        let renewing = Renewing(takesOver: arguments.has("--take-over"), terminal: terminal)
        if isOnce { return try once(running, renewing) }
        return try serve(running, renewing, terminal: terminal)
    }

    private static func once(
        _ running: RunningRelay, _ renewing: Renewing
    ) throws(CommandError) -> ExitCode {
        try running.start(once: true, serves: false)
        let ended = Lock<Relay.OnceResult?>(nil)
        let thread = OSThread(name: "once") {
            let result = running.relay.finishOnce(patience: oncePatience)
            ended.signal { $0 = result }
        }
        var signals = 0
        while ended.wait(timeout: .milliseconds(1), until: { $0 }) == nil {
            guard let signal = Signals.wait(.milliseconds(50)), signal != .hangUp else { continue }
            signals += 1
            if signals > 1 { ProcessEnd.now(code(of: signal).rawValue) }
            running.relay.abandonOnce()
        }
        thread.join()
        let failure = running.relay.failure(within: .zero)
        if let failure, signals == 0 {
            var renewing = renewing
            guard let next = try renewing.renew(running, after: failure, patience: oncePatience)
            else { return .ok }
            return try once(next, renewing)
        }
        running.close()
        if let failure { throw CommandError(failure) }
        guard let result = ended.withLock({ $0 }) else { return .failure }
        running.assembly.log.note(
            .info, "once", "one walk of every account",
            ["sealed": "\(result.sealed)", "unsealed": "\(result.unsealed)"])
        guard result.isDelivered else {
            throw CommandError(
                .unavailable,
                "not everything could be delivered; the rest is in the journal and goes with the"
                    + " next run.")
        }
        if result.unsealed == 0 { return .ok }
        return result.sealed == 0 ? .unavailable : .failure
    }

    private static func serve(
        _ first: RunningRelay, _ renewing: Renewing, terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        var (running, renewing) = (first, renewing)
        try running.start(once: false, serves: true)
        noteRunning(running)
        if let broker = running.embeddedBootstrap {
            running.assembly.log.note(
                .info, "run", "embedded broker, for trying out", ["address": broker])
        }
        var progress = RoundProgress(terminal: terminal)
        var reload: OSThread?
        while true {
            if let failure = running.relay.failure(within: .zero) {
                reload?.join()
                guard let next = try renewing.renew(running, after: failure) else { return .ok }
                running = next
                try running.start(once: false, serves: true)
                noteRunning(running)
                progress = RoundProgress(terminal: terminal)
            }
            progress.show(running.relay.status.poll)
            switch Signals.wait(.milliseconds(200)) {
            case nil: continue
            case .hangUp:
                // A long import must not keep a stop waiting, and two must not overlap.
                reload?.join()
                reload = OSThread(name: "reload") { [running] in
                    running.reload(terminal: terminal)
                }
            case .terminate, .interrupt:
                stop(running)
                return .ok
            }
        }
    }

    /// A stop before anything ran is a stop like any other; of `--once` no account was walked.
    private static func stoppedEarly(isOnce: Bool) -> ExitCode {
        RelayLog.standardError.note(
            .info, "run", "stopped before anything ran; what was being taken in is left")
        return isOnce ? .failure : .ok
    }

    private static func noteRunning(_ running: RunningRelay) {
        running.assembly.log.note(
            .info, "run", "trax-relay \(RelayVersion.text) runs",
            ["pipeline": running.assembly.pipeline.name])
    }

    /// Stops, unless a second signal comes first: then the process ends at once.
    static func stop(_ running: RunningRelay) {
        running.assembly.log.note(.info, "run", "stopping; a second signal exits at once")
        let thread = OSThread(name: "stop") {
            let isDelivered = running.stop(within: stopLimit)
            running.assembly.log.note(
                .info, "run",
                isDelivered
                    ? "stopped, everything is delivered" : "stopped; the rest is in the journal"
            )
        }
        while !thread.join(timeout: .milliseconds(1)) {
            guard let signal = Signals.wait(.milliseconds(50)), signal != .hangUp else { continue }
            ProcessEnd.now(code(of: signal).rawValue)
        }
    }

    static func code(of signal: Signals.Received) -> ExitCode {
        signal == .terminate ? .terminated : .interrupted
    }

    /// Ends the process as a second signal does.
    static func exitAtOnce(_ signal: Signals.Received) -> Never {
        ProcessEnd.now(code(of: signal).rawValue)
    }
}

extension CommandError {
    /// What stopped a delivery for good.
    init(_ failure: PublishFailure) {
        switch failure.kind {
        case .misconfigured: self.init(.configuration, failure.reason)
        case .unavailable: self.init(.unavailable, failure.reason)
        case .takenOver, .gone, .again, .reopen, .refusedRecord, .refusedSink:
            self.init(.failure, failure.reason)
        }
    }
}

/// Shows how far the first round of a large register is, on a terminal.
struct RoundProgress {
    /// A smaller register needs no progress.
    static let least = 500
    let terminal: Terminal
    private var isOver = false
    private var isShown = false

    init(terminal: Terminal) { self.terminal = terminal }

    mutating func show(_ poll: PollFigures) {
        guard terminal.showsProgress, !isOver, poll.active >= Self.least else { return }
        isOver = poll.isFirstRoundOver
        if isOver {
            if isShown { terminal.err("\rfirst round: all \(poll.active) accounts walked\n") }
            return
        }
        isShown = true
        terminal.err(
            "\rfirst round: \(poll.active - poll.firstRoundLeft) of \(poll.active) accounts ")
    }
}
