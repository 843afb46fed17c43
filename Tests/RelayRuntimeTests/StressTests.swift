import ConnectionEvents
import RelayCore
import Testing
import Threading

@testable import RelayRuntime

/// Random register changes under random answers, journals and orders of things, from a seed.
///
/// A seed that fails becomes a case of its own below.
@Suite struct StressTests {
    @Test(arguments: Array(0..<60 as Range<UInt64>) + [211])
    func `whatever comes in whatever order, the relay ends up believing the truth`(
        seed: UInt64
    ) throws {
        var story = try StressStory(seed: seed)
        try story.play(steps: 400)
        try story.end()
    }
}

/// One random story, and what must be true at its end.
private struct StressStory {
    let bench: Bench
    let seed: UInt64
    var random: SeededRandom
    /// The key in use, by account; nil where the operator has none of that id.
    var keys: [String: String] = [:]
    var paused: Set<String> = []
    var keyCount = 0
    let ids = (0..<8).map { "acct-\($0)" }

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededRandom(seed: seed)
        bench = Bench(seed: seed, places: 1 + Int(seed % 6))
        for id in ids.prefix(Int(seed % 7)) { try add(id) }
        try bench.start()
    }

    mutating func play(steps: Int) throws {
        for step in 0..<steps {
            try act()
            if let wrong = bench.inconsistency() {
                throw InVain(description: "seed \(seed), step \(step): \(wrong)")
            }
        }
    }

    private mutating func act() throws {
        switch pick(100) {
        case 0..<24: bench.turn()
        case 24..<52:
            if let token = bench.transport.asking.keys.min(by: {
                $0.number < $1.number
            }) {
                bench.answer(token)
            }
        case 52..<58:
            if let token = bench.transport.asking.keys.randomElement(using: &random) {
                bench.answer(token)
            }
        case 58..<72: bench.judgeSome(1 + pick(4))
        case 72..<78: changeTheWorld()
        case 78..<84: misbehave()
        case 84..<93: try operate()
        case 93..<97: try bench.readRegister()
        case 97:
            bench.journal.fill(pick(2) == 0)
            let damaged = try account(one())
            let isDamaged = pick(4) == 0
            bench.journal.content.withLock { $0.unreadable = isDamaged ? [damaged] : [] }
        case 98: bench.loop.post(.hasten(try account(one())))
        default:
            bench.loop.post(.saveMarks)
            if pick(2) == 0 { try bench.crash() }
        }
    }

    private mutating func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

    private mutating func one() -> String { ids[pick(ids.count)] }

    private mutating func add(_ id: String) throws {
        keyCount += 1
        let key = "key-\(id)-\(keyCount)"
        bench.world.put(key, ["c1": "active", "c2": "expired"])
        bench.register.add(try account(id), key: key)
        keys[id] = key
        paused.remove(id)
    }

    private mutating func operate() throws {
        let id = one()
        guard let key = keys[id] else { return try add(id) }
        switch pick(6) {
        case 0:
            bench.register.remove(try account(id))
            keys[id] = nil
            // Sometimes it is back before anybody has looked.
            if pick(3) == 0 { try add(id) }
        case 1:
            keyCount += 1
            let other = "key-\(id)-\(keyCount)"
            bench.world.put(other, bench.world.rows(key).mapValues(\.status))
            bench.register.give(try account(id), key: other)
            keys[id] = other
        case 2:
            let milliseconds = 1 + pick(100)
            bench.register.change(try account(id)) { $0.interval = .milliseconds(milliseconds) }
        default:
            let isPaused = !paused.contains(id)
            bench.register.pause(try account(id), isPaused)
            if isPaused { paused.insert(id) } else { paused.remove(id) }
        }
    }

    private mutating func changeTheWorld() {
        guard let key = keys[one()] else { return }
        let status = [nil, "active", "expired", "pending", "odd"][pick(5)]
        bench.world.set(key, "c\(pick(4))", status)
        if pick(4) == 0 { bench.world.cut(key, pageSize: 1 + pick(3)) }
    }

    private mutating func misbehave() {
        guard let key = keys[one()] else { return }
        let answers: [World.Answer] = [
            .truth, .truth, .truth, World.refusal, World.refusal, .failure(code: "reset"),
            .status(500, "oops"), .status(200, "<html>"), .silence,
            .status(200, #"{"data":[{"id":""}]}"#), .status(404, "{}"), .status(401, "no"),
            .status(200, #"{"data":[{"id":"c1"},{"id":"c1"}]}"#),
        ]
        bench.world.answer(key, answers[pick(answers.count)])
    }

    /// All faults end, and the belief must become the truth.
    func end() throws {
        bench.journal.fill(false)
        bench.journal.content.withLock { $0.unreadable = [] }
        for key in keys.values { bench.world.answer(key, .truth) }
        try bench.readRegister()
        for round in 0..<4000 {
            // Their back-off would take minutes.
            for id in ids where round % 64 == 0 { bench.loop.post(.hasten(try account(id))) }
            bench.settle(1)
            if let wrong = bench.inconsistency() {
                throw InVain(description: "seed \(seed), at the end: \(wrong)")
            }
            if round % 8 == 7, try difference() == nil { break }
        }
        if let difference = try difference() {
            throw InVain(description: "seed \(seed): \(difference)")
        }
        try checkEvents()
    }

    /// In what belief and truth differ; nil: in nothing.
    private func difference() throws -> String? {
        for id in ids {
            let registered = bench.register[try account(id)]
            let belief = bench.journal.belief(id)
            guard let key = keys[id] else {
                if registered != nil { return "\(id) is still in the register" }
                if belief != nil { return "\(id) is still believed" }
                if bench.loop.slots[try account(id)] != nil { return "\(id) is still polled" }
                continue
            }
            guard registered?.isRemoving == false else { return "\(id) left the register" }
            guard bench.loop.slots[try account(id)] != nil else { return "\(id) is not polled" }
            if paused.contains(id) { continue }
            guard let belief else { return "\(id) is not believed" }
            guard belief.head.incarnation == registered?.incarnation else {
                return "\(id) is believed as what it was before"
            }
            let truth = bench.world.rows(key).mapValues(\.status)
            let rows = Dictionary(
                uniqueKeysWithValues: belief.rows.map { ($0.key.text, $0.value.shown.status) })
            if rows != truth { return "\(id): believed \(rows), true \(truth)" }
            if belief.head.blindSince != nil { return "\(id) is still blind" }
            if belief.isOpen { return "\(id) still waits for something" }
        }
        return nil
    }

    /// Epochs grow, numbers have no gap, nothing follows a removal, states replay to the belief.
    private func checkEvents() throws {
        var last: [String: (epoch: Int64, sequence: Int64, isRemoved: Bool)] = [:]
        for event in bench.journal.events {
            let id = event.account.text
            if let before = last[id], before.epoch == event.epoch {
                #expect(!before.isRemoved, "seed \(seed): \(id) after its removal")
                #expect(event.sequence == before.sequence + 1, "seed \(seed): a gap in \(id)")
            } else {
                #expect(event.epoch > last[id]?.epoch ?? 0, "seed \(seed): an older epoch of \(id)")
                #expect(event.sequence == 1, "seed \(seed): \(id) does not begin with 1")
            }
            last[id] = (event.epoch, event.sequence, event.type == .accountRemoved)
        }
        var states: [String: [UInt8]] = [:]
        for entry in bench.journal.content.withLock({ $0.entries }) {
            if let state = entry.state { states[state.key] = state.value }
        }
        let believed = bench.journal.content.withLock { content in
            content.beliefs.values.flatMap { belief in
                belief.rows.keys.map { "\(belief.account.text)/\($0.text)" }
            }
        }
        #expect(Set(states.keys) == Set(believed), "seed \(seed)")
    }
}
