import RelayCore
import Testing

@testable import RelaySimulation

/// What is promised of a journal that is lost, or gets an older copy of itself.
@Suite struct LossCaseTests {
    /// A history of three accounts with changes all along, and what happens to the journal.
    private func history(seed: UInt64, _ happenings: [Happening]) -> Simulation.Outcome {
        var rules = Scenario.Rules()
        rules.schedule = ScheduleRules(
            budget: 20, perAccount: 5, fastest: .seconds(2), slowest: .seconds(10), places: 4)
        let rows = (0..<3).map {
            TrueRow(id: "c\($0)", platform: "twitch", status: "active", scopes: nil, note: 0)
        }
        let changes = (1..<9).map { number in
            var row = rows[number % 3]
            row.status = number % 2 == 0 ? "active" : "expired"
            return Happening(
                at: .seconds(10 * number), what: .set(account: number % 2, row))
        }
        return Simulation.run(
            Scenario(
                seed: seed, rules: rules, accounts: [0: rows, 1: rows, 2: rows],
                happenings: (changes + happenings).sorted { $0.at < $1.at },
                length: .seconds(100)))
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `a lost journal begins anew, and no sink sees history as news`(seed: UInt64) {
        let outcome = history(
            seed: seed, [Happening(at: .seconds(45), what: .lose(restoring: false))])
        #expect(outcome.violation == nil)
        #expect(outcome.types["account.resynced"] == 3)
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `an older copy begins anew, and no sink sees a gap or a double`(seed: UInt64) {
        let outcome = history(
            seed: seed,
            [
                Happening(at: .seconds(22), what: .backup),
                Happening(at: .seconds(55), what: .lose(restoring: true)),
            ])
        #expect(outcome.violation == nil)
        #expect(outcome.types["account.resynced"] == 3)
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `while the broker is away a lost journal waits and a copy may walk`(seed: UInt64) {
        for isRestored in [false, true] {
            let outcome = history(
                seed: seed,
                [
                    Happening(at: .seconds(22), what: .backup),
                    Happening(at: .seconds(55), what: .lose(restoring: isRestored)),
                    Happening(at: .seconds(55), lasting: .seconds(20), what: .broker(.away)),
                ])
            #expect(outcome.violation == nil, "\(isRestored)")
            #expect(outcome.types["account.resynced"] == 3, "\(isRestored)")
        }
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `nor does a copy hide that comes to the same position and dies before the broker is back`(
        seed: UInt64
    ) {
        // `account.removed` has the same id in both histories, whatever came before it.
        let outcome = history(
            seed: seed,
            [
                Happening(at: .seconds(22), what: .backup),
                Happening(at: .seconds(23), what: .remove(account: 2)),
                Happening(at: .seconds(26), what: .lose(restoring: true)),
                Happening(at: .seconds(26), lasting: .seconds(14), what: .broker(.away)),
                Happening(
                    at: .seconds(34),
                    what: .crash(
                        effects: 0, isBefore: true, isPowerCut: true, rest: .seconds(2))),
            ])
        #expect(outcome.violation == nil)
        #expect(outcome.types["account.resynced"] == 2)
    }
}
