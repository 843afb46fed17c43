internal import ConnectionEvents
internal import RelayCore
internal import RelayRuntime

// The relay's parts: started, stepped, and buried when their process dies.

extension World {
    var routes: [Route] {
        let kafka: [(SinkName, SinkPlan.Role)] = [
            (Self.events, .events(nil)),
            (Self.alerts, .events(EventFilter(types: Self.alertTypes))), (Self.state, .state),
        ]
        return [
            Route(
                publisher: SimulatedPublisher(self, life: life, isTransactional: true),
                sinks: kafka.map { SinkPlan(name: $0.0, role: $0.1) },
                sorts: [Self.events: "kafka", Self.alerts: "kafka", Self.state: "state"],
                remembersPlaces: true),
            Route(
                publisher: SimulatedPublisher(self, life: life, isTransactional: false),
                sinks: [SinkPlan(name: Self.output, role: .events(nil))],
                sorts: [Self.output: "log"], remembersPlaces: false),
        ]
    }

    /// Starts a process, with what the disk holds.
    func start() {
        guard relay == nil else { return }
        life = Life(number: life.number + 1)
        if !disk.reread(sabotage.read) {
            checks.fail(.durable, "a belief does not read as it was written")
        }
        let transport = SimulatedTransport(self, life: life)
        do throws(JournalFailure) {
            var random = Dice(scenario.seed, 4, UInt64(life.number))
            let relay = try SteppedRelay(
                Relay.Parts(
                    settings: settings, journal: SimulatedJournal(self, life: life),
                    register: register,
                    holds: SimulatedHolds(self, life: life),
                    parking: SimulatedParking(self, life: life),
                    upkeep: SimulatedUpkeep(self, life: life), transport: transport, routes: routes,
                    log: RelayLog { [self] line in note(line) }),
                readings: readings, random: draws(&random))
            try relay.start()
            self.relay = relay
            self.transport = transport
        } catch {
            tell("the relay cannot start: \(error)")
            agenda.add(.start, at: clock.now + .seconds(1))
            return
        }
        tell("the relay starts")
        checks.pace.began(now: clock.now)
        (turnAt, judgeAt) = (nil, nil)
        (carryAt, waits) = ([:], [:])
        for courier in 0..<(relay?.couriers ?? 0) { carry(courier, at: clock.now) }
        agenda.add(.saveMarks(life: life.number), at: clock.now + .seconds(60))
        agenda.add(.keepBounds(life: life.number), at: clock.now + .seconds(1))
        wake(life)
        scheduleJudge()
    }

    var settings: RelaySettings {
        let rules = scenario.rules
        var detection = detection
        sabotage.detection?(&detection)
        return RelaySettings(
            name: "connections", detection: detection, schedule: rules.schedule,
            limits: rules.limits, requestTimeout: rules.requestTimeout,
            walkTimeout: rules.walkTimeout, retention: rules.retention)
    }

    var readings: RelayClock.Readings {
        let haste = sabotage.haste
        return RelayClock.Readings(
            now: { [clock] in
                guard let haste else { return clock.now }
                return Instant(nanoseconds: Int64(Double(clock.now.nanoseconds) * haste))
            }, wall: { [clock] in clock.wall })
    }

    private func draws(_ dice: inout Dice) -> @Sendable () -> UInt64 {
        let drawing = Drawing(dice)
        return { drawing.next() }
    }

    func note(_ line: String) {
        let line = sabotage.line?(line) ?? line
        checks.leaves(line, "a log line")
        tell("log: \(line.drop { $0 != " " }.dropFirst())")
    }

    /// The process is dead: a supervisor starts another.
    func bury() {
        tell("the relay dies")
        let rest = rest ?? (.seconds(2), false)
        self.rest = nil
        relay = nil
        transport = nil
        if rest.isPowerCut { disk.cutPower() }
        api.doubt(nil)
        agenda.add(.start, at: clock.now + rest.after)
    }

    func wake(_ life: Life) {
        guard life === self.life, life.isAlive, turnAt.map({ $0 > clock.now }) ?? true else {
            return
        }
        turnAt = clock.now
        agenda.add(.turn(life: life.number), at: clock.now)
    }

    func turn() {
        turnAt = nil
        guard let relay, relay.mayPoll else { return }
        let wait = relay.driver.turn()
        if life.isAlive, let wait {
            let least = max(.microseconds(100), sabotage.sloth ?? .zero)
            let at = clock.now + max(least, wait)
            if turnAt.map({ $0 > at }) ?? true {
                turnAt = at
                agenda.add(.turn(life: life.number), at: at)
            }
        }
        scheduleJudge()
    }

    func answer(token: Int, serial: Int) {
        guard let relay, let transport else { return }
        guard transport.deliver(token: token, serial: serial, to: relay.driver) else { return }
        wake(life)
        scheduleJudge()
    }

    func scheduleJudge(after pause: Duration? = nil) {
        guard let relay, relay.hasWork, judgeAt == nil else { return }
        let limit = 256 + 4 * (scenario.accounts.count + 2)
        if relay.waiting > limit { checks.fail(.bounded, "\(relay.waiting) jobs wait") }
        let work =
            isTroubled(.slow) ? dice.milliseconds(300, 4000) : dice.milliseconds(0, 6)
        let at = clock.now + (pause ?? work)
        judgeAt = at
        agenda.add(.judge(life: life.number), at: at)
    }

    func judge() {
        judgeAt = nil
        guard let relay else { return }
        let head = disk.head
        relay.judge()
        scheduleJudge(after: relay.waiting > 0 ? .seconds(1) : nil)
        guard disk.head > head else { return }
        for courier in waits.keys.sorted() {
            guard let beyond = waits[courier], disk.head > beyond else { continue }
            carry(courier, at: clock.now)
        }
    }

    func carry(_ courier: Int, at: Instant) {
        if let known = carryAt[courier], known <= at { return }
        carryAt[courier] = at
        agenda.add(.carry(life: life.number, courier: courier), at: at)
    }

    func carry(_ courier: Int) {
        carryAt[courier] = nil
        guard let relay else { return }
        if let beyond = waits.removeValue(forKey: courier), disk.head <= beyond {
            relay.probe(courier)
        }
        let couldPoll = relay.mayPoll
        switch relay.carry(courier) {
        case .step:
            carry(courier, at: clock.now + dice.milliseconds(1, 4))
        case .wait(let until, let beyond):
            guard disk.head <= beyond else { return carry(courier, at: clock.now) }
            waits[courier] = beyond
            // No longer than a second in the relay's own loop; a tired machine takes longer.
            let most = clock.now + dice.milliseconds(1000, isHealed ? 5000 : 1500)
            carry(courier, at: max(clock.now, min(until ?? most, most)))
        case .over(let failure):
            guard life.isAlive else { return }
            tell("a courier is over: \(failure?.reason ?? "no reason")")
            renew()
            life.die()
        }
        if !couldPoll, relay.mayPoll { wake(life) }
    }
}

/// A stream of draws that a closure may share.
private final class Drawing: @unchecked Sendable {
    // @unchecked: a simulation runs on one thread.
    private var dice: Dice

    init(_ dice: Dice) { self.dice = dice }

    func next() -> UInt64 { dice.next() }
}
