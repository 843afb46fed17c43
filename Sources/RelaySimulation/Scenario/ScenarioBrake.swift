internal import ConnectionEvents
internal import RelayCore

// What a seed draws for the brake: long lists, fleets that turn empty, keys of other people.

extension Scenario {
    /// Draws the brake, its operator, and what makes it needed.
    mutating func addBrake() {
        var dice = Dice(seed, 5)
        if dice.chance(80) { rules.brake = Self.brake(&dice) }
        rules.isWeatherTotal = dice.chance(30)
        for _ in 0..<dice.below(4) {
            let action = dice.pick([nil, HoldAction.release, .release, .discard])
            rules.answers.append(
                Answer(action: action, after: dice.milliseconds(1, 40_000)))
        }
        switch dice.below(20) {
        case 0..<7: break
        case 7..<12: makeLists(&dice)
        case 12..<16: makeFleet(&dice)
        default: addStrangers(&dice)
        }
        for _ in 0..<dice.below(3) {
            add(.order(dice.pick([HoldAction.release, .release, .discard])), &dice)
        }
        if dice.chance(40) {
            add(
                .crashAtHold(
                    effects: dice.below(3), isBefore: dice.chance(50),
                    rest: dice.milliseconds(5, 8000)), &dice)
        }
        if dice.chance(10) { add(.brake(dice.chance(50) ? nil : Self.brake(&dice)), &dice) }
    }

    /// In one history of six the journal's file is lost, or an older copy is put in its place.
    mutating func addLoss() {
        var dice = Dice(seed, 6)
        if dice.chance(40) { rules.retention = .seconds(dice.between(1, 60)) }
        guard dice.chance(16) else { return }
        for _ in 0..<dice.between(1, 2) {
            let isRestored = dice.chance(60)
            if isRestored { add(.backup, &dice) }
            add(.lose(restoring: isRestored), &dice)
            guard let last = happenings.last, dice.chance(30) else { continue }
            happenings.append(
                Happening(
                    at: last.at, lasting: .seconds(dice.between(1, 20)), what: .broker(.away)))
        }
    }

    private static func brake(_ dice: inout Dice) -> Brake {
        Brake(
            share: dice.pick([0.3, 0.5, 0.5, 1]), atLeast: dice.pick([2, 3, 5, 5]),
            fleet: dice.pick([0.3, 0.5]), failuresAfter: .seconds(dice.pick([5, 20, 60, 900])),
            removalsAfter: dice.pick([.seconds(10), .seconds(45), .seconds(86_400), nil]))
    }

    /// One or two accounts have long lists, whose rows fail or go together.
    private mutating func makeLists(_ dice: inout Dice) {
        rules.pageLimit = 10
        for _ in 0..<dice.between(1, 2) {
            let account = account(&dice)
            accounts[account] = (0..<dice.between(6, 40)).map { number in
                var row = Self.row(number, &dice)
                if dice.chance(70) { row.status = "active" }
                return row
            }
            for _ in 0..<dice.between(1, 3) { addWave(account, &dice) }
        }
    }

    private mutating func addWave(_ account: Int?, _ dice: inout Dice) {
        let status = dice.pick(["active", "active", "expired", "revoked", "paused", nil])
        switch dice.below(5) {
        case 0, 1:
            add(
                .weather(.emptyList, account: account), lasting: .seconds(dice.between(10, 60)),
                &dice)
        case 2:
            guard let account else { return }
            add(.empty(account: account), &dice)
        default:
            add(.wave(account: account, status: status), &dice)
        }
    }

    /// Many accounts with short lists, at which something happens to all for a minute.
    private mutating func makeFleet(_ dice: inout Dice) {
        rules.schedule.budget = dice.pick([20, 200])
        for account in 0..<dice.between(7, 14) {
            accounts[account] = (0..<dice.pick([0, 1, 1, 2, 3])).map { number in
                var row = Self.row(number, &dice)
                if dice.chance(60) { row.status = "active" }
                return row
            }
        }
        length = .seconds(dice.between(90, 150))
        let most = dice.pick([10, 60])
        for _ in 0..<dice.between(1, 2) {
            let weather = dice.pick([Weather.emptyList, .emptyList, .revoked(status: 401)])
            add(.weather(weather, account: nil), lasting: .seconds(most), &dice)
        }
        if dice.chance(30) { addWave(nil, &dice) }
    }

    /// Accounts are given keys of other people, and perhaps their own again.
    private mutating func addStrangers(_ dice: inout Dice) {
        for _ in 0..<dice.between(1, 3) {
            let account = account(&dice)
            let rows = (0..<dice.below(4)).map { number in
                var row = Self.row(number, &dice)
                if dice.chance(85) { row.id = "x\(number)" }
                return row
            }
            add(.lend(account: account, serial: dice.between(1, 1000), rows), &dice)
            guard let last = happenings.last, dice.chance(60) else { continue }
            let at = last.at + dice.milliseconds(1, 40_000)
            happenings.append(
                Happening(at: at, what: .rotate(account: account, serial: dice.between(1, 1000))))
        }
    }
}
