import ConnectionEvents
import Testing

@testable import RelayCore

@Suite struct AnswerLedgerTests {
    /// The rule of the contract as it reads, with every account asked each time.
    private struct Naive {
        var answers: [Int: (at: Int64, refused: Bool)] = [:]

        func verdict(for slot: Int, since: Int64, others: Int) -> FleetVerdict {
            guard others >= 5 else { return .thisAccount }
            let heard = answers.filter { $0.key != slot && $0.value.at >= since }
            guard heard.count >= 5 else { return .tooFewHeard }
            let refused = heard.count { $0.value.refused }
            return Double(refused) < Double(heard.count) / 2 ? .thisAccount : .fleetRefused
        }
    }

    private func instant(_ milliseconds: Int64) -> Timestamp {
        Timestamp(milliseconds: milliseconds)
    }

    @Test(arguments: 1...8)
    func `the ledger says what asking everyone would say`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var (ledger, naive) = (AnswerLedger(), Naive())
        var now: Int64 = 0
        let refusals = Double.random(in: 0.2...0.8, using: &random)
        for _ in 0..<6000 {
            now += Int64.random(in: 0...3, using: &random)
            let slot = Int.random(in: 0..<30, using: &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                ledger.forget(slot)
                naive.answers[slot] = nil
            case 1...4:
                let since = max(0, now - Int64.random(in: 0...60, using: &random))
                let others = Int.random(in: 3...30, using: &random)
                #expect(
                    ledger.verdict(for: slot, since: instant(since), others: others)
                        == naive.verdict(for: slot, since: since, others: others))
            default:
                let refused = Double.random(in: 0..<1, using: &random) < refusals
                ledger.note(slot, refused: refused, at: instant(now))
                naive.answers[slot] = (now, refused)
            }
        }
    }

    @Test(arguments: [
        (4, 0, 0, FleetVerdict.thisAccount), (4, 0, 4, .thisAccount), (5, 0, 0, .tooFewHeard),
        (5, 4, 0, .tooFewHeard), (5, 5, 0, .thisAccount), (9, 3, 2, .thisAccount),
        (9, 3, 3, .fleetRefused), (9, 4, 2, .thisAccount), (9, 0, 5, .fleetRefused),
    ])
    func `five others must have been heard, and fewer than half of them refused`(
        others: Int, sealed: Int, refused: Int, verdict: FleetVerdict
    ) {
        var ledger = AnswerLedger()
        ledger.note(0, refused: true, at: instant(10))
        for slot in 1..<(1 + sealed) { ledger.note(slot, refused: false, at: instant(11)) }
        for slot in 20..<(20 + refused) { ledger.note(slot, refused: true, at: instant(11)) }
        #expect(ledger.verdict(for: 0, since: instant(10), others: others) == verdict)
    }

    @Test func `each other account counts by its latest answer, since the first refusal`() {
        var ledger = AnswerLedger()
        for slot in 1...5 { ledger.note(slot, refused: false, at: instant(5)) }
        #expect(ledger.verdict(for: 0, since: instant(6), others: 5) == .tooFewHeard)
        #expect(ledger.verdict(for: 0, since: instant(5), others: 5) == .thisAccount)
        for slot in 1...3 { ledger.note(slot, refused: true, at: instant(7)) }
        #expect(ledger.verdict(for: 0, since: instant(5), others: 5) == .fleetRefused)
        ledger.note(1, refused: false, at: instant(8))
        #expect(ledger.verdict(for: 0, since: instant(5), others: 5) == .thisAccount)
        ledger.forget(5)
        #expect(ledger.verdict(for: 0, since: instant(5), others: 5) == .tooFewHeard)
    }
}

