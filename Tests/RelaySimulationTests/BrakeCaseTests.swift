import RelayCore
import Testing

@testable import RelaySimulation

/// What issue and contract promise of the brake, from a few seeds each.
@Suite struct BrakeCaseTests {
    /// A history in which one thing happens at 30 s to lists of that length.
    private func history(
        seed: UInt64, lists: [Int], _ what: What, lasting: Duration = .seconds(60)
    ) -> Simulation.Outcome {
        var rules = Scenario.Rules()
        rules.schedule = ScheduleRules(
            budget: 200, perAccount: 5, fastest: .seconds(2), slowest: .seconds(10), places: 16)
        rules.pageLimit = 200
        rules.brake = Brake()
        rules.isWeatherTotal = true
        var accounts: [Int: [TrueRow]] = [:]
        for (account, count) in lists.enumerated() {
            accounts[account] = (0..<count).map {
                TrueRow(id: "c\($0)", platform: "twitch", status: "active", scopes: nil, note: 0)
            }
        }
        return Simulation.run(
            Scenario(
                seed: seed, rules: rules, accounts: accounts,
                happenings: [Happening(at: .seconds(30), lasting: lasting, what: what)],
                length: .seconds(120)))
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `a list of forty that turns empty for a minute removes nothing and shows a hold`(
        seed: UInt64
    ) {
        let outcome = history(seed: seed, lists: [40, 3], .weather(.emptyList, account: 0))
        #expect(outcome.violation == nil)
        #expect(outcome.types["account.held"] == 1)
        #expect(outcome.types["account.released"] == 1)
        #expect(outcome.types["connection.unlinked"] == nil)
    }

    @Test func `many small lists that turn empty for a minute remove nothing`() {
        for seed in UInt64(0)..<4 {
            let lists = (0..<100).map { 1 + $0 % 4 }
            let outcome = history(seed: seed, lists: lists, .weather(.emptyList, account: nil))
            #expect(outcome.violation == nil, "seed \(seed)")
            #expect(outcome.types["connection.unlinked"] == nil, "seed \(seed)")
            #expect(outcome.types["account.held"] ?? 0 > 50, "seed \(seed)")
        }
    }

    @Test(arguments: [6, 20])
    func `an API that answers 401 to all for a minute blinds nobody`(count: Int) {
        for seed in UInt64(0)..<10 {
            let outcome = history(
                seed: seed, lists: Array(repeating: 2, count: count),
                .weather(.revoked(status: 401), account: nil))
            #expect(outcome.violation == nil, "seed \(seed)")
            #expect(outcome.types["account.blind"] == nil, "seed \(seed)")
        }
    }

    @Test(arguments: 0..<5 as Range<UInt64>)
    func `others sealed before a wall clock stepped back do not confirm a removal`(seed: UInt64) {
        var rules = Scenario.Rules()
        rules.schedule = ScheduleRules(
            budget: 3, perAccount: 5, fastest: .seconds(2), slowest: .seconds(60), places: 4)
        rules.confirmations = 1
        rules.brake = Brake()
        let row = TrueRow(id: "c1", platform: nil, status: "active", scopes: nil, note: 0)
        let accounts = (0..<7).map { ($0, [row]) }
        let scenario = Scenario(
            seed: seed, rules: rules, accounts: Dictionary(uniqueKeysWithValues: accounts),
            happenings: [
                Happening(at: .seconds(10), what: .clock(step: .seconds(-86_400))),
                Happening(at: .seconds(15), what: .drop(account: 6, id: "c1")),
            ], length: .seconds(100))
        #expect(Simulation.run(scenario).violation == nil)
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `all rows of a long list that fail for a minute make no failing event`(seed: UInt64) {
        let outcome = history(
            seed: seed, lists: [12], .wave(account: 0, status: "expired"), lasting: .zero)
        #expect(outcome.violation == nil)
        #expect(outcome.types["account.held"] == 1)
        // They are told when the operator has released them, after all healed.
        #expect(outcome.types["connection.failing"] == 12)
    }
}
