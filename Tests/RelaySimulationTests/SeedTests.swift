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
