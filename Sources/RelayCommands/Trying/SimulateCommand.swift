internal import RelaySimulation

/// `trax-relay simulate`: the relay's own machines against a world of faults, from one seed.
enum SimulateCommand {
    static let spec = CommandSpec(
        path: ["simulate"],
        summary: "Run the relay's own machines against simulated faults, on a virtual clock.",
        discussion: """
            Each seed is one history: accounts whose truth is known, and faults of API,
            broker, disk, process and clock. Everything the relay promises is checked at
            each step; then the faults stop, and everything must become true. A seed that
            fails is made shorter and told; a seed always gives the same history.
            Progress is told every ten seconds on standard error.
            """,
        options: [
            OptionSpec(name: "--seed", value: "N", help: "The first seed.", isRequired: true),
            OptionSpec(name: "--seeds", value: "K", help: "How many seeds; 1 by default."),
        ], run: run)

    private static func run(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        guard let seed = UInt64(arguments.required("--seed")) else {
            throw CommandError(.usage, "--seed takes a whole number.")
        }
        guard let count = UInt64(arguments.value("--seeds") ?? "1"), count > 0 else {
            throw CommandError(.usage, "--seeds takes a whole number from 1 on.")
        }
        let clock = ContinuousClock()
        let began = clock.now
        var told = began
        var (failed, events, steps) = (0, 0, 0)
        for number in 0..<count {
            let scenario = Scenario(seed: seed &+ number)
            let outcome = Simulation.run(scenario)
            events += outcome.events
            steps += outcome.steps
            if clock.now - told > progressAge {
                told = clock.now
                let rate = pace(number + 1, in: told - began)
                terminal.err("\(number + 1) of \(count) histories, \(rate) a second" + "\n")
            }
            guard let violation = outcome.violation else { continue }
            failed += 1
            terminal.print("Seed \(scenario.seed) broke a rule: \(violation)")
            if failed <= 3 { tell(scenario, terminal) }
        }
        terminal.print(
            "\(count) histories, \(events) events, \(steps) steps: "
                + (failed == 0 ? "all rules held." : "\(failed) broke a rule."))
        terminal.print("\(pace(count, in: clock.now - began)) histories a second.")
        return failed == 0 ? .ok : .failure
    }

    /// How often progress is told, on standard error.
    private static let progressAge: Duration = .seconds(10)

    private static func pace(_ count: UInt64, in time: Duration) -> UInt64 {
        let milliseconds =
            time.components.seconds * 1000 + time.components.attoseconds / 1_000_000_000_000_000
        return count * 1000 / UInt64(max(1, milliseconds))
    }

    private static func tell(_ scenario: Scenario, _ terminal: Terminal) {
        let short = Simulation.shrink(scenario)
        terminal.print(
            "Its shortest history (\(short.size.accounts) accounts,"
                + " \(short.size.happenings) happenings):")
        for line in Simulation.run(short, isTold: true).history { terminal.print("  \(line)") }
    }
}
