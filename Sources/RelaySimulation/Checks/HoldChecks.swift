internal import ConnectionEvents
internal import RelayCore

/// Holds every commit about held rows against what the contract says of holds themselves.
///
/// `account.held` and `account.released` pair up and count right, and what is held stands still.
final class HoldChecks {
    /// An open hold, as its events and the rows of the belief have told it.
    struct Open {
        var id: String
        var reason: HoldReason
        /// How many changes were taken in so far.
        var entered = 0
        /// How many left with an event, as changes.
        var published = 0
        /// How many left without an event; a held change that rules made none is published so.
        var silent = 0
        /// How many left in another state, or quietly, by order.
        var recovered = 0
        var discarded = 0
    }

    /// What one commit says of one account.
    private struct Commit {
        var account: AccountID
        var before: Belief?
        var after: Belief?
        var events: [ConnectionEvent]
        /// Whether all rows were judged anew under other rules.
        var isRejudged: Bool
        /// Whether an operator's order ended the hold with it.
        var isOrdered: Bool
    }

    private unowned let checks: Checks
    var open: [AccountID: Open] = [:]
    private var before: [AccountID: Belief] = [:]

    init(_ checks: Checks) { self.checks = checks }

    private func fail(_ rule: Rule, _ text: @autoclosure () -> String) {
        checks.fail(rule, text())
    }

    func willCommit(_ batch: JournalBatch) {
        before = [:]
        for account in batch.accounts { before[account] = checks.world.disk.beliefs[account] }
    }

    func committed(_ batch: JournalBatch) {
        for account in batch.accounts.sorted() { check(account, batch) }
    }

    private func check(_ account: AccountID, _ batch: JournalBatch) {
        let after = checks.world.disk.beliefs[account]
        let events = batch.entries.compactMap { $0.account == account ? $0.event : nil }
        let known = before[account]
        guard let known, after?.head.epoch == known.head.epoch else {
            end(account, before: known, after: after, events, batch)
            return
        }
        let commit = Commit(
            account: account, before: known, after: after, events: events,
            isRejudged: known.head.rulesDigest != after?.head.rulesDigest,
            isOrdered: isOrdered(known.head.hold, batch))
        checkStill(commit, batch)
        checkPairs(commit)
        checkOrder(commit)
    }

    /// An epoch ended: in silence with its account, or by the release of a wrong account.
    private func end(
        _ account: AccountID, before: Belief?, after: Belief?, _ events: [ConnectionEvent],
        _ batch: JournalBatch
    ) {
        if let after, after.head.hold != nil {
            fail(.held, "the epoch of \(account) begins with a hold")
        }
        let isResynced = events.contains {
            $0.type == .accountResynced && !$0.isResyncedByTopic
        }
        if isResynced {
            let hold = before?.head.hold
            if hold?.reason != .wrongAccount || !isOrdered(hold, batch) {
                fail(.wrongAccount, "\(account) is resynced, and nobody released a wrong account")
            }
            if events.first?.type != .accountReleased {
                fail(.held, "account.resynced of \(account) does not follow account.released")
            }
            let listed = Set(hold?.list?.rows.map(\.id) ?? [])
            if listed != Set(after?.rows.keys.map(\.self) ?? []) {
                fail(.wrongAccount, "the baseline of \(account) is not its last list")
            }
        }
        open[account] = nil
    }

    /// Whether an operator ordered that it be ended, and this is it.
    func isOrdered(_ hold: Hold?, _ batch: JournalBatch) -> Bool {
        guard let hold else { return false }
        return checks.ordersBefore.contains {
            $0.hold == hold.id && batch.ordersDone.contains($0.number)
        }
    }

    /// What was held and stays so is neither told nor believed otherwise.
    private func checkStill(_ commit: Commit, _ batch: JournalBatch) {
        guard let before = commit.before, let after = commit.after, !commit.isRejudged else {
            return
        }
        let isWrong =
            before.head.hold?.reason == .wrongAccount && before.head.hold?.id == after.head.hold?.id
        var told: Set<ConnectionID> = []
        for entry in batch.entries where entry.account == commit.account {
            if let id = entry.event?.subject { told.insert(id) }
            if let key = entry.state?.key, let (_, id) = StateRecord.split(key: key) {
                told.insert(id)
            }
        }
        for (id, row) in before.rows {
            let now = after.rows[id]
            guard isWrong || now?.held != nil else { continue }
            let name = "\(commit.account)/\(id), which is held,"
            if told.contains(id) { fail(.still, "\(name) is told") }
            guard let now else {
                fail(.still, "\(name) is gone")
                continue
            }
            if now.shown != row.shown || now.standing != row.standing || now.since != row.since
                || now.observedAt != row.observedAt || now.recordedAt != row.recordedAt
            {
                fail(.still, "\(name) is believed otherwise")
            }
            if let held = row.held, let later = now.held {
                let isSame = held.kind == later.kind
                if isSame ? held.firstSight != later.firstSight : held.firstSight > later.firstSight
                {
                    fail(.still, "\(name) has another first sight")
                }
            }
        }
        if isWrong, before.rows.count != after.rows.count {
            fail(.still, "\(commit.account) has other rows while it is a wrong account")
        }
    }