@Suite struct DueHeapTests {
    @Test(arguments: 1...6)
    func `the heap gives what a search through all would give`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var heap = DueHeap()
        var naive: [Int: Int64] = [:]
        for _ in 0..<3000 {
            let slot = Int.random(in: 0..<50, using: &random)
            if Int.random(in: 0..<3, using: &random) == 0 {
                heap.remove(slot)
                naive[slot] = nil
            } else {
                let due = Int64.random(in: 0..<40, using: &random)
                heap.set(slot, due: Instant(nanoseconds: due))
                naive[slot] = due
            }
            #expect(heap.count == naive.count)
            #expect(heap.isEmpty == naive.isEmpty)
            #expect(heap.first?.due.nanoseconds == naive.values.min())
            #expect(heap.first.map { naive[$0.slot] == $0.due.nanoseconds } ?? true)
            #expect(heap.contains(slot) == (naive[slot] != nil))
            #expect(heap.due(of: slot)?.nanoseconds == naive[slot])
        }
        while let first = heap.first {
            #expect(first.due.nanoseconds == naive.values.min())
            #expect(naive.removeValue(forKey: first.slot) == first.due.nanoseconds)
            heap.remove(first.slot)
        }
        #expect(naive.isEmpty)
    }

    @Test func `whatever is taken out of the middle, the rest comes in order`() {
        var random = SeededRandom(seed: 11)
        for _ in 0..<100 {
            var heap = DueHeap()
            for slot in 0..<60 {
                heap.set(slot, due: Instant(nanoseconds: Int64.random(in: 0..<999, using: &random)))
            }
            for _ in 0..<20 { heap.remove(Int.random(in: 0..<60, using: &random)) }
            var last: Int64 = 0
            while let first = heap.first {
                #expect(first.due.nanoseconds >= last)
                last = first.due.nanoseconds
                heap.remove(first.slot)
            }
        }
    }
}

@Suite struct TokenBucketTests {
    @Test func `a bucket starts empty and fills with its rate`() {
        var bucket = TokenBucket(rate: 4, burst: .milliseconds(10), now: .zero)
        #expect(bucket.take(now: .zero) == false)
        #expect(bucket.ready(now: .zero) == .seconds(0.25))
        #expect(bucket.take(now: .seconds(0.2)) == false)
        #expect(bucket.take(now: .seconds(0.25)) == true)
        #expect(bucket.take(now: .seconds(0.25)) == false)
        #expect(bucket.ready(now: .seconds(0.3)) == .seconds(0.5))
    }

    @Test func `no more is saved up than a moment's worth, and never less than one`() {
        var small = TokenBucket(rate: 4, burst: .milliseconds(10), now: .zero)
        var large = TokenBucket(rate: 1000, burst: .milliseconds(10), now: .zero)
        let later = Instant.seconds(100)
        #expect((0..<5).map { _ in small.take(now: later) } == [true, false, false, false, false])
        #expect((0..<20).count { _ in large.take(now: later) } == 10)
        #expect(small.ready(now: .seconds(200)) == .seconds(200))
    }

    @Test func `a clock that steps back neither fills nor empties a bucket`() {
        var bucket = TokenBucket(rate: 1, burst: .zero, now: .seconds(10))
        #expect(bucket.take(now: .seconds(5)) == false)
        #expect(bucket.take(now: .seconds(11)) == true)
        #expect(bucket.take(now: .seconds(2)) == false)
        #expect(bucket.take(now: .seconds(11.9)) == false)
        #expect(bucket.take(now: .seconds(12)) == true)
        #expect(bucket.ready(now: .seconds(20)) == .seconds(20))
        #expect(bucket.take(now: .seconds(15)) == true, "what is there stays there")
    }

    @Test func `whoever waits as long as told finds a token`() {
        var random = SeededRandom(seed: 4)
        for _ in 0..<200 {
            let rate = Double.random(in: 0.01...5000, using: &random)
            var bucket = TokenBucket(rate: rate, burst: .milliseconds(10), now: .zero)
            var now = Instant.zero
            for _ in 0..<20 {
                now = bucket.ready(now: now)
                // A rounded nanosecond may be missing.
                #expect(bucket.take(now: now + .nanoseconds(2)) == true)
            }
        }
    }
}
