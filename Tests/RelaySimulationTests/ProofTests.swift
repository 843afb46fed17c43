import ConnectionEvents
import JSON
import RelayCore
import Testing

@testable import RelaySimulation

/// Each checker is proved by a deliberate fault in what stands around the relay's parts.
@Suite struct ProofTests {
    struct Proof: Sendable, CustomTestStringConvertible {
        var rule: Rule
        var fault: String
        /// What the checker says of it; more than one part of a rule may be proved.
        var says = ""
        /// The first seed that is tried; a few proofs need a rare history.
        var from: UInt64 = 0
        var sabotage: @Sendable () -> Sabotage

        var testDescription: String { "\(rule.rawValue): \(fault)" }
    }

    static let proofs: [Proof] = [
        Proof(rule: .previous, fault: "an event forgets what was published before") {
            Sabotage(batch: { $0.change { $0.previous = nil } })
        },
        Proof(rule: .type, fault: "every repaired is called linked") {
            Sabotage(batch: { $0.retype(.repaired, .linked) })
        },
        Proof(rule: .sequence, fault: "one event in five takes two numbers") {
            let count = Count()
            return Sabotage(batch: { $0.renumber { $0 + (count.next() % 5 == 4 ? 1 : 0) } })
        },
        Proof(rule: .together, fault: "a belief is not written with its events") {
            Sabotage(batch: { $0.beliefs.removeAll { $0.write.hasRows } })
        },
        Proof(rule: .sealed, fault: "a list that was cut passes for a whole one") {
            Sabotage(reply: { $0.showing = .nothing })
        },
        Proof(rule: .honest, fault: "one list in four is heard as an empty one") {
            let count = Count()
            return Sabotage(reply: { if count.next() % 4 > 0 { $0.empty() } })
        },
        Proof(rule: .blind, fault: "a fault of the server is heard as a refusal") {
            Sabotage(reply: { $0.refuse() })
        },
        Proof(rule: .held, fault: "account.released counts one too many") {
            Sabotage(batch: { $0.miscount() })
        },
        Proof(rule: .still, fault: "a held failure is believed at once", from: 25) {
            Sabotage(batch: { $0.believeHeld() })
        },
        Proof(
            rule: .brake, fault: "the relay has no brake, and one list changes at once",
            says: "in too large a share"
        ) {
            Sabotage(detection: { $0.brake = nil })
        },
        Proof(
            rule: .brake, fault: "the relay never asks how many of the fleet lack rows",
            says: "others lack rows as well", from: 340
        ) {
            Sabotage(detection: { $0.brake?.fleet = 100 })
        },
        Proof(
            rule: .brake, fault: "what is held is published after a second",
            says: "before its time"
        ) {
            Sabotage(detection: {
                $0.brake?.failuresAfter = .seconds(1)
                $0.brake?.removalsAfter = .seconds(1)
            })
        },
        Proof(rule: .wrongAccount, fault: "nobody remembers that a credential is new") {
            Sabotage(batch: { $0.forgetNewCredentials() })
        },
        Proof(rule: .durable, fault: "a standing is not read back") {
            Sabotage(read: { belief in
                for id in belief.rows.keys { belief.rows[id]?.standing = nil }
            })
        },
        Proof(rule: .oneWalk, fault: "a request goes out twice") {
            Sabotage(isEchoing: true)
        },
        Proof(rule: .budget, fault: "the relay's clock goes at thrice the speed") {
            Sabotage(haste: 3)
        },
        Proof(rule: .perAccount, fault: "the relay's clock goes at thrice the speed") {
            Sabotage(haste: 3)
        },
        Proof(rule: .retryAfter, fault: "the header is lost on its way") {
            Sabotage(reply: { $0.hurry() })
        },
        Proof(rule: .slowest, fault: "the poll loop sleeps for three minutes") {
            Sabotage(sloth: .seconds(180))
        },
        Proof(rule: .bounded, fault: "the transport never says that it is full") {
            Sabotage(free: { _ in 1000 })
        },
        Proof(rule: .delivery, fault: "a sink loses one record in seven") {
            let count = Count()
            return Sabotage(run: { run in
                run.filtered { _ in count.next() % 7 != 6 }
            })
        },
        Proof(rule: .delivery, fault: "a sink takes every record twice") {
            Sabotage(run: { run in run.doubled })
        },
        Proof(rule: .delivery, fault: "a broker does not tell that an older copy was put back") {
            Sabotage(isForgetful: true)
        },
        Proof(
            rule: .together, fault: "one record in two of the state topic is not read back",
            says: "the state topic holds"
        ) {
            let count = Count()
            return Sabotage(state: { _ in count.next() % 2 == 0 })
        },
        Proof(rule: .delivery, fault: "what a sink lacks is pruned", says: "is pruned") {
            Sabotage(greed: 3)
        },
        Proof(rule: .converges, fault: "a parked record is forgotten", says: "parked", from: 70) {
            Sabotage(isLosingParked: true)
        },
        Proof(rule: .place, fault: "a sink says that it took what it did not") {
            let count = Count()
            return Sabotage(run: { count.next() % 3 == 1 ? nil : $0 })
        },
        Proof(rule: .secret, fault: "a log line tells a credential") {
            Sabotage(line: { $0 + " key=sk_sim_a0_1" })
        },
        Proof(rule: .converges, fault: "after a while no answer comes any more") {
            let count = Count()
            return Sabotage(reply: { if count.next() > 60 { $0.content = .failure("reset") } })
        },
    ]

