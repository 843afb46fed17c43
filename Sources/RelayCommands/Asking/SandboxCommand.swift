internal import Glibc
internal import TraxSandbox

/// `trax-relay sandbox`: a TRaX to develop and test against.
enum SandboxCommand {
    static let spec = CommandSpec(
        path: ["sandbox"],
        summary: "Serve a TRaX API to develop and test against, on this machine only.",
        discussion: """
            Serves /v1/connections with pages, keys, scopes and rate limits, and a control
            API under /sandbox that creates accounts, breaks and repairs connections, and
            injects faults. GET /sandbox says how. Ctrl-C stops it.
            """,
        options: [
            OptionSpec(name: "--port", value: "PORT", help: "Where to listen; 7081 by default."),
            OptionSpec(
                name: "--seed", value: "N",
                help: "Makes keys and ids repeatable; 1 by default."),
        ], run: run)

    private static func run(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        guard let port = UInt16(arguments.value("--port") ?? "7081") else {
            throw CommandError(.usage, "--port takes a number from 0 to 65535.")
        }
        guard let seed = UInt64(arguments.value("--seed") ?? "1") else {
            throw CommandError(.usage, "--seed takes a whole number.")
        }
        Signals.block()
        let sandbox: Sandbox
        do throws(SandboxError) {
            sandbox = try Sandbox(port: port, state: SandboxState(seed: seed))
        } catch {
            throw CommandError(.failure, "the sandbox did not start: \(error.reason)")
        }
        terminal.print(
            """
            A TRaX sandbox listens on \(sandbox.url)
              curl \(sandbox.url)/sandbox      how to control it
            Ctrl-C stops it.
            """)
        while true {
            switch Signals.wait(.seconds(60)) {
            case .terminate, .interrupt:
                sandbox.stop()
                return .ok
            case .hangUp, nil: continue
            }
        }
    }
}
