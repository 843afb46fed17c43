internal import ConnectionEvents
internal import Crypto
internal import HTTPServer
internal import Kafka
internal import RelayConfiguration
internal import RelayCore
internal import RelayDashboard
internal import RelayJournal
internal import RelayRuntime
internal import RelaySinks
internal import SignIn
internal import Threading

/// A relay with all that belongs to it: lock, journal, register, broker, HTTP.
final class RunningRelay: Sendable {
    let assembly: Assembly
    let relay: Relay
    let register: AccountRegister
    private let workshop: Workshop
    private let lock: JournalLock
    private let journal: SQLiteJournal
    private let routes: [Route]
    private let holds: HoldBook
    private let parked: ParkedBook
    private let links: LinkBook
    private let office: RelayLinkOffice
    private let desk: TokenDesk
    private let embedded: EmbeddedBroker?
    private let server = Lock<HTTPServer?>(nil)
    private let token: Lock<Secret?> = Lock(nil)

    /// Where the HTTP side listens, as `http://127.0.0.1:7080`; nil before it does.
    var address: String? {
        server.withLock { $0?.port }.map {
            "http://\(assembly.pipeline.http.listen.host):\($0)"
        }
    }

    /// The address of the embedded broker; nil where there is none.
    var embeddedBootstrap: String? { embedded?.bootstrap }

    /// Opens everything; nothing runs yet.
    ///
    /// - Parameter held: the journal's lock, if it is held already.
    /// - Throws: exit 78 for what is wrong with files, secrets or the lock.
    init(
        _ workshop: Workshop, log: RelayLog, terminal: Terminal, lock held: JournalLock? = nil
    ) throws(CommandError) {
        self.workshop = workshop
        let pipeline = workshop.pipeline
        assembly = Assembly(pipeline: pipeline, log: log)
        let missing = pipeline.secretProblems()
        guard missing.isEmpty else { throw CommandError(ConfigurationError(.invalid, missing)) }
        let journal: SQLiteJournal
        let register: AccountRegister
        let holds: HoldBook
        let parked: ParkedBook
        let people: PersonBook
        let lock: JournalLock
        do throws(JournalFailure) {
            if let held {
                lock = held
            } else {
                lock = try JournalLock(journal: pipeline.journal.sqlite)
            }
        } catch {
            throw CommandError(opening: error)
        }
        let file = try workshop.openFile(.create, lock: lock)
        for warning in file.warnings { log.note(.warning, "journal", warning) }
        do throws(JournalFailure) {
            journal = try SQLiteJournal(
                file, lock: lock, limits: JournalLimits(total: pipeline.journal.maxSize))
            register = try AccountRegister(file)
            holds = try HoldBook(file)
            parked = try ParkedBook(file)
            people = try PersonBook(file)
            try people.forgetLeases(of: Assembly.relayHolder)
        } catch {
            throw CommandError(error)
        }
        self.lock = lock
        self.journal = journal
        self.register = register
        self.holds = holds
        self.parked = parked
        desk = assembly.tokenDesk(people, holder: Assembly.relayHolder)
        (links, office) = try assembly.linking(on: file, desk)
        try AccountsImport.run(pipeline, into: register, log: log, terminal: terminal)
        embedded = try assembly.embeddedBroker()
        routes = try assembly.routes(journal: journal, embedded: embedded)
        let parts = Relay.Parts(
            settings: assembly.settings, journal: journal, register: register, holds: holds,
            links: links, parking: parked, upkeep: journal, bearers: desk,
            transport: try assembly.transport(),
            routes: routes, log: log)
        do throws(JournalFailure) {
            relay = try Relay(parts)
        } catch {
            throw CommandError(error)
        }
        try readToken()
    }

    /// Starts polling and delivering, and with `serves` the HTTP side.
    func start(once: Bool, serves: Bool) throws(CommandError) {
        if serves { try serve() }
        do throws(JournalFailure) {
            try relay.start(once: once)
        } catch {
            throw CommandError(error)
        }
    }