    private func checkPairs(_ commit: Commit) {
        guard let before = commit.before, let after = commit.after else { return }
        let account = commit.account
        let entered = after.rows.filter { $0.value.held != nil && before.rows[$0.key]?.held == nil }
        for id in before.rows.keys where before.rows[id]?.held != nil {
            guard after.rows[id]?.held == nil else { continue }
            leave(id, commit)
        }
        for event in commit.events {
            guard case .account(let change) = event.content else { continue }
            switch change {
            case .released(let hold, let recovered, let published, let discarded):
                checkReleased(account, hold, (recovered, published, discarded))
            case .held(let hold, let reason, let removals, let failures, let connections):
                if open[account] != nil { fail(.held, "\(account) is held twice") }
                let reason = HoldReason(rawValue: reason)
                open[account] = Open(id: hold, reason: reason ?? .share)
                if removals != entered.count(where: { $0.value.held?.kind == .removal })
                    || failures != entered.count(where: { $0.value.held?.kind == .failure })
                    || connections != Array(entered.keys.sorted().prefix(100)) || reason == nil
                {
                    fail(.held, "account.held of \(account) does not say what is held")
                }
            case .blind, .restored, .removed, .resynced, .unknown: break
            }
        }
        if !entered.isEmpty, open[account] == nil {
            fail(.held, "rows of \(account) are held and nobody was told")
        }
        open[account]?.entered += entered.count
        if open[account]?.id != after.head.hold?.id.text {
            fail(.held, "\(account) believes in another hold than was told")
        }
        let counts = (after.head.hold?.removals ?? 0, after.head.hold?.failures ?? 0)
        let rows = after.rows.values
        if counts.0 != rows.count(where: { $0.held?.kind == .removal })
            || counts.1 != rows.count(where: { $0.held?.kind == .failure })
        {
            fail(.held, "the hold of \(account) miscounts its rows")
        }
    }

    /// A row is not held any more: by what came of it.
    private func leave(_ id: ConnectionID, _ commit: Commit) {
        let event = commit.events.last { $0.subject == id && $0.hasWalk }
        switch event?.type {
        case nil: open[commit.account]?.silent += 1
        // Under changed rules what is released may be no failure any more.
        case .statusChanged? where commit.isOrdered: open[commit.account]?.silent += 1
        case .failing?, .unlinked?:
            if event?.kind == .resync {
                open[commit.account]?.discarded += 1
            } else {
                open[commit.account]?.published += 1
            }
        default: open[commit.account]?.recovered += 1
        }
    }

    private func checkReleased(
        _ account: AccountID, _ hold: String,
        _ told: (recovered: Int, published: Int, discarded: Int)
    ) {
        guard let known = open.removeValue(forKey: account), known.id == hold else {
            return fail(.held, "account.released of \(account) without its account.held")
        }
        let sum = told.recovered + told.published + told.discarded
        if sum != known.entered {
            fail(.held, "\(account): \(known.entered) changes were held, \(sum) are accounted for")
        }
        // What left without an event may be any of them.
        if told.recovered < known.recovered || told.published < known.published
            || told.discarded < known.discarded
        {
            fail(
                .held,
                "account.released of \(account) says \(told), seen were \(known.recovered),"
                    + " \(known.published), \(known.discarded)")
        }
    }

    /// What concerns the account comes before its rows, and the end of a hold before a new one.
    private func checkOrder(_ commit: Commit) {
        let ranks = commit.events.compactMap { event -> Int? in
            switch event.type {
            case .accountRestored: 0
            case .accountReleased: 1
            case .accountHeld: 2
            case .unlinked: 4
            default: event.hasWalk ? 3 : nil
            }
        }
        if ranks != ranks.sorted() {
            fail(.held, "the events of a walk of \(commit.account) are out of order")
        }
    }
}

extension ConnectionEvent {
    /// Whether a walk is behind it; changed rules have none.
    fileprivate var hasWalk: Bool {
        guard case .connection(let change) = content else { return false }
        return change.walk != nil
    }
}
