internal import Glibc
public import JSON

/// A scenario as it is played on a world.
///
/// Everything that happens has its time on the scenario's clock and happens in the order of these
/// times, and only then are numbers drawn for what follows from it. So the same seed gives the same
/// story, however often and however late somebody looks.
struct ScenarioPlay: Sendable {
    /// How often what has happened.
    struct Tally: Sendable, Equatable {
        var breaks = 0
        var repairs = 0
        var relinks = 0
        var unlinks = 0
        var outages = 0
    }

    private enum Happening: Sendable {
        /// One of the connections breaks, whichever is drawn.
        case breaking
        /// A broken one comes to its end.
        case mending(Int)
        case outageBegins(Int)
        case outageEnds(fault: Int)
    }

    let scenario: Scenario
    private(set) var tally = Tally()
    private let began: Duration
    private var numbers: SeededNumbers
    private var places: [(account: String, id: String)]
    private var isBroken: Set<Int> = []
    /// By time, the next one last.
    private var happenings: [(time: Double, what: Happening)] = []

    /// - Parameters:
    ///   - places: the connections that may break.
    ///   - now: on the world's clock.
    init(
        _ scenario: Scenario, places: [(account: String, id: String)], numbers: SeededNumbers,
        at now: Duration
    ) {
        self.scenario = scenario
        self.places = places
        self.numbers = numbers
        began = now
        for (index, outage) in scenario.outages.enumerated() {
            put(.outageBegins(index), at: outage.start)
        }
        putBreaking(after: 0)
    }

    /// The scenario's clock.
    func time(at now: Duration) -> Double { (now - began) / .seconds(1) * scenario.speed }

    /// Whether anything is due.
    func isDue(at now: Duration) -> Bool {
        happenings.last.map { $0.time <= time(at: now) } ?? false
    }

    /// Has all that is due happen to a world.
    mutating func advance(_ state: inout SandboxState, at now: Duration) {
        let end = time(at: now)
        while let next = happenings.last, next.time <= end {
            happenings.removeLast()
            do throws(SandboxError) {
                try happen(next.what, at: next.time, &state)
            } catch {
                // The control has taken away what it was to happen to: then it does not.
                continue
            }
        }
    }

    private mutating func happen(
        _ what: Happening, at time: Double, _ state: inout SandboxState
    ) throws(SandboxError) {
        switch what {
        case .breaking:
            putBreaking(after: time)
            let index = Int.random(in: places.indices, using: &numbers)
            guard let breakage = scenario.breakage, isBroken.insert(index).inserted else { return }
            let status = breakage.statuses.randomElement(using: &numbers) ?? "expired"
            put(.mending(index), at: time + interval(1 / breakage.repairAfter))
            let place = places[index]
            try state.setStatus(status, of: place.id, account: place.account)
            tally.breaks += 1
        case .mending(let index):
            isBroken.remove(index)
            try mend(index, &state)
        case .outageBegins(let index):
            let outage = scenario.outages[index]
            if let every = outage.every { put(.outageBegins(index), at: time + every) }
            let fault = try state.inject(outage.fault)
            put(.outageEnds(fault: fault), at: time + outage.length)
            tally.outages += 1
        case .outageEnds(let fault):
            try state.clearFault(fault)
        }
    }

    private mutating func mend(_ index: Int, _ state: inout SandboxState) throws(SandboxError) {
        let place = places[index]
        let chance = Double.random(in: 0..<1, using: &numbers)
        let repaired = scenario.breakage?.repaired ?? 1
        if chance < repaired {
            try state.setStatus("active", of: place.id, account: place.account)
            tally.repairs += 1
            return
        }
        guard
            let row = try state.existing(place.account).connections.first(where: {
                $0.id == place.id
            })
        else { return }
        let platform = row.fields["platform"]?.stringValue ?? "youtube"
        if chance < repaired + (1 - repaired) / 2 {
            try state.mark(place.id, of: place.account, person: row.person, isOrphaned: true)
            tally.relinks += 1
        } else {
            try state.removeConnection(place.id, of: place.account)
            tally.unlinks += 1
        }
        // A new row either way, so that the world does not run empty.
        places[index].id = try state.addConnection(to: place.account, platform: platform)
    }

    // MARK: - Time

    private mutating func putBreaking(after time: Double) {
        guard let breakage = scenario.breakage, breakage.perDay > 0, !places.isEmpty else { return }
        let perSecond = breakage.perDay / 86_400 * Double(places.count)
        put(.breaking, at: time + interval(perSecond))
    }

    /// A time to wait for what comes so often a second, on average.
    private mutating func interval(_ perSecond: Double) -> Double {
        -log(1 - Double.random(in: 0..<1, using: &numbers)) / perSecond
    }

    private mutating func put(_ what: Happening, at time: Double) {
        var low = 0
        var high = happenings.count
        while low < high {
            let middle = (low + high) / 2
            if happenings[middle].time > time { low = middle + 1 } else { high = middle }
        }
        happenings.insert((time, what), at: low)
    }
}

extension SandboxState {
    /// Adds a scenario's accounts and begins to play it, in place of one that was played before.
    ///
    /// - Returns: the accounts with their keys.
    public mutating func begin(
        _ scenario: Scenario, at now: Duration = .zero
    ) throws(SandboxError) -> [(account: String, key: String)] {
        var made: [(account: String, key: String)] = []
        var places: [(account: String, id: String)] = []
        let platforms = Platform.linkable.map(\.id)
        for name in freeNames(scenario.prefix, scenario.accounts) {
            made.append((name, try createAccount(name, at: now)))
            for number in 0..<scenario.connections {
                _ = try addConnection(to: name, platform: platforms[number % platforms.count])
            }
        }
        for account in accountIDs {
            for row in accounts[account]?.connections ?? [] { places.append((account, row.id)) }
        }
        play = ScenarioPlay(scenario, places: places, numbers: split(), at: now)
        return made
    }

    /// What a scenario has done so far, null where none is played.
    public var story: JSONValue {
        guard let tally = play?.tally else { return .null }
        return [
            "breaks": JSONValue(tally.breaks), "repairs": JSONValue(tally.repairs),
            "relinks": JSONValue(tally.relinks), "unlinks": JSONValue(tally.unlinks),
            "outages": JSONValue(tally.outages),
        ]
    }

    /// Has all that is due by a time happen; requests do this by themselves.
    ///
    /// - Parameter now: on the clock of the rate buckets.
    public mutating func catchUp(at now: Duration) {
        guard var due = play, due.isDue(at: now) else { return }
        // Out of the world while it changes the world.
        play = nil
        due.advance(&self, at: now)
        play = due
    }
}
