public import ConnectionEvents

/// Each account's last sealed walk, in the order of their seals: asked, before a removal is
/// believed, how the others' lists fare since its first sight.
///
/// Like ``AnswerLedger`` two Fenwick trees over the order of seals, so that a seal and a question
/// cost O(log n). What a walk lacked is known only when it is judged, so its place is kept when it
/// is sealed and filled then. Bound: twice the accounts, and a thousand.
public struct SealLedger: Sendable {
    private struct Account: Sendable {
        /// The index of its last judged seal; -1: none.
        var latest: Int32 = -1
        /// The index kept for the walk that is being judged; -1: none.
        var pending: Int32 = -1
        /// Whether it has believed rows now.
        var hasRows = false
        /// Whether it had rows to lack, or has some, as of its last seal; such accounts are asked.
        var isAsked = false
        var lacks = false
        /// Whether the register polls it.
        var isPolled = false
    }

    private var accounts: [Account] = []
    private var asked = FenwickTree()
    private var lacking = FenwickTree()
    /// When the seal with an index came; ascending.
    private var times: [Int64] = []
    /// Whose seal has an index.
    private var slots: [Int32] = []
    private var live = 0
    /// How many accounts that are polled count as having rows.
    private var withRows = 0

    /// An empty ledger.
    public init() {}

    /// Takes an account in, with what is remembered of it; seals must come in ascending order.
    public mutating func admit(_ slot: Int, hasRows: Bool, lacks: Bool, sealedAt: Timestamp?) {
        forget(slot)
        grow(slot)
        accounts[slot].isPolled = true
        accounts[slot].hasRows = hasRows
        guard let sealedAt else {
            setAsked(slot, hasRows || lacks)
            return
        }
        keepPlace(slot, at: sealedAt)
        fill(slot, hasRows: hasRows, hadRows: lacks, lacks: lacks)
    }

    /// A walk of the account was sealed then, and is being judged.
    public mutating func keepPlace(_ slot: Int, at time: Timestamp) {
        grow(slot)
        if times.count > 2 * live + 1024 { compact() }
        if accounts[slot].pending < 0 { live += 1 }
        accounts[slot].pending = Int32(times.count)
        times.append(max(time.milliseconds, times.last ?? .min))
        slots.append(Int32(slot))
        asked.append(0)
        lacking.append(0)
    }

    /// The walk whose place was kept is judged.
    ///
    /// - Parameters:
    ///   - hasRows: whether rows are believed after it.
    ///   - hadRows: whether rows were believed when it came.
    ///   - lacks: whether it lacked one of those.
    public mutating func fill(_ slot: Int, hasRows: Bool, hadRows: Bool, lacks: Bool) {
        guard slot < accounts.count, accounts[slot].pending >= 0 else { return }
        weigh(slot, -1)
        if accounts[slot].latest >= 0 { live -= 1 }
        accounts[slot].latest = accounts[slot].pending
        accounts[slot].pending = -1
        accounts[slot].hasRows = hasRows
        accounts[slot].lacks = lacks
        setAsked(slot, hasRows || hadRows)
        weigh(slot, 1)
    }

    /// The walk whose place was kept was not sealed after all.
    public mutating func abandon(_ slot: Int) {
        guard slot < accounts.count, accounts[slot].pending >= 0 else { return }
        accounts[slot].pending = -1
        live -= 1
    }

    /// A walk that found all as the last one, with nothing waiting for it.
    public mutating func noteUnchanged(_ slot: Int, at time: Timestamp) {
        keepPlace(slot, at: time)
        fill(slot, hasRows: accounts[slot].hasRows, hadRows: false, lacks: false)
    }

    /// Forgets an account that is gone or paused.
    public mutating func forget(_ slot: Int) {
        guard slot < accounts.count else { return }
        abandon(slot)
        weigh(slot, -1)
        if accounts[slot].latest >= 0 { live -= 1 }
        setAsked(slot, false)
        accounts[slot] = Account()
    }

    /// What the others say to an account that misses rows since these first sights.
    public func sight(for slot: Int, since sights: [Timestamp]) -> FleetSight {
        let mine = slot < accounts.count ? accounts[slot] : Account()
        let others = withRows - (mine.isPolled && mine.isAsked ? 1 : 0)
        guard others >= FleetSight.quorum else { return FleetSight(others: others, answers: [:]) }
        var answers: [Timestamp: FleetSight.Answer] = [:]
        for sight in sights {
            let first = times.firstIndex(since: sight.milliseconds)
            let isMine = mine.latest >= 0 && Int(mine.latest) >= first && mine.isAsked
            answers[sight] = FleetSight.Answer(
                asked: asked.sum(from: first) - (isMine ? 1 : 0),
                lacking: lacking.sum(from: first) - (isMine && mine.lacks ? 1 : 0))
        }
        return FleetSight(others: others, answers: answers)
    }

    private mutating func grow(_ slot: Int) {
        guard slot >= accounts.count else { return }
        let more = max(slot + 1, accounts.count * 2) - accounts.count
        accounts += Array(repeating: Account(), count: more)
    }

    private mutating func setAsked(_ slot: Int, _ isAsked: Bool) {
        let before = accounts[slot].isAsked && accounts[slot].isPolled
        accounts[slot].isAsked = isAsked
        let now = isAsked && accounts[slot].isPolled
        withRows += (now ? 1 : 0) - (before ? 1 : 0)
    }

    /// Adds or takes away what an account's last seal counts.
    private mutating func weigh(_ slot: Int, _ sign: Int32) {
        let account = accounts[slot]
        guard account.latest >= 0, account.isAsked else { return }
        asked.add(sign, at: Int(account.latest))
        if account.lacks { lacking.add(sign, at: Int(account.latest)) }
    }

    private mutating func compact() {
        var keptTimes: [Int64] = []
        var keptSlots: [Int32] = []
        asked = FenwickTree()
        lacking = FenwickTree()
        for index in times.indices {
            let slot = Int(slots[index])
            let isLatest = accounts[slot].latest == Int32(index)
            let isPending = accounts[slot].pending == Int32(index)
            guard isLatest || isPending else { continue }
            let place = Int32(keptTimes.count)
            if isLatest { accounts[slot].latest = place } else { accounts[slot].pending = place }
            keptTimes.append(times[index])
            keptSlots.append(slots[index])
            let counts = isLatest && accounts[slot].isAsked
            asked.append(counts ? 1 : 0)
            lacking.append(counts && accounts[slot].lacks ? 1 : 0)
        }
        times = keptTimes
        slots = keptSlots
    }
}
