internal import ConnectionEvents
public import RelayCore
internal import Threading

/// The relay: polls, judges, writes and delivers, on threads of its own.
///
/// Made from ports, so it knows no curl, no SQLite and no Kafka. Threads: `start` once, from one
/// thread; everything else from any.
public final class Relay: Sendable {
    /// What a relay is made of.
    public struct Parts: Sendable {
        /// What polling and judging need to know.
        public var settings: RelaySettings
        /// Makes belief and events durable.
        public var journal: any Journal
        /// Which accounts there are.
        public var register: any Register
        /// Where operators order that holds be ended; nil: nowhere.
        public var holds: (any HoldDesk)?
        /// Where attempts to link are watched for; nil: nowhere.
        public var links: (any LinkDesk)?
        /// Keeps records that sinks do not take; nil: a sink waits for ever at such a record.
        public var parking: (any ParkingDesk)?
        /// Keeps the journal within its bounds; nil: it has none.
        public var upkeep: (any JournalUpkeep)?
        /// Gives the access tokens of people who are signed in; nil: no account is a person's.
        public var bearers: (any BearerSource)?
        /// Asks the API.
        public var transport: any PageTransport
        /// Where entries go.
        public var routes: [Route]
        /// The relay's own log.
        public var log: RelayLog

        /// Parts, one by one.
        public init(
            settings: RelaySettings, journal: any Journal, register: any Register,
            holds: (any HoldDesk)? = nil, links: (any LinkDesk)? = nil,
            parking: (any ParkingDesk)? = nil, upkeep: (any JournalUpkeep)? = nil,
            bearers: (any BearerSource)? = nil,
            transport: any PageTransport, routes: [Route], log: RelayLog
        ) {
            self.upkeep = upkeep
            self.bearers = bearers
            self.settings = settings
            self.journal = journal
            self.register = register
            self.holds = holds
            self.links = links
            self.parking = parking
            self.transport = transport
            self.routes = routes
            self.log = log
        }
    }

    /// What `run --once` found.
    public struct OnceResult: Hashable, Sendable {
        /// Accounts whose walk was sealed.
        public var sealed: Int
        /// Accounts whose walk was not.
        public var unsealed: Int
        /// Whether everything was delivered.
        public var isDelivered: Bool
    }

    struct State {
        var startedAt = Timestamp(milliseconds: 0)
        var accountsFileProblem: String?
        var isWaitingForBroker = false
        var isStopping = false
        var wantsRegister = false
        /// The newest order about a hold that was taken.
        var lastOrder: Int64 = 0
        /// The newest watch of an attempt to link that was taken.
        var lastWatch: Int64 = 0
        var threads: [OSThread] = []
        var judgeThread: OSThread?
        var courierThreads: [OSThread] = []
        var failure: PublishFailure?
        var onceResult: (sealed: Int, unsealed: Int)?
    }

    let parts: Parts
    let clock: RelayClock
    let loop: PollLoop
    let queue: JudgeQueue
    let judge: Judge
    let couriers: [Courier]
    let head: Lock<JournalPosition>
    let state = Lock(State())
    /// How the journal stands with its bounds.
    let bounds = Lock(BoundsFigures())

    /// Puts the parts together; nothing runs yet.
    ///
    /// - Throws: where the journal cannot be read.
    public convenience init(_ parts: Parts) throws(JournalFailure) {
        try self.init(
            parts, readings: .system, random: { UInt64.random(in: .min ... .max) })
    }

    /// Puts the parts together over any clocks and any randomness.
    init(
        _ parts: Parts, readings: RelayClock.Readings, random: @escaping @Sendable () -> UInt64
    ) throws(JournalFailure) {
        self.parts = parts
        let journal = parts.journal
        let clock = RelayClock(floor: try Self.lastStamp(of: journal), readings: readings)
        let head = Lock(try journal.head())
        let queue = JudgeQueue()
        let loop = PollLoop(
            settings: parts.settings, clock: clock, log: parts.log, transport: parts.transport,
            judge: queue, bearers: parts.bearers, random: random)
        self.clock = clock
        self.head = head
        self.queue = queue
        self.loop = loop
        judge = Judge(
            settings: parts.settings, clock: clock, log: parts.log, journal: journal,
            register: parts.register, sinks: parts.routes.flatMap(\.sinks), queue: queue,
            head: head)
        couriers = parts.routes.map {
            Courier(
                name: parts.settings.name, route: $0, journal: journal, clock: clock,
                log: parts.log, head: head, parking: $0.isRemote ? parts.parking : nil)
        }
        journal.awaitWord(
            of: Set(parts.routes.filter(\.isRemote).flatMap(\.sinks).map(\.name)))
    }

