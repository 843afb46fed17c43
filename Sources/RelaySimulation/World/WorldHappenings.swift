internal import ConnectionEvents
internal import Crypto
internal import RelayCore

// What happens to the world, and its healing.

extension World {
    func begin(_ index: Int) {
        let happening = scenario.happenings[index]
        guard !isHealed else { return }
        tell(happening.told)
        switch happening.what {
        case .set(let account, let row):
            api.change(account, id: row.id, to: row, now: clock.now)
        case .drop(let account, let id):
            api.change(account, id: id, to: nil, now: clock.now)
        case .wave(let account, let status): wave(account, status)
        case .empty(let account):
            for id in api.own(account).keys.sorted() {
                api.change(account, id: id, to: nil, now: clock.now)
            }
        case .pause, .remove, .add, .rotate, .interval, .lend:
            operate(happening.what)
        case .weather(let weather, let account):
            api.begin(weather, account: account, id: index)
        case .broker(let trouble): broker.troubles[index] = trouble
        case .disk(let trouble): troubles[index] = trouble
        case .crash(let effects, let isBefore, let isPowerCut, let rest):
            guard relay != nil else { return }
            self.rest = self.rest ?? (rest, isPowerCut)
            life.light(effects: effects, isBefore: isBefore)
        case .crashAtHold(let effects, let isBefore, let rest):
            holdFuse = holdFuse ?? (effects, isBefore, rest)
        case .rules(let otherStatus):
            detection.otherStatus = otherStatus
            restart()
        case .brake(let brake):
            detection.brake = brake
            restart()
        case .order(let action): orderAll(action)
        case .retryParked: retryParked()
        case .backup: backUp()
        case .lose(let restoring): lose(restoring: restoring)
        case .clock(let step): clock.step(step)
        case .suspend(let duration): clock.advance(to: clock.now + duration)
        }
    }

    private func restart() {
        guard relay != nil else { return }
        rest = (.milliseconds(100), false)
        life.die()
    }

    private func wave(_ account: Int?, _ status: String?) {
        for account in account.map({ [$0] }) ?? scenario.accounts.keys.sorted() {
            for row in api.own(account).values.sorted(by: { $0.id < $1.id }) {
                var row = row
                row.status = status
                api.change(account, id: row.id, to: row, now: clock.now)
            }
        }
    }

    private func operate(_ what: What) {
        switch what {
        case .pause(let account): register.change(account) { $0.isPaused = true }
        case .remove(let account): register.change(account) { $0.isRemoving = true }
        case .add(let account):
            guard register[account]?.isRemoving ?? true else { return }
            enrol(account)
        case .rotate(let account, _): rotate(account)
        case .interval(let account, let interval):
            register.change(account) { $0.interval = interval }
        case .lend(let account, _, let rows):
            var foreign: [String: TrueRow] = [:]
            for row in rows { foreign[row.id] = row }
            rotate(account, foreign: foreign)
        case .set, .drop, .wave, .empty, .weather, .broker, .disk, .crash, .crashAtHold, .rules,
            .brake, .clock, .suspend, .order, .retryParked, .backup, .lose:
            return
        }
        noticeRegister()
    }

    private func rotate(_ account: Int, foreign: [String: TrueRow]? = nil) {
        guard let known = register[account], !known.isRemoving else { return }
        keySerials[account, default: 0] += 1
        let key = "sk_sim_a\(account)_\(keySerials[account] ?? 0)"
        register.change(account) { account in
            account.credential = Secret(key)
            account.credentialTag = Array(key.utf8)
        }
        api.give(account, key: key, of: foreign, now: clock.now)
    }

    /// The relay looks once a second.
    private func noticeRegister() {
        agenda.add(
            .readRegister(life: life.number), at: clock.now + dice.milliseconds(1, 1000))
    }

    func end(_ index: Int) {
        switch scenario.happenings[index].what {
        case .pause(let account):
            register.change(account) { $0.isPaused = false }
            noticeRegister()
        case .weather: api.end(index)
        case .broker: broker.troubles[index] = nil
        case .disk: troubles[index] = nil
        case .set, .drop, .wave, .empty, .remove, .add, .rotate, .interval, .lend, .crash,
            .crashAtHold, .rules, .brake, .clock, .suspend, .order, .retryParked, .backup, .lose:
            break
        }
    }

    /// Faults stop; from here on everything must become true by itself.
    func heal() {
        tell("everything heals")
        healedAt = clock.now
        api.clear()
        broker.troubles = [:]
        troubles = [:]
        life.spare()
        holdFuse = nil
        orderAll(.release)
        retryParked()
        for account in register.all { register.change(account) { $0.isPaused = false } }
        noticeRegister()
        agenda.add(.look, at: clock.now + .seconds(5))
    }

    /// How long healing may take: the longest back-off or wish of a server, then a walk or two.
    private var patience: Duration {
        let rules = scenario.rules.schedule
        let pages = scenario.accounts.keys.reduce(0) { $0 + api.pages($1) }
        let cycle = Duration.seconds(Double(pages) / (0.9 * rules.budget))
        let walks = (rules.slowest + cycle) * (scenario.rules.confirmations + 2)
        return rules.longestBackOff + walks + walks + .seconds(120)
    }

    func look() {
        if let calmFrom {
            checks.pace.checkSlowest(from: calmFrom, to: clock.now)
            if let text = untruth() { checks.fail(.converges, "no longer true: \(text)") }
            isOver = true
            return
        }
        // Whoever is asked says that it is true: what was held is published.
        orderAll(.release)
        retryParked()
        guard let text = untruth() else {
            tell("everything is true")
            calmFrom = clock.now
            checks.pace.count(from: clock.now)
            agenda.add(.look, at: clock.now + scenario.rules.schedule.slowest * 2.2)
            return
        }
        if let healedAt, clock.now - healedAt > patience {
            return checks.fail(.converges, text)
        }
        agenda.add(.look, at: clock.now + .seconds(5))
    }
}

extension Duration {
    static func * (left: Duration, right: Double) -> Duration {
        .seconds(left.inSeconds * right)
    }
}
