import RelayCore
import Testing

@testable import RelaySimulation

/// What is promised of refusals that a command has caused.
@Suite struct RefusalCaseTests {
    /// An account is walked five times a second, and a command takes its credential out of use.
    private func history(
        seed: UInt64, _ command: Happening, sabotage: Sabotage = Sabotage()
    ) -> Simulation.Outcome {
        var rules = Scenario.Rules()
        rules.schedule = ScheduleRules(
            budget: 20, perAccount: 10, fastest: .milliseconds(100), slowest: .milliseconds(200),
            places: 4)
        let row = TrueRow(id: "c0", platform: "twitch", status: "active", scopes: nil, note: 0)
        return Simulation.run(
            Scenario(
                seed: seed, rules: rules, accounts: [0: [row], 1: [row]], happenings: [command],
                length: .seconds(30)),
            sabotage: sabotage)
    }

    static let commands = [
        Happening(at: .seconds(10), lasting: .seconds(10), what: .pause(account: 0)),
        Happening(at: .seconds(10), what: .remove(account: 0)),
        Happening(at: .seconds(10), what: .rotate(account: 0, serial: 2)),
    ]

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `nobody is blind for a credential that a command has taken out of use`(seed: UInt64) {
        for command in Self.commands {
            let outcome = history(seed: seed, command)
            #expect(outcome.violation == nil, "\(command.what)")
            #expect(outcome.types["account.blind"] == nil, "\(command.what)")
        }
    }

    @Test("the rule is broken where the register tells what it was", arguments: 0..<3)
    func proof(number: Int) {
        let found = (0..<10 as Range<UInt64>).contains { seed in
            history(
                seed: seed, Self.commands[number], sabotage: Sabotage(isRegisterStale: true)
            ).violation?.rule == .blind
        }
        #expect(found)
    }
}
