internal import ConnectionEvents
internal import JSON
public import RelayCore
internal import Threading

/// Begins a journal anew that was lost, restored from an older copy, or takes another's place.
///
/// Beliefs are read back from a state topic, if the pipeline has one that was whole; every account
/// of the register gets a new epoch, whose first event is `account.resynced`; nothing older is
/// sent. It is one transaction of the journal at its end: whenever the process dies, the next start
/// finds the same misfit, or a journal that is renewed.
///
/// Nothing else may run on the journal meanwhile, and it must be opened anew afterwards. Memory:
/// the register, and ``batch`` records. Threads: `run` by one; `abandon` by any.
public final class Renewal: Sendable {
    /// How many records of a state topic go into the journal at once.
    static let batch = 1000

    private let settings: RelaySettings
    private let journal: any RenewableJournal
    private let register: any Register
    private let routes: [Route]
    private let log: RelayLog
    private let readings: RelayClock.Readings
    private let isAbandoned = Lock(false)

    /// A renewal of that journal.
    public convenience init(
        settings: RelaySettings, journal: any RenewableJournal, register: any Register,
        routes: [Route], log: RelayLog
    ) {
        self.init(
            settings: settings, journal: journal, register: register, routes: routes, log: log,
            readings: .system)
    }

    /// A renewal by other clocks than the machine's.
    package init(
        settings: RelaySettings, journal: any RenewableJournal, register: any Register,
        routes: [Route], log: RelayLog, readings: RelayClock.Readings
    ) {
        self.readings = readings
        self.settings = settings
        self.journal = journal
        self.register = register
        self.routes = routes
        self.log = log
    }

    /// Ends `run` at its next record; the journal stays as it was.
    public func abandon() { isAbandoned.signal { $0 = true } }

    /// Waits that long, or until it is abandoned, and says whether it is.
    public func waitAbandoned(for time: Duration) -> Bool {
        isAbandoned.wait(timeout: time) { $0 ? true : nil } ?? false
    }

    /// Renews the journal; blocks until it has.
    ///
    /// - Throws: `unavailable` where journal or state topic could not be read or written; it may be
    ///   tried again.
    public func run(_ misfit: Misfit) throws(PublishFailure) {
        var read = Read()
        try PublishFailure.journaling { () throws(JournalFailure) in try journal.forgetStates() }
        if let source = source(misfit) { read = try readBack(from: source) }
        try PublishFailure.journaling { () throws(JournalFailure) in try renew(misfit, read) }
    }

    /// What was read of a state topic.
    private struct Read {
        var records = 0
        var unreadable = 0
        var epoch: Int64 = 0
        var observedAt = Timestamp(milliseconds: 0)
    }

    /// The state sink that has come furthest; one without progress was never whole.
    private func source(_ misfit: Misfit) -> (route: Route, sink: SinkName)? {
        var best: (route: Route, sink: SinkName, progress: Progress)?
        for route in routes {
            for plan in route.sinks where plan.role == .state {
                guard let progress = misfit.progress[plan.name] else { continue }
                // Positions of two journals say nothing of each other; epochs only grow.
                let isFurther =
                    best.map {
                        ($0.progress.epoch, $0.progress.position)
                            < (progress.epoch, progress.position)
                    } ?? true
                if isFurther { best = (route, plan.name, progress) }
            }
        }
        return best.map { ($0.route, $0.sink) }
    }

    private func readBack(
        from source: (route: Route, sink: SinkName)
    ) throws(PublishFailure) -> Read {
        var read = Read()
        var states: [ReadState] = []
        try source.route.publisher.states(of: source.sink) { (held) throws(PublishFailure) in
            guard !isAbandoned.withLock({ $0 }) else {
                throw PublishFailure(kind: .again, code: "stopping", reason: "the relay stops")
            }
            guard let state = take(held, &read) else { return }
            states.append(state)
            guard states.count >= Self.batch else { return }
            try PublishFailure.journaling { () throws(JournalFailure) in try journal.keep(states) }
            states.removeAll(keepingCapacity: true)
        }
        try PublishFailure.journaling { () throws(JournalFailure) in try journal.keep(states) }
        if read.unreadable > 0 {
            log.note(
                .warning, "renewal", "records of a state topic could not be read; they are left",
                ["sink": source.sink.text, "records": "\(read.unreadable)"])
        }
        return read
    }

    /// A record as the journal keeps it; nil for what is no state record.
    private func take(_ held: HeldState, _ read: inout Read) -> ReadState? {
        guard let (account, connection) = StateRecord.split(key: held.key) else {
            read.unreadable += 1
            return nil
        }
        if let value = held.value {
            guard let record = StateRecord(parsing: value), record.account == account,
                record.connection.id == connection
            else {
                read.unreadable += 1
                return nil
            }
            read.records += 1
            read.epoch = max(read.epoch, record.epoch)
            read.observedAt = max(read.observedAt, record.observedAt)
        }
        return ReadState(
            account: account, connection: connection, value: held.value,
            partition: held.partition, writtenAt: held.writtenAt)
    }

    private func renew(_ misfit: Misfit, _ read: Read) throws(JournalFailure) {
        let registered = try register.accounts().sorted { $0.id < $1.id }
        let tags = Dictionary(
            registered.map { ($0.id, $0.credentialTag) }, uniquingKeysWith: { first, _ in first })
        let lastEpoch = try journal.lastEpoch()
        let told = misfit.progress.values.map(\.epoch).max() ?? 0
        let floor = max(lastEpoch, read.epoch, told, read.observedAt.milliseconds)
        let now = RelayClock(
            floor: Timestamp(milliseconds: floor + 1), readings: readings
        ).stamp()
        let plans = routes.flatMap(\.sinks)
        let remote = Set(routes.filter(\.isRemote).flatMap(\.sinks).map(\.name))
        let places = try journal.places().filter { remote.contains($0.key) }
        let renewal = JournalRenewal(
            accounts: registered.map { ($0.id, $0.incarnation) },
            eventSinks: plans.filter { $0.role != .state }.map(\.name),
            kept: min(try journal.head(), places.values.min() ?? .start),
            answered: misfit.progress, epoch: now.milliseconds)
        var rows = 0
        let id = try journal.renew(renewal) { account, incarnation, records in
            rows += records.count
            var (belief, decision) = Belief.renewed(
                account, from: records, epoch: now.milliseconds, incarnation: incarnation,
                reason: misfit.reason, rules: settings.detection,
                walkTimeout: settings.walkTimeout, decidedAt: now)
            // The key that is in use now is no new one.
            belief.head.credentialTag = tags[account] ?? []
            var entries = decision.entries
            for index in entries.indices {
                guard let event = entries[index].event else { continue }
                let facts = EventFacts(event)
                entries[index].numberedBy =
                    plans.filter { $0.numbers(facts, of: account) }.map(\.name)
            }
            return (belief, entries)
        }
        log.note(
            .warning, "renewal", "the journal has begun anew: every account has a new epoch",
            [
                "reason": misfit.reason.rawValue, "accounts": "\(registered.count)",
                "rows": "\(rows)", "before": misfit.progress[misfit.sink]?.journal.text ?? "?",
                "journal": id.text,
            ])
    }
}
