internal import ConnectionEvents
internal import Glibc
internal import RelayConfiguration
internal import RelayCore
internal import RelayRuntime

/// `trax-relay doctor`: a file for a bug report.
enum DoctorCommand {
    static let spec = CommandSpec(
        path: ["doctor"],
        summary: "Write a file for a bug report, without secrets.",
        discussion: """
            Versions, limits, the effective configuration, what 'check' says, figures of the
            journal, readiness and metrics of a running relay, clock, DNS and TLS. What
            cannot be had says why, and the rest goes on. Changes nothing. Secrets are left
            out; look through it all the same before you send it.
            """,
        options: [
            OptionSpec(
                name: "--config", short: "-c", value: "PIPELINE", help: "The pipeline file."),
            OptionSpec(
                name: "--output", short: "-o", value: "FILE",
                help: "Where to; `-` for standard output. By default a new file here."),
            OptionSpec(name: "--offline", help: "Leave out API, broker and running relay."),
        ], run: run)

    private static func run(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let now = RelayClock.wall
        let output = arguments.value("--output") ?? "trax-relay-doctor-\(stamp(now)).txt"
        var file: NewFile?
        if output != "-" { file = try NewFile(output) }
        var report = DoctorReport(
            now, pipelineFile: arguments.value("--config"), offline: arguments.has("--offline"))
        if terminal.showsProgress { terminal.err("looking; this takes up to a minute\n") }
        let text = report.text()
        guard let file else {
            terminal.out(text)
            return .ok
        }
        try file.write(text)
        terminal.print("wrote \(file.path) (\(text.utf8.count) bytes, readable by you alone)")
        terminal.print("Secrets are left out. Look through it before you send it to anybody.")
        return .ok
    }

    /// The time as it can stand in a file's name.
    private static func stamp(_ time: Timestamp) -> String {
        String(time.description.prefix(19).filter { $0 != "-" && $0 != ":" }) + "Z"
    }
}

/// A file that was not there before and that only its owner may read.
private struct NewFile {
    let path: String
    private let descriptor: Int32

    /// Makes it empty, before anything is looked at.
    init(_ path: String) throws(CommandError) {
        self.path = path
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let reason =
                errno == EEXIST
                ? "exists already, and is not overwritten: name another with -o"
                : "cannot be made (\(unsafe String(cString: strerror(errno)))): name another with"
                    + " -o, or -o - for standard output"
            throw CommandError(.failure, "\(path) \(reason).")
        }
    }

    func write(_ text: String) throws(CommandError) {
        defer { close(descriptor) }
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress, buffer.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw CommandError(
                    .failure,
                    "\(path) cannot be written (\(unsafe String(cString: strerror(errno)))).")
            }
            bytes = bytes.dropFirst(count)
        }
    }
}