    @Test(arguments: proofs)
    func `a deliberate fault is found`(proof: Proof) {
        var found: Set<Rule> = []
        for seed in proof.from..<proof.from + 300 {
            let outcome = Simulation.run(Scenario(seed: seed), sabotage: proof.sabotage())
            guard let violation = outcome.violation else { continue }
            found.insert(violation.rule)
            if violation.rule == proof.rule,
                violation.text.contains(proof.says) || proof.says.isEmpty
            {
                return
            }
        }
        Issue.record("\(proof.rule) was not found; found: \(found)")
    }

    @Test func `every rule has a proof`() {
        #expect(Set(Self.proofs.map(\.rule)) == Set(Rule.allCases))
    }
}

/// Counts how often it is asked.
final class Count {
    private var count = 0

    func next() -> Int {
        count += 1
        return count - 1
    }
}

extension JournalBatch {
    mutating func change(_ body: (inout ConnectionChange) -> Void) {
        for index in entries.indices {
            guard case .connection(var change) = entries[index].event?.content else { continue }
            body(&change)
            entries[index].event?.content = .connection(change)
        }
    }

    mutating func retype(_ type: EventType, _ other: EventType) {
        for index in entries.indices where entries[index].event?.type == type {
            entries[index].event?.type = other
        }
    }

    /// Every `account.released` counts one change more than there was.
    mutating func miscount() {
        for index in entries.indices {
            guard
                case .account(.released(let hold, let recovered, let published, let discarded)) =
                    entries[index].event?.content
            else { continue }
            entries[index].event?.content = .account(
                .released(
                    hold: hold, recovered: recovered + 1, published: published,
                    discarded: discarded))
        }
    }

    /// Rows of which a failure is held are believed to be failing already.
    mutating func believeHeld() {
        change { (row: inout BelievedRow) in
            if let seen = row.held?.seen { row.shown = seen }
        }
    }

    mutating func forgetNewCredentials() {
        for index in beliefs.indices {
            guard case .update(var head, let rows) = beliefs[index].write else { continue }
            head.isCredentialNew = false
            beliefs[index].write = .update(head, rows: rows)
        }
    }

    private mutating func change(_ body: (inout BelievedRow) -> Void) {
        for index in beliefs.indices {
            guard case .update(let head, var rows) = beliefs[index].write else { continue }
            for (id, row) in rows {
                guard var row else { continue }
                body(&row)
                rows.updateValue(row, forKey: id)
            }
            beliefs[index].write = .update(head, rows: rows)
        }
    }

    mutating func renumber(_ body: (Int64) -> Int64) {
        for index in entries.indices {
            guard let event = entries[index].event else { continue }
            entries[index].event?.sequence = body(event.sequence)
        }
    }
}

extension BeliefWrite {
    var hasRows: Bool {
        guard case .update(_, let rows) = self else { return false }
        return !rows.isEmpty
    }
}

extension SimulatedAPI.Reply {
    /// The relay hears an empty list; the API knows to have shown its rows.
    mutating func empty() {
        guard case .page(let rows, _) = showing else { return }
        showing = .page(rows, isLast: true)
        content = .answer(
            status: 200, body: Array("{\"data\":[]}".utf8), retryAfter: nil, date: nil)
    }

    /// The relay hears a refusal where the server had a fault.
    mutating func refuse() {
        guard case .nothing = showing else { return }
        let body = "{\"error\":{\"code\":\"invalid_key\",\"message\":\"no\"}}"
        content = .answer(status: 401, body: Array(body.utf8), retryAfter: nil, date: nil)
    }

    /// The relay does not hear how long it is to wait.
    mutating func hurry() {
        guard wait != nil, case .answer(let status, let body, _, _) = content else { return }
        content = .answer(status: status, body: body, retryAfter: nil, date: nil)
    }
}

extension Run {
    func filtered(_ isKept: (OutboundMessage) -> Bool) -> Run {
        Run(
            parts: parts.map { part in
                var part = part
                part.messages = part.messages.filter(isKept)
                return part
            })
    }

    var doubled: Run {
        Run(
            parts: parts.map { part in
                var part = part
                part.messages = part.messages.flatMap { [$0, $0] }
                return part
            })
    }
}
