import ConnectionEvents
import Foundation
import RelayCore
import RelayRuntime
import Testing
import Threading

/// A relay with fakes on all its sides.
final class Stage {
    static let events = SinkName("events")
    static let states = SinkName("states")

    let world = World()
    let register: FakeRegister
    let journal: FakeJournal
    let publisher: FakePublisher
    let parking: FakeParking
    let lines = Lock<[String]>([])
    var settings: RelaySettings
    var remembers: Bool
    var sinks: [SinkPlan]
    private(set) var transport: FakeTransport

    init(remembers: Bool = true) {
        register = FakeRegister()
        journal = FakeJournal(register)
        publisher = FakePublisher(journal: journal, remembers: remembers)
        parking = FakeParking(journal)
        transport = FakeTransport(world)
        self.remembers = remembers
        sinks = [
            SinkPlan(name: Self.events, role: .events(nil)),
            SinkPlan(name: Self.states, role: .state),
        ]
        settings = RelaySettings(
            name: "test", detection: Detection(),
            schedule: ScheduleRules(
                budget: 100_000, perAccount: 10_000, fastest: .milliseconds(1),
                slowest: .milliseconds(20), places: 64),
            limits: WalkLimits(), requestTimeout: .seconds(30), walkTimeout: .seconds(60))
    }

    /// Adds an account with a key of its own and these rows; status by id.
    func add(_ id: String, _ rows: [String: String], paused: Bool = false) throws {
        world.put("key-of-\(id)", rows)
        register.add(try account(id), key: "key-of-\(id)", paused: paused)
    }

    /// Where entries go.
    var routes: [Route] {
        let sorts = Dictionary(
            uniqueKeysWithValues: sinks.map { ($0.name, $0.role == .state ? "state" : "kafka") })
        return [
            Route(publisher: publisher, sinks: sinks, sorts: sorts, remembersPlaces: remembers)
        ]
    }

    var log: RelayLog { RelayLog { [lines] line in lines.withLock { $0.append(line) } } }

    /// What begins the journal anew.
    func renewal() -> Renewal {
        Renewal(
            settings: settings, journal: journal, register: register, routes: routes, log: log)
    }

    /// A relay over what is there; a new one over the same journal is a restart.
    func relay() throws -> Relay {
        transport = FakeTransport(world)
        return try Relay(
            Relay.Parts(
                settings: settings, journal: journal, register: register, parking: parking,
                transport: transport, routes: routes, log: log))
    }

    /// Runs a relay for the length of the call, and stops it.
    func run(_ body: (Relay) throws -> Void) throws {
        let relay = try relay()
        try relay.start()
        defer { relay.stop(within: .seconds(10)) }
        try body(relay)
    }

    /// Types of the events that have been delivered of an account.
    func delivered(_ id: String) throws -> [String] {
        try publisher.values("events").map { try ConnectionEvent(parsing: Array($0.utf8)) }
            .filter { $0.account.text == id }.map(\.type.name)
    }

    /// Waits for that many walks of a key, all begun after now.
    func walks(_ count: Int, of key: String) throws {
        let before = world.asked(key)
        // One may have been under way.
        try eventually("\(count) walks of \(key)") { world.asked(key) > before + count }
    }
}

func account(_ text: String) throws -> AccountID { try #require(AccountID(text)) }

/// What a test waited for in vain.
struct InVain: Error, CustomStringConvertible {
    let description: String
}

/// Waits until the condition holds, at most a minute.
func eventually(
    _ what: String, within limit: Duration = .seconds(60), _ condition: () throws -> Bool
) throws {
    let deadline = ContinuousClock.now + limit
    while try !condition() {
        guard ContinuousClock.now < deadline else { throw InVain(description: what) }
        usleep(2000)
    }
}
