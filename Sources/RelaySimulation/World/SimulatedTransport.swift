internal import Crypto
internal import RelayCore

/// A transport without a network: one life's requests, answered on the virtual clock.
final class SimulatedTransport: PageTransport, @unchecked Sendable {
    // @unchecked: a simulation runs on one thread.
    private struct Flight {
        var serial: Int
        var walk: ShownWalk
        var reply: SimulatedAPI.Reply
    }

    private unowned let world: World
    private let life: Life
    private let places: Int
    private var flights: [Int: Flight] = [:]
    private var serial = 0

    init(_ world: World, life: Life) {
        self.world = world
        self.life = life
        places = world.scenario.rules.schedule.places
    }

    func run(_ driver: any PageDriver) {}

    func wake() { world.wake(life) }

    func stop() {}

    var free: Int {
        life.isAlive ? (world.sabotage.free?(places - flights.count) ?? places - flights.count) : 0
    }

    func request(_ page: PageRequest, token: WalkToken) {
        let passage = life.pass()
        guard passage != .dead, let walk = world.api.walk(page, now: world.clock.now) else {
            return
        }
        world.checks.pace.requested(
            walk, inFlight: flights.values.map(\.walk), places: places, now: world.clock.now)
        // Who pauses or removes an account may have ended its session, as a logout does.
        var reply = world.api.answer(
            walk, cursor: page.cursor,
            isOut: !world.register.uses(walk.credential, for: walk.account), now: world.clock.now)
        world.sabotage.reply?(&reply)
        if case .silence = reply.content {
            reply.delay = page.timeout
            reply.content = .failure("timeout")
        } else if reply.delay > page.timeout {
            reply = SimulatedAPI.Reply(
                delay: page.timeout, content: .failure("timeout"), showing: .nothing)
        }
        serial += 1
        flights[token.number] = Flight(serial: serial, walk: walk, reply: reply)
        if world.sabotage.isEchoing {
            world.checks.pace.requested(
                walk, inFlight: flights.values.map(\.walk), places: places + 1,
                now: world.clock.now)
        }
        world.agenda.add(
            .answer(life: life.number, token: token.number, serial: serial),
            at: world.clock.now + reply.delay)
    }

    func cancel(_ token: WalkToken) { flights[token.number] = nil }

    /// An answer is there; false where nobody waits for it any more.
    func deliver(token: Int, serial: Int, to driver: any PageDriver) -> Bool {
        guard let flight = flights[token], flight.serial == serial else { return false }
        flights[token] = nil
        let now = world.clock.now
        world.api.delivered(
            flight.reply.showing, of: flight.walk,
            isMeant: world.register.uses(flight.walk.credential, for: flight.walk.account),
            now: now)
        world.checks.pace.answered(flight.walk, wait: flight.reply.wait, now: now)
        switch flight.reply.content {
        case .answer(let status, let body, let retryAfter, let date):
            unsafe body.withUnsafeBytes { bytes in
                driver.answered(
                    WalkToken(token),
                    unsafe PageAnswer(
                        status: status, retryAfter: retryAfter, date: date, body: bytes))
            }
        case .failure(let code):
            driver.failed(WalkToken(token), PageFailure(code: code, reason: "simulated"))
        case .silence:
            break
        }
        return true
    }
}
