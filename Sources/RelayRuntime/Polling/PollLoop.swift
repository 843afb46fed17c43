internal import ConnectionEvents
internal import Hashing
internal import RelayCore
internal import Threading

/// Carries out the schedule: begins walks, feeds them with answers, and hands what may change a
/// belief to the judge.
///
/// Everything but `post` and `figures` runs on the transport's thread. A walk whose bytes are those
/// of the last one, with nothing open, ends here: no JSON, no task, no disk.
final class PollLoop: PageDriver, @unchecked Sendable {
    // @unchecked: until the transport runs, one thread puts accounts in; from then on only the
    // transport's thread touches anything but the two locks.

    /// What other threads ask of the loop.
    enum Request: Sendable {
        case register([RegisteredAccount])
        case judged([Judgement])
        case orders([HoldOrder])
        case hasten(AccountID)
        case watches([LinkWatch])
        case bearer(BearerAnswer)
        case saveMarks
        case stop
    }

    /// Readings that may wait for the judge before no further walk begins.
    static let judgingLimit = 256
    /// The largest bodies that all walks under way may hold together, of that many times
    /// `limits.body`; those that wait for the judge count too.
    static let heldBodies = 32
    /// How long the published figures may be behind.
    static let figuresAge: Duration = .milliseconds(100)

    let settings: RelaySettings
    let clock: RelayClock
    let log: RelayLog
    let transport: any PageTransport
    let judge: JudgeQueue
    let requests: Lock<[Request]> = Lock([])
    let published: Lock<PollFigures> = Lock(PollFigures())
    let random: @Sendable () -> UInt64

    /// Gives the access tokens of people; nil: nobody does.
    let bearers: (any BearerSource)?
    var accounts: [PolledAccount?] = []
    /// People who are signed in, by slot.
    var people: [Int: PolledPerson] = [:]
    var slots: [AccountID: Int] = [:]
    var freeSlots: [Int] = []
    var walks: [Int: ActiveWalk] = [:]
    /// Register changes of accounts that the judge still has.
    var deferred: [Int: RegisteredAccount] = [:]
    var schedule: Schedule
    var answers = AnswerLedger()
    var seals = SealLedger()
    var figures = PollFigures()
    var judging = 0
    /// Bytes of bodies whose rows are in memory, of all walks under way.
    var heldBytes = 0
    /// Whose walk `figures.dueSince` is about.
    var dueSlot: Int?
    var once: OnceRound?
    /// How often accounts with open attempts to link are walked.
    var paces: [AccountID: WatchPace] = [:]
    private var figuresAt: Instant
    private var areFiguresStale = true

    init(
        settings: RelaySettings, clock: RelayClock, log: RelayLog, transport: any PageTransport,
        judge: JudgeQueue, bearers: (any BearerSource)? = nil,
        random: @escaping @Sendable () -> UInt64
    ) {
        self.bearers = bearers
        self.settings = settings
        self.clock = clock
        self.log = log
        self.transport = transport
        self.judge = judge
        self.random = random
        schedule = Schedule(rules: settings.schedule, seed: random(), now: clock.now)
        figuresAt = clock.now
    }

    /// Hands a request over, for the loop's next turn.
    ///
    /// Any thread.
    func post(_ request: Request) {
        requests.withLock { $0.append(request) }
        transport.wake()
    }

    func turn() -> Duration? {
        var now = clock.now
        guard takeRequests(now: now) else {
            transport.stop()
            return nil
        }
        var wait: Duration?
        while transport.free > 0, judging < Self.judgingLimit {
            now = clock.now
            let next = schedule.next(now: now)
            if case .wait(let until) = next {
                wait = until.map { max(.zero, $0 - now) }
                break
            }
            areFiguresStale = true
            switch next {
            case .walk(let slot, let due): begin(slot, due: due, now: now)
            case .page(let slot): ask(slot, now: now)
            case .wait: break
            }
        }
        if let once, once.isOver(judging: judging, walking: walks.count) {
            endOnce(once, now: now)
            if self.once?.isDone == true {
                judge.add(takeMarks())
                publishFigures(now: now)
                transport.stop()
                return nil
            }
        }
        return publishing(wait, now: now)
    }

