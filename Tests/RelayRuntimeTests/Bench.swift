import ConnectionEvents
import Crypto
import Hashing
import RelayCore
import Testing
import Threading

@testable import RelayRuntime

/// A transport that a test answers by hand, on its own thread.
final class ManualTransport: PageTransport, @unchecked Sendable {
    // @unchecked: one test on one thread.
    let places: Int
    private(set) var asking: [WalkToken: PageRequest] = [:]
    private(set) var isStopped = false

    init(places: Int) { self.places = places }

    var free: Int { places - asking.count }

    func run(_ driver: any PageDriver) {}
    func wake() {}
    func stop() { isStopped = true }

    func request(_ page: PageRequest, token: WalkToken) {
        precondition(free > 0, "a request without a free place")
        precondition(asking.updateValue(page, forKey: token) == nil, "two requests of one walk")
    }

    func cancel(_ token: WalkToken) {
        precondition(asking.removeValue(forKey: token) != nil, "nothing to cancel")
    }

    /// Takes a request out, to be answered.
    func take(_ token: WalkToken) -> PageRequest? { asking.removeValue(forKey: token) }
}

/// Poll loop and judge without threads: a test decides what comes when.
///
/// The schedule's waits are so short that time plays no part.
final class Bench {
    let world = World()
    let register: FakeRegister
    let journal: FakeJournal
    private(set) var queue = JudgeQueue()
    private(set) var loop: PollLoop
    private(set) var judge: Judge
    private(set) var transport: ManualTransport
    /// What was logged.
    let lines: Lock<[String]>
    private let settings: RelaySettings
    private let bearers: (any BearerSource)?
    private let random: Lock<SeededRandom>
    private var epochs = EpochSource(last: 0)
    private var postponed: [JudgeJob] = []

    init(
        seed: UInt64 = 1, places: Int = 8, once: Int? = nil, limits: WalkLimits = WalkLimits(),
        brake: Brake? = nil, bearers: (any BearerSource)? = nil
    ) {
        self.bearers = bearers
        register = FakeRegister()
        journal = FakeJournal(register)
        settings = RelaySettings(
            name: "bench", detection: Detection(brake: brake),
            schedule: ScheduleRules(
                budget: 1e9, perAccount: 1e9, fastest: .zero, slowest: .nanoseconds(1),
                places: places),
            limits: limits, requestTimeout: .seconds(100), walkTimeout: .seconds(1000))
        random = Lock(SeededRandom(seed: seed))
        transport = ManualTransport(places: places)
        lines = Lock([])
        (loop, judge) = Self.make(
            settings, transport, queue, journal, register, random, lines, bearers)
        loop.once = once.map { OnceRound(total: $0) }
    }

    private static func make(
        _ settings: RelaySettings, _ transport: ManualTransport, _ queue: JudgeQueue,
        _ journal: FakeJournal, _ register: FakeRegister, _ random: Lock<SeededRandom>,
        _ lines: Lock<[String]>, _ bearers: (any BearerSource)?
    ) -> (PollLoop, Judge) {
        let clock = RelayClock()
        let log = RelayLog { line in lines.withLock { $0.append(line) } }
        let loop = PollLoop(
            settings: settings, clock: clock, log: log, transport: transport, judge: queue,
            bearers: bearers, random: { random.withLock { $0.next() } })
        let judge = Judge(
            settings: settings, clock: clock, log: log, journal: journal, register: register,
            sinks: [], queue: queue, head: Lock(.start))
        return (loop, judge)
    }

    /// The process ends at this instant, and another begins with what is in journal and register.
    func crash() throws {
        queue = JudgeQueue()
        postponed = []
        transport = ManualTransport(places: transport.places)
        (loop, judge) = Self.make(
            settings, transport, queue, journal, register, random, lines, bearers)
        epochs = EpochSource(last: try journal.lastEpoch())
        try start()
    }

