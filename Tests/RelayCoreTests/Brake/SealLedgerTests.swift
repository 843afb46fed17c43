import ConnectionEvents
import RelayCore
import Testing

@Suite struct SealLedgerTests {
    private func at(_ second: Int64) -> Timestamp {
        Timestamp(milliseconds: 1_796_040_000_000 + second * 1000)
    }

    private func seal(
        _ ledger: inout SealLedger, _ slot: Int, at second: Int64, lacks: Bool = false,
        hasRows: Bool = true
    ) {
        ledger.keepPlace(slot, at: at(second))
        ledger.fill(slot, hasRows: hasRows, hadRows: hasRows || lacks, lacks: lacks)
    }

    @Test func `asked are the others with rows that were sealed since, by each one's last walk`() {
        var ledger = SealLedger()
        for slot in 0..<8 {
            ledger.admit(slot, hasRows: slot != 7, lacks: false, sealedAt: nil)
        }
        for slot in 0..<8 { seal(&ledger, slot, at: Int64(slot), hasRows: slot != 7) }
        var sight = ledger.sight(for: 0, since: [at(0), at(4), at(9)])
        #expect(sight.others == 6)
        #expect(sight.answers[at(0)] == .init(asked: 6, lacking: 0))
        #expect(sight.answers[at(4)] == .init(asked: 3, lacking: 0))
        #expect(sight.answers[at(9)] == .init(asked: 0, lacking: 0))
        seal(&ledger, 1, at: 10, lacks: true)
        seal(&ledger, 2, at: 10, lacks: true, hasRows: false)
        sight = ledger.sight(for: 0, since: [at(4)])
        #expect(sight.answers[at(4)] == .init(asked: 5, lacking: 2))
        #expect(
            ledger.sight(for: 1, since: [at(10)]).answers[at(10)] == .init(asked: 1, lacking: 1))
        ledger.noteUnchanged(1, at: at(11))
        ledger.noteUnchanged(2, at: at(11))
        sight = ledger.sight(for: 0, since: [at(4)])
        #expect(sight.others == 5, "one without rows any more is not asked")
        #expect(sight.answers[at(4)] == .init(asked: 4, lacking: 0))
    }

    @Test func `a walk counts from when it was sealed, not from when it was judged`() {
        var ledger = SealLedger()
        for slot in 0..<7 { ledger.admit(slot, hasRows: true, lacks: false, sealedAt: nil) }
        ledger.keepPlace(1, at: at(1))
        for slot in 2..<7 { seal(&ledger, slot, at: 2) }
        ledger.fill(1, hasRows: true, hadRows: true, lacks: true)
        #expect(ledger.sight(for: 0, since: [at(2)]).answers[at(2)] == .init(asked: 5, lacking: 0))
        ledger.keepPlace(2, at: at(3))
        ledger.abandon(2)
        #expect(ledger.sight(for: 0, since: [at(3)]).answers[at(3)] == .init(asked: 0, lacking: 0))
    }

    @Test func `it says what counting one by one says, whatever happens in between`() {
        var random = Dice(seed: 7)
        var ledger = SealLedger()
        struct Known {
            var sealed: Int64?
            var hasRows = false
            var lacks = false
            var isAsked = false
        }
        var known: [Int: Known] = [:]
        for second in Int64(0)..<6000 {
            let slot = random.next(20)
            switch random.next(10) {
            case 0:
                ledger.forget(slot)
                known[slot] = nil
            case 1 where known[slot] == nil:
                ledger.admit(slot, hasRows: true, lacks: false, sealedAt: nil)
                known[slot] = Known(hasRows: true, isAsked: true)
            case 2, 3:
                guard known[slot] != nil else { continue }
                ledger.noteUnchanged(slot, at: at(second))
                let hasRows = known[slot]?.hasRows ?? false
                known[slot] = Known(sealed: second, hasRows: hasRows, isAsked: hasRows)
            default:
                guard known[slot] != nil else { continue }
                let (hasRows, lacks) = (random.next(4) > 0, random.next(3) == 0)
                seal(&ledger, slot, at: second, lacks: lacks, hasRows: hasRows)
                known[slot] = Known(
                    sealed: second, hasRows: hasRows, lacks: lacks, isAsked: hasRows || lacks)
            }
            guard second % 13 == 0 else { continue }
            let since = max(0, second - Int64(random.next(60)))
            let others = known.filter { $0.key != slot && $0.value.isAsked }
            let asked = others.filter { ($0.value.sealed ?? -1) >= since }
            let sight = ledger.sight(for: slot, since: [at(since)])
            #expect(sight.others == others.count)
            guard others.count >= FleetSight.quorum else { continue }
            #expect(
                sight.answers[at(since)]
                    == .init(asked: asked.count, lacking: asked.count { $0.value.lacks }))
        }
    }
}

/// Numbers that look random and are the same each time (Knuth's constants).
struct Dice {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(bound))
    }
}
