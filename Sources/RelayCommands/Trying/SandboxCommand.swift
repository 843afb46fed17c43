internal import Glibc
internal import RelayConfiguration
internal import TraxSandbox

/// `trax-relay sandbox`: a TRaX to develop and test against.
enum SandboxCommand {
    static let spec = CommandSpec(
        path: ["sandbox"],
        summary: "Serve a TRaX API to develop and test against, on this machine only.",
        discussion: """
            Serves what the vendor's guides describe: the API under /v1 with keys, scopes,
            pages and rate limits (GET /v1/openapi.json tells it exactly), linking with a
            consent screen for each platform, signing in, and a control API under /sandbox
            that creates accounts, breaks and repairs connections, decides links without a
            browser, and injects faults. GET /sandbox says how. Ctrl-C stops it.

            OAUTH_RETURN_APP_SCHEME_IOS and OAUTH_RETURN_APP_SCHEME_ANDROID, or
            OAUTH_RETURN_APP_SCHEME for both, name the app to which the page at the end of
            a link offers to return.
            """,
        options: [
            OptionSpec(name: "--port", value: "PORT", help: "Where to listen; 7081 by default."),
            OptionSpec(
                name: "--seed", value: "N",
                help: "Makes keys and ids repeatable; 1 by default."),
            OptionSpec(
                name: "--scenario", value: "FILE",
                help: "JSON: accounts, breakage and outages that happen by themselves."),
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
            var state = SandboxState(seed: seed)
            if let file = arguments.value("--scenario") {
                _ = try state.begin(try Scenario(parsing: try contents(of: file)))
            }
            sandbox = try Sandbox(
                port: port, state: state,
                appSchemes: AppSchemes { EnvironmentVariables.process[$0] })
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

    /// A scenario's file; at most 1 MiB of it.
    private static func contents(of path: String) throws(SandboxError) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw SandboxError(
                .invalid, "\(path) cannot be read: \(unsafe String(cString: strerror(errno))).")
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        var filled = 0
        while filled < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe read(
                    descriptor, buffer.baseAddress.map { unsafe $0 + filled }, buffer.count - filled
                )
            }
            guard count > 0 else { break }
            filled += count
        }
        return Array(bytes.prefix(filled))
    }
}