    /// Takes in what the register holds, as at a start.
    func start() throws {
        let heads = try journal.heads()
        loop.recall(
            try register.accounts(), heads: heads, marks: try journal.marks(),
            now: loop.clock.now)
        loop.recallFleet(heads)
    }

    /// Hands the register's changes to the loop.
    func readRegister() throws {
        let changes = try register.changes()
        if !changes.isEmpty { loop.post(.register(changes)) }
    }

    /// One turn of the loop.
    func turn() { _ = loop.turn() }

    /// Answers one request as the world would; false where the world is silent.
    @discardableResult
    func answer(_ token: WalkToken) -> Bool {
        guard let page = transport.asking[token] else { return false }
        let answer = world.reply(page.credential.reveal(), cursor: page.cursor)
        guard answer != .silence, transport.take(token) != nil else { return false }
        switch answer {
        case .truth, .silence: preconditionFailure("no answer")
        case .status(let status, let body): loop.answer(token, status, body)
        case .throttled(let seconds): loop.answer(token, 429, "", retryAfter: "\(seconds)")
        case .failure(let code): loop.failed(token, PageFailure(code: code, reason: "scripted"))
        }
        return true
    }

    /// The judge works on what waits, at most so many jobs.
    func judgeSome(_ limit: Int = 500) {
        guard let jobs = queue.take(limit: limit, bytes: .max, patience: .zero) else { return }
        let loop = loop
        postponed = judge.judge(postponed + jobs, epochs: &epochs) { loop.post(.judged($0)) }
        let marks = queue.takeMarks()
        journal.content.withLock { content in
            if content.commitFailure == nil { content.marks.merge(marks) { _, new in new } }
        }
    }

    /// Turns, answers and judges, so many times.
    func settle(_ rounds: Int = 12) {
        for _ in 0..<rounds {
            turn()
            for token in transport.asking.keys.sorted(by: { $0.number < $1.number }) {
                answer(token)
            }
            judgeSome()
        }
        turn()
    }

    func slot(_ id: String) throws -> Int { try #require(loop.slots[try account(id)]) }

    func polled(_ id: String) throws -> PolledAccount {
        try #require(loop.accounts[try slot(id)])
    }

    /// Adds an account with a key of its own and these rows; status by id.
    func add(_ id: String, _ rows: [String: String], paused: Bool = false) throws {
        world.put("key-of-\(id)", rows)
        register.add(try account(id), key: "key-of-\(id)", paused: paused)
    }

    /// Says what is inconsistent between accounts, walks, schedule and figures; nil: nothing.
    func inconsistency() -> String? {
        let known = loop.accounts.indices.compactMap { slot in
            loop.accounts[slot].map { (slot, $0) }
        }
        let active = known.filter { !$0.1.isPaused && !$0.1.isRemoving }.map(\.1)
        let figures = loop.figures
        for (name, one, other) in [
            ("slots", loop.slots.count, known.count),
            ("free slots", loop.freeSlots.count, loop.accounts.count - known.count),
            ("active", loop.schedule.active, active.count),
            ("paused", figures.paused, known.count { $0.1.isPaused && !$0.1.isRemoving }),
            ("blind", figures.blind, active.count(where: \.isBlind)),
            ("failing", figures.failing, active.count(where: \.isFailing)),
            ("fleet refused", figures.fleetRefused, active.count(where: \.isFleetRefused)),
            ("first round", figures.firstRoundLeft, active.count(where: \.isInFirstRound)),
            ("judging", loop.judging, active.count(where: \.isJudging)),
            ("asking", transport.asking.count, loop.walks.values.count(where: \.isAsking)),
        ] where one != other { return "\(name): \(one), and \(other) by the accounts" }
        for slot in loop.walks.keys where loop.accounts[slot].map(\.isPaused) ?? true {
            return "a walk of slot \(slot), where nobody is to be walked"
        }
        for (slot, account) in known where account.isJudging && loop.walks[slot] == nil {
            return "\(account.id) is judged and has no walk"
        }
        return nil
    }
}