    /// Nothing that this journal has stamped is later.
    private static func lastStamp(of journal: any Journal) throws(JournalFailure) -> Timestamp {
        let head = try journal.head()
        var last = Timestamp(milliseconds: try journal.lastEpoch())
        if head > .start {
            let newest = try journal.entries(
                after: JournalPosition(head.number - 1), limit: 1, bytes: 1)
            last = max(last, newest.first?.event?.decidedAt ?? last)
        }
        return last
    }

    /// Loads what is remembered and starts the threads.
    ///
    /// - Parameters:
    ///   - once: walk every account once, then stop polling.
    ///   - brokerPatience: how long a round with an empty journal waits for its broker.
    /// - Throws: where the journal or the register cannot be read.
    public func start(
        once: Bool = false, brokerPatience: Duration = oncePatience
    ) throws(JournalFailure) {
        let (lastEpoch, isEmpty) = try prepare(once: once)
        launch(
            lastEpoch: lastEpoch, waitsForBroker: isEmpty, once: once,
            brokerPatience: brokerPatience)
    }

    /// Loads what is remembered; no thread runs yet.
    ///
    /// - Returns: the largest epoch so far, and whether the journal has neither belief nor event.
    func prepare(once: Bool) throws(JournalFailure) -> (lastEpoch: Int64, isEmpty: Bool) {
        try settlePlaces()
        let heads = try parts.journal.heads()
        let marks = try parts.journal.marks()
        let accounts = try parts.register.accounts()
        for courier in couriers {
            courier.status.withLock { $0.accounts = Set(accounts.map(\.id)) }
        }
        let lastEpoch = try parts.journal.lastEpoch()
        let head = try parts.journal.head()
        let isEmpty = heads.isEmpty && head == .start
        try raiseStamps(heads: heads, marks: marks, head: head)
        judgeRules(heads: heads)
        forgetStrangers(heads: heads, accounts: accounts)
        if once {
            loop.once = OnceRound(total: accounts.count { !$0.isPaused && !$0.isRemoving })
        }
        loop.recall(accounts, heads: heads, marks: marks, now: clock.now)
        loop.recallFleet(heads)
        // Orders of the time when no relay ran come before anything is walked.
        for order in try takeOrders() { loop.carryOut(order) }
        loop.watch(try takeWatches(), now: clock.now)
        state.withLock { $0.startedAt = clock.stamp() }
        return (lastEpoch, isEmpty)
    }

    /// No stamp is earlier than those of the life before, whatever the wall clock did meanwhile.
    private func raiseStamps(
        heads: [AccountID: BeliefHead], marks: [AccountID: SealMark], head: JournalPosition
    ) throws(JournalFailure) {
        for walk in marks.values.map(\.walk) { clock.raise(to: walk.start) }
        for head in heads.values {
            let stamps = [head.lastSealed?.start, head.refusal?.since, head.missingSince.last]
            for stamp in stamps.compactMap(\.self) { clock.raise(to: stamp) }
        }
        // The newest event, looked for from the end: state records alone may follow it.
        var end = head
        for _ in 0..<Self.stampReads {
            let start = JournalPosition(max(0, end.number - Self.stampRead))
            let entries = try parts.journal.entries(
                after: start, limit: Int(end.number - start.number), bytes: .max)
            if let last = entries.compactMap({ $0.event?.decidedAt }).max() {
                return clock.raise(to: last)
            }
            guard start > .start else { return }
            end = start
        }
    }

    /// How many entries are looked through at once for the newest event, and how often.
    private static let (stampRead, stampReads): (Int64, Int) = (100, 100)

    /// New sinks begin at the head; those that are gone from the pipeline are forgotten.
    private func settlePlaces() throws(JournalFailure) {
        let known = try parts.journal.places()
        let head = try parts.journal.head()
        let sinks = Set(parts.routes.flatMap(\.sinks).map(\.name))
        var places: [SinkName: JournalPosition?] = [:]
        let fresh = sinks.filter { known[$0] == nil }
        for courier in couriers { courier.status.withLock { $0.fresh = fresh } }
        // A state sink has a place only when it was filled, so that a filling cut short is
        // repeated.
        let states = Set(
            parts.routes.flatMap(\.sinks).filter { $0.role == .state }.map(\.name))
        for sink in fresh where !states.contains(sink) { places.updateValue(head, forKey: sink) }
        for sink in known.keys where !sinks.contains(sink) {
            places.updateValue(nil, forKey: sink)
        }
        if !places.isEmpty { try parts.journal.setPlaces(places) }
    }