    /// Takes the accounts file and the secrets anew; what is wrong is logged, and readiness says
    /// so.
    func reload(terminal: Terminal) {
        let log = assembly.log
        do throws(CommandError) {
            try readToken()
        } catch {
            log.note(.error, "reload", "the token stays as it was: \(error.message)")
        }
        do throws(CommandError) {
            try AccountsImport.run(
                assembly.pipeline, into: register, log: log, terminal: terminal)
            relay.noteAccountsFile(problem: nil)
            relay.readRegister()
            log.note(.info, "reload", "accounts and secrets reloaded")
        } catch {
            let lines = error.message.split(separator: "\n").map { $0.drop { $0 == " " } }
            for line in lines.prefix(Self.reloadLines) {
                log.note(.error, "reload", "reload refused: \(line)")
            }
            if lines.count > Self.reloadLines {
                log.note(
                    .error, "reload",
                    "reload refused: \(lines.count - Self.reloadLines) lines more;"
                        + " `trax-relay check` prints them all")
            }
            relay.noteAccountsFile(problem: Self.told(lines.map(String.init)))
        }
    }

    /// Problems of an accounts file as one sentence; a heading of their number is left out.
    static func told(_ lines: [String]) -> String {
        let problems = lines.count > 1 && lines[0].hasSuffix(":") ? lines.dropFirst() : lines[...]
        let more = problems.count - 3
        return "the accounts file was not taken: " + problems.prefix(3).joined(separator: "; ")
            + (more > 0 ? "; and \(more) more" : "")
    }

    /// How many problems of an accounts file a reload logs.
    private static let reloadLines = 10

    /// Stops polling, delivers for at most that long, and closes everything.
    ///
    /// - Returns: whether everything was delivered.
    @discardableResult
    func stop(within limit: Duration) -> Bool {
        let began = ContinuousClock.now
        let isDelivered = relay.stop(within: limit)
        let left = limit - began.duration(to: .now)
        close(flights: max(.seconds(1), left))
        return isDelivered
    }

    /// What begins the journal anew, once the relay is stopped.
    func renewal() -> Renewal {
        Renewal(
            settings: assembly.settings, journal: journal, register: register, routes: routes,
            log: assembly.log)
    }

    /// The same relay once more, on the journal as it is now; this one must be closed.
    func again(terminal: Terminal) throws(CommandError) -> RunningRelay {
        try RunningRelay(workshop, log: assembly.log, terminal: terminal, lock: lock)
    }

    /// Closes what is not the relay's own: HTTP, journal, embedded broker.
    ///
    /// - Parameter flights: how long tokens that are being refreshed may take.
    func close(flights: Duration = .seconds(3)) {
        server.withLock { server in
            defer { server = nil }
            return server
        }?.stop()
        desk.close(within: flights)
        do throws(JournalFailure) {
            try journal.close()
        } catch {
            assembly.log.note(.warning, "journal", "the journal did not close: \(error.reason)")
        }
        if let embedded { _ = embedded.close(within: .seconds(2)) }
    }

    private func serve() throws(CommandError) {
        let listen = assembly.pipeline.http.listen
        let relay = relay
        let token = token
        let pages = RelayPages(
            token: { token.withLock { $0 } }, version: RelayVersion.text,
            libraries: [("librdkafka", KafkaLibrary.version)],
            holds: HoldPages(holds) { relay.readOrders() },
            links: LinkPages(office, desk: links) { relay.readWatches() }, status: { relay.status })
        do throws(HTTPServerError) {
            let server = try HTTPServer(
                host: listen.host, port: UInt16(clamping: listen.port ?? 0)
            ) { pages.reply(to: $0) }
            assembly.log.note(
                .info, "http", "listening",
                ["address": "http://\(listen.host):\(server.port)"])
            self.server.withLock { $0 = server }
        } catch {
            throw CommandError(
                .configuration,
                assembly.pipeline.problem(at: "http.listen", error.reason).description)
        }
    }

    private func readToken() throws(CommandError) {
        guard let reference = assembly.pipeline.http.token else { return }
        do throws(ConfigurationError) {
            let secret = try reference.resolve()
            token.withLock { $0 = secret }
        } catch {
            throw CommandError(error)
        }
    }
}
