internal import ConnectionEvents
internal import Glibc
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal
internal import RelayRuntime

/// Takes accounts files into the register: at start, on SIGHUP, by command.
enum AccountsImport {
    /// Takes the pipeline's own accounts file, where it has one.
    ///
    /// - Throws: exit 78 with every bad line; nothing is taken then.
    static func run(
        _ pipeline: Pipeline, into register: AccountRegister, log: RelayLog, terminal: Terminal
    ) throws(CommandError) {
        guard let file = pipeline.source.accounts else { return }
        try mustBeReadable(file, of: pipeline)
        let summary = try take(
            file, signIn: pipeline.source.signIn, into: register, force: false, terminal: terminal)
        log.note(
            .info, "accounts", "accounts file taken",
            [
                "added": "\(summary.added)", "changed": "\(summary.changed)",
                "removed": "\(summary.removed)", "unchanged": "\(summary.unchanged)",
            ])
    }

    /// A file that is not there is a mistake of the pipeline, and told at its place there.
    static func mustBeReadable(_ file: String, of pipeline: Pipeline) throws(CommandError) {
        guard let objection = objection(to: file) else { return }
        throw CommandError(
            ConfigurationError(
                .unreadable, [pipeline.problem(at: "source.accounts", objection)]))
    }

    /// Why a file cannot be had at all; nil where it can.
    static func objection(to file: String) -> String? {
        guard unsafe access(file, R_OK) != 0 else { return nil }
        return "the accounts file \(file) \(errno == ENOENT ? "does not exist" : "cannot be read")"
    }

    /// Takes a file: all of it, or nothing.
    static func take(
        _ file: String, signIn: Pipeline.SignIn?, into register: AccountRegister, force: Bool,
        terminal: Terminal
    ) throws(CommandError) -> ImportSummary {
        let progress = ImportProgress(terminal: terminal)
        defer { progress.end() }
        let entries = try entries(of: file, signIn: signIn, progress: progress)
        do {
            return try register.importFile(entries, force: force) { done, all in
                progress.show("sealing credentials", done, of: all)
            }
        } catch let refusal as RegisterRefusal {
            throw CommandError(refusal: refusal, file: file)
        } catch {
            throw CommandError(registering: error)
        }
    }

    /// The lines of a file, with their credentials.
    static func entries(
        of file: String, signIn: Pipeline.SignIn?, progress: ImportProgress? = nil
    ) throws(CommandError) -> [AccountEntry] {
        do throws(ConfigurationError) {
            let read = try AccountsFile(file: file, signIn: signIn) {
                progress?.show("reading accounts", $0)
            }
            return read.lines.map { line in
                AccountEntry(
                    account: line.account,
                    credential: line.person == nil ? line.credential : nil, person: line.person,
                    interval: line.interval,
                    isPaused: line.isPaused, labels: line.labels, line: line.line)
            }
        } catch {
            throw CommandError(error)
        }
    }
}

extension CommandError {
    /// All problems of an accounts file that the register does not take.
    fileprivate init(refusal: RegisterRefusal, file: String) {
        var lines = refusal.problems.map { problem in
            problem.line.map { "\(file):\($0): \(problem.reason)" } ?? "\(file): \(problem.reason)"
        }
        if refusal.kind == .removesTooMany {
            lines.append(
                "if that is meant: trax-relay accounts import \(file) --force -c PIPELINE")
        }
        self.init(.configuration, lines.joined(separator: "\n  "))
    }
}

/// Shows how far an import is, on a terminal; a small file is done before anything is shown.
final class ImportProgress {
    private let terminal: Terminal
    private var isShown = false

    init(terminal: Terminal) { self.terminal = terminal }

    func show(_ what: String, _ done: Int, of all: Int? = nil) {
        guard terminal.showsProgress, (all ?? done) >= 10_000 else { return }
        isShown = true
        terminal.err("\r\(what): \(done)\(all.map { " of \($0)" } ?? "")   ")
    }

    func end() {
        if isShown { terminal.err("\n") }
    }
}
