import ConnectionEvents
import Foundation
import JSON
import RelayCore
import RelayRuntime
import Testing
import Threading

/// The whole relay with its threads: random changes, faults and restarts, from a seed.
@Suite struct StormTests {
    @Test(arguments: 0..<6 as Range<UInt64>)
    func `after any storm each change was delivered once, in order, and the states are true`(
        seed: UInt64
    ) throws {
        let storm = Storm(seed: seed)
        try storm.blow()
        try storm.calm()
    }
}

private final class Storm {
    let stage = Stage(remembers: true)
    let seed: UInt64
    var random: SeededRandom
    var keys: [String: String] = [:]
    var paused: Set<String> = []
    var keyCount = 0
    let ids = (0..<7).map { "acct-\($0)" }

    init(seed: UInt64) {
        self.seed = seed
        random = SeededRandom(seed: seed)
        stage.settings.schedule.slowest = .milliseconds(5)
    }

    /// Three relays, one after another, each stopped in the midst of things.
    func blow() throws {
        for _ in 0..<3 {
            let relay = try stage.relay()
            try relay.start()
            for _ in 0..<120 {
                try act(relay)
                usleep(useconds_t(pick(3000)))
            }
            // A journal that is full or a broker that is away may keep things from being delivered.
            relay.stop(within: .milliseconds(200))
            stage.publisher.state.withLock { $0.fates = [] }
        }
    }

    private func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

    private func act(_ relay: Relay) throws {
        let id = ids[pick(ids.count)]
        switch pick(20) {
        case 0..<7: change(id)
        case 7..<10: misbehave(id)
        case 10..<15: try operate(id)
        case 15: relay.readRegister()
        case 16: relay.hasten(try account(id))
        case 17: stage.journal.fill(pick(3) == 0)
        case 18: stage.publisher.leave(pick(3) == 0)
        default:
            let lost = PublishFailure(kind: .reopen, code: "lost", reason: "no acknowledgement")
            let again = PublishFailure(kind: .again, code: "queue_full", reason: "full")
            let fates: [FakePublisher.Fate] = [.lose(lost), .fail(lost), .fail(again)]
            let fate = fates[pick(3)]
            stage.publisher.state.withLock { $0.fates.append(fate) }
        }
    }

    private func change(_ id: String) {
        guard let key = keys[id] else { return }
        stage.world.set(key, "c\(pick(3))", [nil, "active", "expired", "pending"][pick(4)])
    }

    private func misbehave(_ id: String) {
        guard let key = keys[id] else { return }
        let answers: [World.Answer] = [
            .truth, .truth, World.refusal, .failure(code: "reset"), .status(500, ""), .silence,
            .status(200, "{"),
        ]
        stage.world.answer(key, answers[pick(answers.count)])
    }

    private func operate(_ id: String) throws {
        guard keys[id] != nil, pick(4) > 0 else {
            if keys[id] != nil { stage.register.remove(try account(id)) }
            keys[id] = nil
            paused.remove(id)
            guard pick(4) > 0 else { return }
            keyCount += 1
            let key = "key-\(keyCount)"
            stage.world.put(key, ["c0": "active", "c1": "expired"])
            stage.register.add(try account(id), key: key)
            keys[id] = key
            return
        }
        if paused.remove(id) != nil {
            stage.register.pause(try account(id), false)
        } else {
            paused.insert(id)
            stage.register.pause(try account(id))
        }
    }

    /// Everything works again, and in the end the truth is believed and delivered.
    func calm() throws {
        stage.journal.fill(false)
        stage.publisher.leave(false)
        for (id, key) in keys {
            stage.world.answer(key, .truth)
            stage.register.pause(try account(id), false)
        }
        try stage.run { relay in
            try eventually("seed \(seed): the truth is believed") {
                for id in ids { relay.hasten(try account(id)) }
                return try ids.allSatisfy { try isTrue($0) }
            }
            try eventually("seed \(seed): ready") { relay.status.reasons.isEmpty }
        }
        try checkDelivery()
    }

    private func isTrue(_ id: String) throws -> Bool {
        let belief = stage.journal.belief(id)
        guard let key = keys[id] else {
            return try belief == nil && stage.register[account(id)] == nil
        }
        guard let belief, !belief.isOpen else { return false }
        let rows = belief.rows.map { ($0.key.text, $0.value.shown.status) }
        return Dictionary(uniqueKeysWithValues: rows)
            == stage.world.rows(key).mapValues(\.status)
    }

    private func checkDelivery() throws {
        let told = stage.publisher.values("events")
        let journaled = stage.journal.events.map {
            String(decoding: $0.serialized(), as: UTF8.self)
        }
        #expect(told == journaled, "seed \(seed)")
        var states: [String: [UInt8]] = [:]
        for record in stage.publisher.state.withLock({ $0.records[Stage.states] ?? [] }) {
            states[record.key] = record.value
        }
        let believed = stage.journal.content.withLock { $0.beliefs }
        let keys = believed.values.flatMap { belief in
            belief.rows.keys.map { StateRecord.key(belief.account, $0) }
        }
        #expect(Set(states.keys) == Set(keys), "seed \(seed)")
        for value in states.values {
            let record = try #require(StateRecord(json: try JSONValue(parsing: value)))
            let row = believed[record.account]?.rows[record.connection.id]
            #expect(row?.shown.status == record.connection.status, "seed \(seed)")
        }
    }
}
