internal import ConnectionEvents
internal import RelayCore

extension Scenario {
    static let platforms: [String?] = ["youtube", "twitch", "facebook", nil]
    static let statuses: [String?] = [
        "active", "active", "active", "expired", "revoked", "pending", "paused", nil,
    ]
    static let scopes: [[String]?] = [["read"], ["read", "write"], ["write"], [], nil]

    /// The history of a seed.
    package init(seed: UInt64) {
        var dice = Dice(seed, 1)
        var rules = Rules()
        rules.schedule = ScheduleRules(
            budget: dice.pick([1, 3, 20, 200]), perAccount: dice.pick([1, 2, 5]),
            fastest: .seconds(dice.pick([2, 5, 8])),
            slowest: .seconds(dice.pick([10, 20, 30, 60])),
            places: dice.pick([1, 2, 4, 16]))
        rules.pageLimit = dice.pick([2, 3, 10])
        rules.confirmations = dice.pick([1, 2, 2, 3])
        rules.baseline = dice.chance(30) ? .publish : .quiet
        rules.walkTimeout = .seconds(dice.pick([20, 60]))
        let count = dice.pick([1, 2, 3, 4, 6, 8])
        var accounts: [Int: [TrueRow]] = [:]
        for account in 0..<count {
            accounts[account] = (0..<dice.below(6)).map { Self.row($0, &dice) }
        }
        let length = dice.between(40, 120)
        self.init(
            seed: seed, rules: rules, accounts: accounts, happenings: [],
            length: .seconds(length))
        for _ in 0..<dice.between(4, 18) { add(truth(&dice), &dice) }
        for _ in 0..<dice.below(5) { addRegister(&dice) }
        for _ in 0..<dice.below(6) { addWeather(&dice) }
        for _ in 0..<dice.below(4) { addBroker(&dice) }
        for _ in 0..<dice.below(3) {
            let what = What.disk(dice.pick([.full, .unreadable, .slow]))
            add(what, lasting: .seconds(dice.between(1, 25)), &dice)
        }
        for _ in 0..<dice.below(4) { addMachine(&dice) }
        addBrake()
        addLoss()
        happenings.sort { $0.at < $1.at }
    }

    static func row(_ number: Int, _ dice: inout Dice) -> TrueRow {
        TrueRow(
            id: "c\(number)", platform: dice.pick(platforms), status: dice.pick(statuses),
            scopes: dice.pick(scopes), note: dice.below(3))
    }

    func account(_ dice: inout Dice) -> Int { dice.below(accounts.count) }

    mutating func add(
        _ what: What, lasting: Duration = .zero, _ dice: inout Dice
    ) {
        let span = Int(length.components.seconds) * 1000
        happenings.append(
            Happening(at: dice.milliseconds(0, span), lasting: lasting, what: what))
    }

    private func truth(_ dice: inout Dice) -> What {
        let account = account(&dice)
        if dice.chance(25) { return .drop(account: account, id: "c\(dice.below(7))") }
        return .set(account: account, Self.row(dice.below(7), &dice))
    }

    private mutating func addRegister(_ dice: inout Dice) {
        let account = account(&dice)
        switch dice.below(6) {
        case 0:
            add(.pause(account: account), lasting: .seconds(dice.between(1, 30)), &dice)
        case 1, 2:
            add(.remove(account: account), &dice)
            guard let last = happenings.last, dice.chance(80) else { return }
            let rest = dice.pick([0, 1, 300, 2000, 15_000])
            happenings.append(
                Happening(at: last.at + .milliseconds(rest), what: .add(account: account)))
        case 3, 4:
            add(.rotate(account: account, serial: dice.between(1, 1000)), &dice)
        default:
            let interval: Duration? = dice.chance(30) ? nil : .seconds(dice.between(3, 40))
            add(.interval(account: account, interval), &dice)
        }
    }

    private mutating func addWeather(_ dice: inout Dice) {
        let all: [Weather] = [
            .cutPage, .truncated, .emptyList, .emptyList, .cyclingCursor,
            .stale(seconds: dice.between(1, 30)), .html, .status(dice.pick([500, 502, 404, 302])),
            .status(204), .throttled(status: 429, seconds: dice.pick([0, 1, 3, 20, 70])),
            .throttled(status: 503, seconds: dice.pick([2, 10])),
            .throttled(status: 429, seconds: nil),
            .throttledUntilDate(seconds: dice.between(1, 30)),
            .slow(milliseconds: dice.pick([300, 2000, 9000])), .silent, .reset,
            .revoked(status: 401), .revoked(status: 401), .revoked(status: 403),
            .bareUnauthorized, .doubleID, .badRow, .noData,
        ]
        let weather = dice.pick(all)
        let account = dice.chance(40) ? nil : account(&dice)
        add(.weather(weather, account: account), lasting: .seconds(dice.between(2, 40)), &dice)
    }

    private mutating func addBroker(_ dice: inout Dice) {
        let trouble = dice.pick([
            .away, .away, .lostAcknowledgements(dice.between(1, 3)), .fenced(dice.between(1, 3)),
            .queueFull, .refusesSink, .refusesRecords, .refusesRecords,
            BrokerTrouble.breaksPipe(dice.between(1, 3)),
        ])
        add(.broker(trouble), lasting: .seconds(dice.between(1, 40)), &dice)
        if trouble == .refusesRecords, dice.chance(60) { add(.retryParked, &dice) }
    }

    private mutating func addMachine(_ dice: inout Dice) {
        switch dice.below(7) {
        case 0:
            let step = dice.pick([-86_400, -3600, -5, 5, 3600, 86_400])
            add(.clock(step: .seconds(step)), &dice)
        case 1:
            add(.suspend(.seconds(dice.pick([3, 40, 4000]))), &dice)
        case 2:
            add(.rules(otherStatus: dice.pick([.failing, .unrecognised])), &dice)
        default:
            add(
                .crash(
                    effects: dice.below(25), isBefore: dice.chance(50),
                    isPowerCut: dice.chance(30), rest: dice.milliseconds(5, 8000)), &dice)
        }
    }
}
