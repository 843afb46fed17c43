public import ConnectionEvents

/// Each account's latest answer, in the order in which they came: asked, when a credential is
/// refused, how the others fared since.
///
/// Two Fenwick trees over the order of answers: an answer and a question cost O(log n), so that a
/// million refusals at once do not cost a million squared. Not bound to a walk's outcome other than
/// sealed or refused: failures are no answer.
public struct AnswerLedger: Sendable {
    private var heard = FenwickTree()
    private var refused = FenwickTree()
    /// When the answer with an index came; ascending.
    private var times: [Int64] = []
    /// Who gave the answer with an index.
    private var slots: [Int32] = []
    /// The index of a slot's latest answer; -1: none.
    private var latest: [Int32] = []
    private var wasRefused: [Bool] = []
    private var live = 0

    /// How many others must have been heard.
    public static let quorum = 5

    /// An empty ledger.
    public init() {}

    /// Notes an answer; times must not run backwards.
    public mutating func note(_ slot: Int, refused isRefused: Bool, at time: Timestamp) {
        forget(slot)
        if times.count > 2 * live + 1024 { compact() }
        if slot >= latest.count {
            let more = max(slot + 1, latest.count * 2) - latest.count
            latest += Array(repeating: -1, count: more)
            wasRefused += Array(repeating: false, count: more)
        }
        latest[slot] = Int32(times.count)
        wasRefused[slot] = isRefused
        times.append(max(time.milliseconds, times.last ?? .min))
        slots.append(Int32(slot))
        heard.append(1)
        refused.append(isRefused ? 1 : 0)
        live += 1
    }

    /// Forgets an account that is gone.
    public mutating func forget(_ slot: Int) {
        guard slot < latest.count, latest[slot] >= 0 else { return }
        heard.add(-1, at: Int(latest[slot]))
        if wasRefused[slot] { refused.add(-1, at: Int(latest[slot])) }
        latest[slot] = -1
        live -= 1
    }

    /// What the others' latest answers since a time say about a refusal of `slot`.
    ///
    /// - Parameter others: how many other accounts the register polls; fewer than the quorum are
    ///   not asked.
    public func verdict(
        for slot: Int, since: Timestamp, others: Int
    ) -> FleetVerdict {
        guard others >= Self.quorum else { return .thisAccount }
        let first = times.firstIndex(since: since.milliseconds)
        var heardOthers = heard.sum(from: first)
        var refusedOthers = refused.sum(from: first)
        if slot < latest.count, latest[slot] >= first {
            heardOthers -= 1
            if wasRefused[slot] { refusedOthers -= 1 }
        }
        guard heardOthers >= Self.quorum else { return .tooFewHeard }
        return 2 * refusedOthers < heardOthers ? .thisAccount : .fleetRefused
    }

    private mutating func compact() {
        var keptTimes: [Int64] = []
        var keptSlots: [Int32] = []
        heard = FenwickTree()
        refused = FenwickTree()
        for index in times.indices where latest[Int(slots[index])] == Int32(index) {
            let slot = Int(slots[index])
            latest[slot] = Int32(keptTimes.count)
            keptTimes.append(times[index])
            keptSlots.append(slots[index])
            heard.append(1)
            refused.append(wasRefused[slot] ? 1 : 0)
        }
        times = keptTimes
        slots = keptSlots
    }
}

/// Sums over ranges of a growing row of numbers, in O(log n) (Fenwick 1994).
struct FenwickTree: Sendable {
    /// `nodes[i]` sums the `i & -i` numbers that end with number `i`, from 1.
    private var nodes: [Int32] = [0]

    mutating func append(_ value: Int32) {
        let index = nodes.count
        var sum = value
        var child = 1
        while child < index & -index {
            sum += nodes[index - child]
            child <<= 1
        }
        nodes.append(sum)
    }

    mutating func add(_ value: Int32, at position: Int) {
        var index = position + 1
        while index < nodes.count {
            nodes[index] += value
            index += index & -index
        }
    }

    /// The sum of all numbers from a position on.
    func sum(from position: Int) -> Int {
        prefix(nodes.count - 1) - prefix(position)
    }

    private func prefix(_ count: Int) -> Int {
        var (index, sum) = (count, 0)
        while index > 0 {
            sum += Int(nodes[index])
            index -= index & -index
        }
        return sum
    }
}
