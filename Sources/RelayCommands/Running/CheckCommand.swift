internal import ConnectionEvents
internal import Crypto
internal import Glibc
internal import Kafka
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal
internal import RelayRuntime
internal import RelaySinks
internal import TraxAPI

/// `trax-relay check`: proves that each part works, and creates nothing.
enum CheckCommand {
    static let spec = CommandSpec(
        path: ["check"],
        summary: "Prove that a pipeline works: file, secrets, accounts, API, broker, topics.",
        discussion: """
            Says all problems at once, each with file, line and column. Creates nothing.
            Exit: 0 all is well, 78 something in the configuration is wrong, 69 the API or
            the broker cannot be reached.
            """,
        arguments: [ArgumentSpec(name: "PIPELINE", help: "The pipeline file.")],
        options: [OptionSpec(name: "--offline", help: "Leave out API and broker.")],
        run: run)

    private static func run(
        _ arguments: ParsedArguments, _ terminal: Terminal
    ) throws(CommandError) -> ExitCode {
        let workshop = try Workshop(pipelineFile: arguments.required("PIPELINE"))
        var check = Check(workshop: workshop, terminal: terminal)
        check.ok("pipeline file: \(workshop.pipeline.file)")
        check.secrets()
        let accounts = check.accounts()
        check.budget(accounts)
        check.listening()
        if !arguments.has("--offline") {
            check.api(accounts)
            check.signIn()
            check.broker()
        }
        return try check.end()
    }
}

/// One run of `check`: what was found, said as it is found.
struct Check {
    /// An account with its credential, wherever it was found.
    struct Candidate {
        var id: AccountID
        var credential: Secret
        /// Takes the place of `slowest`.
        var interval: Duration?
        /// Whether it is a person's; nil stands for one whose refresh token is in the file alone.
        var person: Person = .none

        /// Whose credential it is.
        enum Person {
            /// Nobody's: it is an API key.
            case none
            /// A person's of the register.
            case signedIn
            /// A refresh token of the file that the register does not have yet.
            case given
        }
    }

    let workshop: Workshop
    let terminal: Terminal
    /// The most accounts that are read from the API; the credentials of all are looked at.
    static let readAccounts = 3
    private var problems: [String] = []
    private var unreachable: [String] = []

    init(workshop: Workshop, terminal: Terminal) {
        self.workshop = workshop
        self.terminal = terminal
    }

    var pipeline: Pipeline { workshop.pipeline }
    var assembly: Assembly { Assembly(pipeline: pipeline, log: .standardError) }

    func ok(_ text: String) { terminal.print("ok     \(text)") }

    func note(_ text: String) { terminal.print("note   \(text)") }

    mutating func problem(_ text: String) {
        problems += text.split(separator: "\n").map { line in
            String(line.drop { $0 == " " })
        }.filter { !$0.hasSuffix("problems in the configuration:") }
    }

    mutating func away(_ text: String) { unreachable.append(text) }

    /// Says everything that is wrong at once.
    func end() throws(CommandError) -> ExitCode {
        let all = problems + unreachable
        guard !all.isEmpty else { return .ok }
        let text =
            all.count == 1
            ? all[0]
            : "\(all.count) problems:\n  "
                + all.joined(separator: "\n  ")
        throw CommandError(problems.isEmpty ? .unavailable : .configuration, text)
    }

    mutating func secrets() {
        let missing = pipeline.secretProblems()
        for problem in missing { self.problem(problem.description) }
        if missing.isEmpty { ok("secrets") }
    }

    /// The accounts that a run would have: of the file, and of the register where there is one.
    mutating func accounts() -> [Candidate] {
        var found: [AccountID: Candidate] = [:]
        if let file = pipeline.source.accounts {
            do throws(CommandError) {
                try AccountsImport.mustBeReadable(file, of: pipeline)
                let entries = try AccountsImport.entries(
                    of: file, signIn: pipeline.source.signIn)
                for entry in entries where entry.isPaused != true {
                    let id = entry.account
                    if let key = entry.credential {
                        found[id] = Candidate(
                            id: id, credential: key, interval: entry.interval)
                    }
                    if let person = entry.person {
                        found[id] = Candidate(
                            id: id, credential: person.refreshToken, interval: entry.interval,
                            person: .given)
                    }
                }
                ok("accounts file: \(entries.count) accounts")
            } catch {
                problem(error.message)
            }
        }
        if Self.hasContent(pipeline.journal.sqlite) {
            do throws(CommandError) {
                let registered = try active(try workshop.openRegister())
                for account in registered {
                    let isPerson = account.person != nil
                    // What the file gives of a person may have been used up long ago.
                    let given = found[account.id]
                    guard given.map({ isPerson && $0.person == .given }) ?? true
                    else { continue }
                    found[account.id] = Candidate(
                        id: account.id, credential: account.credential,
                        interval: given.map(\.interval) ?? account.interval,
                        person: isPerson ? .signedIn : .none)
                }
                ok("journal: \(pipeline.journal.sqlite), \(registered.count) accounts to walk")
            } catch {
                problem(error.message)
            }
            if let holder = JournalLock.holder(of: pipeline.journal.sqlite) {
                note("a relay runs on this journal: process \(holder)")
            }
        } else {
            note("journal: \(pipeline.journal.sqlite) is not there yet; `run` makes it")
        }
        mustBeWritable(pipeline.journal.sqlite, key: "journal.sqlite")
        mustBeWritable(pipeline.journal.keyFile, key: "journal.keyFile")
        if found.isEmpty, problems.isEmpty {
            note(
                "no account yet: add one with 'trax-relay accounts add ID -c \(pipeline.file)'")
        }
        return found.values.sorted { $0.id < $1.id }
    }

