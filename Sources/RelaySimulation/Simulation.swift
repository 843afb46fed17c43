internal import ConnectionEvents
internal import RelayCore

/// The relay's own machines against a world whose every fault comes from one seed.
///
/// Poll loop, judge and couriers are those of production; clock, API, register, journal and broker
/// are simulated, on one thread. First safety under faults, then everything heals, then liveness.
package enum Simulation {
    /// How one history went.
    package struct Outcome: Sendable {
        /// The rule that was broken; nil: all held.
        package var violation: Violation?
        /// Events that were published.
        package var events: Int
        /// How many of each type, by the type's name.
        package var types: [String: Int] = [:]
        /// Requests, judgements and deliveries that were stepped through.
        package var steps: Int
        /// The history in the contract's words, where it was asked for.
        package var history: [String]
    }

    /// Lets the history of a scenario happen.
    package static func run(_ scenario: Scenario, isTold: Bool = false) -> Outcome {
        run(scenario, sabotage: Sabotage(), isTold: isTold)
    }

    static func run(
        _ scenario: Scenario, sabotage: Sabotage, isTold: Bool = false
    ) -> Outcome {
        let world = World(scenario, sabotage: sabotage, isTold: isTold)
        world.run()
        var outcome = Outcome(
            violation: world.checks.violation,
            events: world.disk.entries.count { $0.event != nil }, steps: world.steps,
            history: world.lines)
        for entry in world.disk.entries {
            guard let event = entry.event else { continue }
            outcome.types[event.type.name, default: 0] += 1
        }
        return outcome
    }

    /// The shortest history that still breaks the same rule, found by taking parts away.
    ///
    /// - Parameter limit: how many histories are tried.
    package static func shrink(_ scenario: Scenario, limit: Int = 400) -> Scenario {
        shrink(scenario, sabotage: { Sabotage() }, limit: limit)
    }

    static func shrink(
        _ scenario: Scenario, sabotage: () -> Sabotage, limit: Int
    ) -> Scenario {
        guard let rule = run(scenario, sabotage: sabotage()).violation?.rule else {
            return scenario
        }
        var best = scenario
        var tries = 0
        var hasShrunk = true
        while hasShrunk {
            hasShrunk = false
            for smaller in best.smaller {
                guard tries < limit else { return best }
                tries += 1
                if run(smaller, sabotage: sabotage()).violation?.rule == rule {
                    best = smaller
                    hasShrunk = true
                    break
                }
            }
        }
        return best
    }
}

extension Scenario {
    /// Scenarios with a little less in them, the boldest cuts first.
    fileprivate var smaller: [Scenario] {
        var all: [Scenario] = []
        for half in [
            happenings.prefix(happenings.count / 2), happenings.suffix(happenings.count / 2),
        ]
        where happenings.count > 3 {
            var less = self
            less.happenings = Array(half)
            all.append(less)
        }
        for account in accounts.keys.sorted().reversed() where accounts.count > 1 {
            var less = self
            less.accounts[account] = nil
            less.happenings.removeAll { $0.what.account == account }
            all.append(less)
        }
        for index in happenings.indices.reversed() {
            var less = self
            less.happenings.remove(at: index)
            all.append(less)
        }
        for (account, rows) in accounts.sorted(by: { $0.key < $1.key }) where !rows.isEmpty {
            for count in rows.count > 4 ? [rows.count / 2, rows.count - 1] : [rows.count - 1] {
                var less = self
                less.accounts[account] = Array(rows.prefix(count))
                all.append(less)
            }
        }
        if length > .seconds(20) {
            var less = self
            less.length = length * 0.7
            less.happenings.removeAll { $0.at > less.length }
            all.append(less)
        }
        return all
    }
}