    func answered(_ token: WalkToken, _ answer: PageAnswer) {
        let now = clock.now
        figures.hasAnswered = true
        let slot = token.number
        guard var active = walks[slot] else { return }
        active.isAsking = false
        let before = active.walk.bytes
        let step = active.walk.answered(answer, now: clock.wall)
        walks[slot] = active
        heldBytes += active.walk.bytes - before
        defer { areFiguresStale = true }
        let hasRoom = heldBytes <= Self.heldBodies * settings.limits.body
        switch step {
        case .page, .read:
            if !hasRoom { return giveWay(slot, now: now) }
        case .unchanged, .failed: break
        }
        switch step {
        case .page(let cursor):
            walks[slot]?.cursor = cursor
            schedule.wantsPage(slot, now: now)
        case .unchanged:
            seal(slot, active.walk.id, pages: max(1, active.walk.nextPage - 1), now: now)
        case .read(let reading):
            judge(reading, slot: slot)
        case .failed(let failure):
            end(slot, failure, now: now)
        }
    }

    /// All walks hold too much together: this one ends, the others go on, and it comes again soon.
    private func giveWay(_ slot: Int, now: Instant) {
        let failure = WalkFailure.noMemory
        noteFailure(slot, failure)
        finish(
            slot, .throttled(settings.schedule.confirmAfter), word: failure.code, now: now)
    }

    func failed(_ token: WalkToken, _ failure: PageFailure) {
        guard let active = walks[token.number] else { return }
        let now = clock.now
        let isLate = now >= active.deadline
        end(
            token.number,
            isLate ? .tookTooLong(settings.walkTimeout) : WalkFailure(failure), now: now)
        areFiguresStale = true
    }

    /// False when the loop is to end.
    private func takeRequests(now: Instant) -> Bool {
        let taken = requests.withLock { requests in
            defer { requests = [] }
            return requests
        }
        for request in taken {
            areFiguresStale = true
            switch request {
            case .register(let changes):
                for change in changes { register(change, now: now) }
            case .judged(let judgements):
                for judgement in judgements { take(judgement, now: now) }
            case .orders(let orders):
                for order in orders { carryOut(order) }
            case .hasten(let account):
                if let slot = slots[account], let known = accounts[slot], !known.isPaused,
                    !known.isRemoving
                {
                    schedule.hasten(slot, afresh: false, now: now)
                }
            case .watches(let watches):
                watch(watches, now: now)
            case .bearer(let answer):
                take(answer, now: now)
            case .saveMarks:
                judge.add(takeMarks())
            case .stop:
                judge.add(takeMarks())
                publishFigures(now: now)
                return false
            }
        }
        return true
    }

    /// Publishes the figures when they are due, and sees to it that a wait does not outlast them.
    private func publishing(_ wait: Duration?, now: Instant) -> Duration? {
        guard areFiguresStale else { return wait }
        let age = now - figuresAt
        if age >= Self.figuresAge {
            publishFigures(now: now)
            return wait
        }
        let rest = Self.figuresAge - age
        return wait.map { min($0, rest) } ?? rest
    }

    /// Lets others see how polling stands.
    func publishFigures(now: Instant) {
        figures.walking = walks.count
        figures.heldBytes = heldBytes
        figures.watches = paces.values.reduce(0) { $0 + $1.open.count }
        figures.active = schedule.active
        figures.cycle = schedule.cycle
        figures.isBudgetSufficient = schedule.isBudgetSufficient
        let copy = figures
        published.withLock { $0 = copy }
        figuresAt = now
        areFiguresStale = false
    }
}