    /// `run` makes files beside the journal, and the key where it is not there.
    private mutating func mustBeWritable(_ path: String, key: String) {
        let end = path.lastIndex(of: "/")
        let folder = end.map { path[..<$0].isEmpty ? "/" : String(path[..<$0]) } ?? "."
        let isThere = unsafe access(path, F_OK) == 0
        var status = stat()
        if isThere, unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            problem(pipeline.problem(at: key, "\(path) is not a file").description)
        } else if isThere, unsafe access(path, R_OK) != 0 {
            problem(pipeline.problem(at: key, "\(path) cannot be read").description)
        } else if key == "journal.sqlite" || !isThere, unsafe access(folder, W_OK) != 0 {
            let reason = unsafe access(folder, F_OK) == 0 ? "cannot be written" : "does not exist"
            problem(pipeline.problem(at: key, "the folder \(folder) \(reason)").description)
        }
    }

    /// Whether there is a file that holds anything: an empty one is no journal yet.
    static func hasContent(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && status.st_size > 0
    }

    private func active(
        _ register: AccountRegister
    ) throws(CommandError) -> [RegisteredAccount] {
        do throws(JournalFailure) {
            return try register.accounts().filter { !$0.isPaused && !$0.isRemoving }
        } catch {
            throw CommandError(error)
        }
    }

    mutating func api(_ candidates: [Candidate]) {
        let url = pipeline.source.baseURL.text
        let reader: ListReader
        do throws(TraxError) {
            reader = try ListReader(
                assembly.endpoint, pageLimit: pipeline.source.pageLimit, limits: assembly.limits,
                requestTimeout: pipeline.source.requestTimeout)
            let status = try reader.probe()
            ok("API: \(url) answers (HTTP \(status))")
        } catch {
            away("API: \(url): \(error.reason)")
            return
        }
        for candidate in candidates.prefix(Self.readAccounts) { read(candidate, reader) }
        if candidates.count > Self.readAccounts {
            let rest = candidates.count - Self.readAccounts
            note("API: the credentials of \(rest) more accounts are there, and were not tried")
        }
    }

    private mutating func read(_ candidate: Candidate, _ reader: ListReader) {
        guard let credential = credential(of: candidate) else { return }
        let gap = Duration.seconds(1 / pipeline.source.perAccount.perSecond)
        switch reader.walk(credential: credential, gap: gap) {
        case .success(let walk):
            ok("API: \(candidate.id) can be read: \(walk.rows.count) connections")
        case .failure(let failure):
            switch failure.kind {
            case .refused:
                problem("API: the key of \(candidate.id) is refused: \(failure.reason)")
            case .throttled, .failed:
                away("API: \(candidate.id) cannot be read: \(failure.reason)")
            }
        }
    }

    /// What to read an account with; nil where that was told already.
    ///
    /// A person's refresh token is used only where the register can keep what comes of it.
    private mutating func credential(of candidate: Candidate) -> Secret? {
        switch candidate.person {
        case .none: return candidate.credential
        case .given:
            note(
                "API: the refresh token of \(candidate.id) is there, and was not tried: `run` takes"
                    + " it into the register first")
            return nil
        case .signedIn:
            do throws(CommandError) {
                return try workshop.token(of: candidate.id)
            } catch {
                if error.code == .unavailable {
                    away(error.message)
                } else {
                    problem(error.message)
                }
                return nil
            }
        }
    }

    mutating func broker() {
        let kafka = "librdkafka \(KafkaLibrary.version)"
        guard !assembly.kafkaSinks.isEmpty else { return }
        guard case .servers(let servers) = pipeline.kafka.brokers else {
            ok("broker: embedded (\(kafka)), for trying out: at-least-once, gone with the process")
            return
        }
        do throws(CommandError) {
            let settings = try assembly.kafkaSettings(
                journal: JournalID("check"), embedded: nil)
            let findings = try findings(settings, servers: servers)
            ok("broker: \(servers) answers (\(kafka))")
            for finding in findings { say(finding) }
            let isMissing = findings.contains { finding in
                if case .missing(let topic) = finding {
                    topic.name == settings.progressTopic
                } else {
                    false
                }
            }
            if !isMissing { progress(settings) }
        } catch {
            if error.code == .unavailable {
                away("broker: \(servers) (\(kafka)): \(error.message)")
            } else {
                problem("broker: \(servers) (\(kafka)): \(error.message)")
            }
        }
    }

    private func findings(
        _ settings: KafkaSettings, servers: String
    ) throws(CommandError) -> [TopicFinding] {
        do throws(KafkaError) {
            let admin = try KafkaAdmin(settings.client, log: { _ in })
            return try Topics(settings).findings(admin, timeout: .seconds(10))
        } catch {
            let failure = PublishFailure(error, doing: "looking at the topics", settings)
            throw CommandError(
                failure.kind == .misconfigured ? .configuration : .unavailable, failure.reason)
        }
    }

    private mutating func say(_ finding: TopicFinding) {
        switch finding {
        case .fits(let topic): ok("topic: \(topic.name)")
        case .noted(_, let text): note(text)
        case .missing(let topic): note("topic: \(topic.name) is not there yet; `run` makes it")
        case .unfit(_, let text): problem(text)
        }
    }
}