    /// Under a changed `detection` all believed rows are judged anew, before any walk.
    private func judgeRules(heads: [AccountID: BeliefHead]) {
        let digest = parts.settings.detection.digest
        for (account, head) in heads.sorted(by: { $0.key < $1.key })
        where head.rulesDigest != digest && head.isBaselined {
            queue.add(
                JudgeJob(
                    slot: nil, account: account, incarnation: head.incarnation,
                    credentialTag: head.credentialTag, matter: .rules))
        }
    }

    /// Beliefs of accounts that are in no register any more end as removals.
    private func forgetStrangers(
        heads: [AccountID: BeliefHead], accounts: [RegisteredAccount]
    ) {
        let registered = Set(accounts.map(\.id))
        for (account, head) in heads.sorted(by: { $0.key < $1.key })
        where !registered.contains(account) {
            queue.add(
                JudgeJob(
                    slot: nil, account: account, incarnation: head.incarnation,
                    credentialTag: [], matter: .removal))
        }
    }

    private func launch(
        lastEpoch: Int64, waitsForBroker: Bool, once: Bool, brokerPatience: Duration
    ) {
        let (judge, loop, state) = (judge, loop, state)
        let remembering = waitsForBroker ? couriers.filter(\.route.isRemote) : []
        let remote = couriers.filter(\.route.isRemote)
        state.withLock { $0.isWaitingForBroker = !remembering.isEmpty }
        let judgeThread = OSThread(name: "judge") {
            // An empty journal stays empty until it is known whether another was lost.
            let goesOn = state.wait { state -> Bool? in
                if state.failure != nil { return false }
                return state.isWaitingForBroker && !state.isStopping
                    ? nil : !state.isWaitingForBroker
            }
            guard goesOn == true else { return }
            judge.run(lastEpoch: lastEpoch) { loop.post(.judged($0)) }
        }
        let courierThreads = couriers.map { courier in
            OSThread(name: "courier") { [self] in
                // What a broker tells of the journal may end what it holds: its sinks speak first,
                // and of a journal that does not fit nobody is told.
                if !courier.route.isRemote {
                    guard Self.awaitFirstTry(of: remote), misfit == nil else { return }
                }
                courier.run()
                guard let failure = courier.status.withLock({ $0.stopped }) else { return }
                state.signal { $0.failure = $0.failure ?? failure }
            }
        }
        state.withLock { state in
            state.judgeThread = judgeThread
            state.courierThreads = courierThreads
        }
        let pollThread = OSThread(name: "poll") { [self] in
            let limit: Duration? = once ? brokerPatience : nil
            for courier in remembering { awaitProgress(of: courier, within: limit) }
            let hasProgress = remembering.allSatisfy { $0.status.withLock { $0.hasOpened } }
            let goesOn = state.signal { state in
                state.isWaitingForBroker = !hasProgress
                return hasProgress && !state.isStopping && state.failure == nil
            }
            if goesOn { parts.transport.run(loop) }
            if let round = loop.once {
                state.signal { $0.onceResult = (round.sealed, round.total - round.sealed) }
            }
        }
        let houseThread = OSThread(name: "house") { [self] in if !once { keepHouse() } }
        let upkeepThread = OSThread(name: "upkeep") { [self] in keepBounds() }
        state.withLock { $0.threads = [pollThread, houseThread, upkeepThread] }
    }

    /// Waits until each of these has opened, or failed to for the first time; false when it is
    /// stopped before that.
    private static func awaitFirstTry(of remote: [Courier]) -> Bool {
        remote.allSatisfy { courier in
            courier.status.wait { status -> Bool? in
                if status.hasTried || status.stopped != nil { return true }
                return status.isStopping ? false : nil
            } ?? false
        }
    }

    /// A journal without belief or event walks nothing before the broker has told what it
    /// remembers: a lost disk would otherwise pass for a new relay.
    ///
    /// - Parameter limit: a round of `--once` waits no longer, and then has failed.
    private func awaitProgress(of courier: Courier, within limit: Duration?) {
        let ended = courier.status.wait(timeout: limit) { [state] status -> Bool? in
            status.hasOpened || status.stopped != nil || status.isStopping
                || state.withLock { $0.isStopping } ? true : nil
        }
        guard ended == nil else { return }
        let failure = courier.published.withLock { $0.compactMap(\.failure).first }
        state.signal { state in
            state.failure =
                state.failure
                ?? PublishFailure(
                    kind: .unavailable, code: "broker_progress",
                    reason: "nothing was walked: an empty journal waits until the broker has told"
                        + " what was published. \(failure?.reason ?? "It does not answer.")")
        }
    }
}
