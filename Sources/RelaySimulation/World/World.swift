internal import ConnectionEvents
internal import RelayCore
internal import RelayRuntime

/// One simulated history: a fleet, an API, a broker, a disk, and the relay's parts.
final class World: @unchecked Sendable {
    // @unchecked: a simulation runs on one thread; closures of the relay's parts call back on it.
    static let events = SinkName("connections.events")
    static let alerts = SinkName("connections.alerts")
    static let state = SinkName("connections.state")
    static let output = SinkName("log")
    static let sinks = [events, alerts, state, output]
    static let alertTypes: Set<EventType> = [
        .failing, .repaired, .unlinked, .accountBlind, .accountRemoved,
    ]
    /// What every credential of a simulation begins with.
    static let canary = "sk_sim_"
    /// More steps than any history of this length needs.
    static let stepLimit = 400_000

    let scenario: Scenario
    let sabotage: Sabotage
    let clock = VirtualClock()
    let api: SimulatedAPI
    let register: SimulatedRegister
    var agenda = Agenda()
    var disk = Disk()
    var broker = Broker()
    var detection = Detection()
    var life = Life(number: 0)
    var relay: SteppedRelay?
    var transport: SimulatedTransport?
    private(set) lazy var checks = Checks(self)
    var troubles: [Int: DiskTrouble] = [:]
    var keySerials: [Int: Int] = [:]
    var dice: Dice
    /// When each part is to take its next step; nil: it waits.
    var turnAt: Instant?
    var judgeAt: Instant?
    var carryAt: [Int: Instant] = [:]
    var waits: [Int: JournalPosition] = [:]
    /// How the process is to die about the next hold.
    var holdFuse: (effects: Int, isBefore: Bool, rest: Duration)?
    /// A copy of the journal's file, and what it had told.
    var backup: Backup?
    var hasLost = false
    /// How many journals began anew, and how many as empty files.
    var renewals = 0
    var blanks = 0
    /// How many holds were opened.
    var holdCount = 0
    var rest: (after: Duration, isPowerCut: Bool)?
    var healedAt: Instant?
    var isHealed: Bool { healedAt != nil }
    var calmFrom: Instant?
    var isOver = false
    private(set) var steps = 0
    /// Lines of the history, where somebody is to read it.
    private(set) var lines: [String] = []
    private let isTold: Bool

    init(_ scenario: Scenario, sabotage: Sabotage = Sabotage(), isTold: Bool = false) {
        self.scenario = scenario
        self.sabotage = sabotage
        register = SimulatedRegister(isStale: sabotage.isRegisterStale)
        self.isTold = isTold
        api = SimulatedAPI(scenario)
        dice = Dice(scenario.seed, 3)
        detection.confirmations = scenario.rules.confirmations
        detection.baseline = scenario.rules.baseline
        detection.brake = scenario.rules.brake
        for account in scenario.accounts.keys.sorted() { enrol(account) }
    }

    /// Lets the history happen, until it is over or a rule is broken.
    func run() {
        agenda.add(.start, at: clock.now)
        for (index, happening) in scenario.happenings.enumerated() {
            let at = Instant(nanoseconds: 0) + happening.at
            agenda.add(.happening(index), at: at)
            if happening.lasting > .zero { agenda.add(.end(of: index), at: at + happening.lasting) }
        }
        agenda.add(.heal, at: Instant(nanoseconds: 0) + scenario.length)
        while !isOver, checks.violation == nil, let (at, item) = agenda.next() {
            steps += 1
            if steps > Self.stepLimit { checks.fail(.bounded, "the relay does not come to rest") }
            clock.advance(to: at)
            perform(item, due: at)
            if !life.isAlive, relay != nil { bury() }
        }
        if let violation = checks.violation { tell("broken: \(violation)") }
        // Its closures hold this world.
        (relay, transport) = (nil, nil)
    }

    private func perform(_ item: Agenda.Item, due: Instant) {
        switch item {
        case .turn(let number) where number == life.number && turnAt == due: turn()
        case .answer(let number, let token, let serial) where number == life.number:
            answer(token: token, serial: serial)
        case .judge(let number) where number == life.number && judgeAt == due: judge()
        case .carry(let number, let courier)
        where number == life.number && carryAt[courier] == due:
            carry(courier)
        case .readRegister(let number) where number == life.number: relay?.readRegister()
        case .saveMarks(let number) where number == life.number:
            relay?.saveMarks()
            agenda.add(.saveMarks(life: number), at: clock.now + .seconds(60))
        case .readOrders(let number) where number == life.number: readOrders()
        case .keepBounds(let number) where number == life.number: keepBounds()
        case .turn, .answer, .judge, .carry, .readRegister, .readOrders, .saveMarks, .keepBounds:
            break
        case .order(let action, let hold): order(action, of: hold)
        case .happening(let index): begin(index)
        case .end(let index): end(index)
        case .start: start()
        case .heal: heal()
        case .look: look()
        }
    }

    func isTroubled(_ trouble: DiskTrouble) -> Bool { troubles.values.contains(trouble) }

    /// Whether no operator touches an account's registration.
    func isSteady(_ account: Int) -> Bool { !touched.contains(account) }

    /// How many accounts no operator touches, beside one.
    var steadyOthers: Int { scenario.accounts.count - touched.count - 1 }

    /// Accounts whose registration an operator touches.
    private lazy var touched: Set<Int> =
        Set(
            scenario.happenings.compactMap { happening -> Int? in
                switch happening.what {
                case .pause(let account), .remove(let account), .add(let account): account
                case .set, .drop, .wave, .empty, .rotate, .interval, .lend, .weather, .broker,
                    .disk, .crash, .crashAtHold, .backup, .lose, .rules, .brake, .clock, .suspend,
                    .order, .retryParked:
                    nil
                }
            })

    /// Adds an account to the register, with a key that the API takes.
    func enrol(_ account: Int) {
        keySerials[account, default: 0] += 1
        let key = "sk_sim_a\(account)_\(keySerials[account] ?? 0)"
        register.add(account, key: key)
        api.give(account, key: key, now: clock.now)
    }

    func tell(_ text: @autoclosure () -> String) {
        guard isTold else { return }
        lines.append("\(clock.now.told)  \(text())")
    }
}

extension Instant {
    /// As `12.345 s`, since the start of a history.
    var told: String {
        let milliseconds = nanoseconds / 1_000_000
        let rest = String(milliseconds % 1000)
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
            + " s"
    }
}
