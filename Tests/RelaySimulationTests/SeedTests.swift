import RelayCore
import Testing

@testable import RelaySimulation

@Suite struct SeedTests {
    @Test func `a seed always gives the same history`() {
        for seed in UInt64(1)...5 {
            let scenario = Scenario(seed: seed)
            let history = Simulation.run(scenario, isTold: true).history
            #expect(history == Simulation.run(scenario, isTold: true).history)
            #expect(history.count > 5)
        }
    }

    @Test(arguments: [BrokerTrouble.lostAcknowledgements(2), .fenced(2)])
    func `a sink in its first life takes nothing twice when it is opened anew`(
        trouble: BrokerTrouble
    ) {
        let row = TrueRow(id: "c1", platform: nil, status: "active", scopes: nil, note: 0)
        let scenario = Scenario(
            seed: 1, rules: Scenario.Rules(), accounts: [0: []],
            happenings: [
                Happening(at: .seconds(20), lasting: .seconds(15), what: .broker(trouble)),
                Happening(at: .seconds(21), what: .set(account: 0, row)),
            ], length: .seconds(50))
        #expect(Simulation.run(scenario).violation == nil)
    }

    @Test func `a filling whose acknowledgement is lost goes on only when opened anew`() {
        let scenario = Scenario(
            seed: 11_321, rules: Scenario.Rules(), accounts: [0: []],
            happenings: [
                Happening(
                    at: .zero, lasting: .seconds(27), what: .broker(.lostAcknowledgements(3)))
            ], length: .seconds(50))
        #expect(Simulation.run(scenario).violation == nil)
    }

    @Test(arguments: 0..<5 as Range<UInt64>)
    func `decidedAt goes on from the last event when a restart finds the wall clock set back`(
        seed: UInt64
    ) {
        var rules = Scenario.Rules()
        rules.schedule.slowest = .seconds(10)
        let scenario = Scenario(
            seed: seed, rules: rules, accounts: [0: []],
            happenings: [
                Happening(
                    at: .seconds(15), lasting: .seconds(45),
                    what: .weather(.revoked(status: 401), account: nil)),
                Happening(at: .seconds(57), what: .clock(step: .seconds(-86_400))),
                Happening(
                    at: .seconds(58),
                    what: .crash(
                        effects: 0, isBefore: true, isPowerCut: true, rest: .seconds(1))),
            ], length: .seconds(80))
        #expect(Simulation.run(scenario).violation == nil)
    }

    @Test func `a failing history is made shorter, and still breaks the same rule`() throws {
        let sabotage = { Sabotage(line: { $0 + " key=sk_sim_a0_1" }) }
        let scenario = Scenario(seed: 3)
        let short = Simulation.shrink(scenario, sabotage: sabotage, limit: 200)
        #expect(short.size.accounts == 1)
        #expect(short.size.happenings < scenario.size.happenings)
        let outcome = Simulation.run(short, sabotage: sabotage(), isTold: true)
        #expect(outcome.violation?.rule == .secret)
        #expect(outcome.history.last?.contains("broken: secret") == true)
    }

    @Test(arguments: 0..<10)
    func `every rule holds, whatever fails, and then everything becomes true`(tenth: Int) {
        for number in 0..<100 {
            let seed = UInt64(tenth * 100 + number)
            let outcome = Simulation.run(Scenario(seed: seed))
            guard let violation = outcome.violation else { continue }
            Issue.record("seed \(seed) at \(violation.at.nanoseconds / 1_000_000) ms: \(violation)")
        }
    }
}
