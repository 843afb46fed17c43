internal import ConnectionEvents
internal import RelayCore
internal import RelayJournal
internal import RelayRuntime

/// Waits until lists show what became of an attempt to link.
struct LinkWait {
    /// What became of it.
    enum Ending {
        /// A row came, or the row is healthy again.
        case done(LinkOutcome, Connection, LinkMatch.Rule?)
        /// A row came, and whose it is cannot be told.
        case untold([Connection])
        /// Nothing came; the row that was matched and is not healthy, if there is one.
        case nothing(seen: Connection?)
    }

    /// Between two lists at first.
    static let first: Duration = .seconds(2)
    /// How long that stays so.
    static let eager: Duration = .seconds(60)
    /// Between two lists at last.
    static let slowest: Duration = .seconds(15)

    private let limit: Duration
    private let watch: LinkWatch
    private let before: [ConnectionID: Connection]
    private let isRegistered: () throws(CommandError) -> Bool

    /// - Parameter isRegistered: whether the account is still there, asked twice a second.
    init(
        _ limit: Duration, watch: LinkWatch, before: [Connection],
        isRegistered: @escaping () throws(CommandError) -> Bool = { true }
    ) {
        self.limit = limit
        self.watch = watch
        self.isRegistered = isRegistered
        self.before = Dictionary(before.map { ($0.id, $0) }) { one, _ in one }
    }

    func run(
        _ lists: AccountLists, _ book: LinkBook, account: AccountID, _ terminal: Terminal
    ) throws(CommandError) -> Ending {
        let began = ContinuousClock.now
        var interval = max(Self.first, lists.shortestPause)
        var (hasComplained, seen): (Bool, Connection?) = (false, nil)
        while true {
            let left = limit - (ContinuousClock.now - began)
            try pause(min(interval, max(left, .zero)), account: account)
            switch try lists.connections() {
            case .failure(let failure):
                if case .refused = failure.kind {
                    throw CommandError(
                        .failure,
                        "\(account) can no longer be read: \(failure.reason). What became of the"
                            + " link is not known.")
                }
                if !hasComplained {
                    terminal.err(
                        "note: the list cannot be read now (\(failure.reason)); going on\n")
                }
                hasComplained = true
            case .success(let rows):
                hasComplained = false
                let (ending, row) = try judge(rows, book, account: account)
                if let ending { return ending }
                if let row, row != seen {
                    terminal.err(
                        "\(Table.clean(row.id.text)) came of it and is"
                            + " \(Table.clean(row.status ?? "without a status")); waiting on\n")
                    seen = row
                }
            }
            guard ContinuousClock.now - began < limit else { return .nothing(seen: seen) }
            if ContinuousClock.now - began >= Self.eager {
                interval = min(max(interval * 1.5, interval), max(Self.slowest, interval))
            }
        }
    }

    /// Waits until the next list, unless the account is removed meanwhile.
    private func pause(_ time: Duration, account: AccountID) throws(CommandError) {
        let end = ContinuousClock.now + time
        while true {
            guard try isRegistered() else {
                throw CommandError(
                    .failure,
                    "\(account) was removed from the register. The address stays good until its"
                        + " time is over, ten minutes or so, and nobody waits for what comes of it."
                )
            }
            let left = end - ContinuousClock.now
            guard left > .zero else { return }
            AccountLists.sleep(min(left, .milliseconds(500)))
        }
    }

    /// What a list says of the attempt, and the row that it is known to have come to.
    func judge(
        _ rows: [Connection], _ book: LinkBook, account: AccountID
    ) throws(CommandError) -> (Ending?, Connection?) {
        var (own, open): (LinkWatch, [LinkWatch]) = (watch, [])
        let now = RelayClock.wall
        do throws(JournalFailure) {
            own = try book.watch(watch.id) ?? watch
            open = try book.openWatches(of: account).filter {
                $0.number != own.number && $0.expiresAt > now
            }
        } catch {
            throw CommandError(error)
        }
        // A relay beside this may have told already.
        if own.outcome == .ambiguous { return (.untold(fresh(rows)), nil) }
        let sights = rows.map { row in
            let known = before[row.id]
            let isSame =
                known?.status == row.status && known?.platform == row.platform
                && known?.health == row.health && known?.grantedScopes == row.grantedScopes
            return LinkSight(row, isNew: known == nil, isChanged: !isSame)
        }
        let matching = LinkMatching(sights, watches: open + [own], begun: now)
        let match = matching.matches.first { $0.value.watch.number == own.number }
        guard let match, let row = rows.first(where: { $0.id == match.key }) else {
            let isUntold = matching.ambiguous.contains(own.number)
            return (isUntold ? .untold(fresh(rows)) : nil, nil)
        }
        if own.number > 0, own.outcome == nil, own.connection != row.id {
            do throws(JournalFailure) {
                try book.claim(own, connection: row.id, rule: match.value.rule)
            } catch {
                throw CommandError(error)
            }
        }
        guard row.health == .healthy else { return (nil, row) }
        let outcome: LinkOutcome = watch.reconnecting == nil ? .linked : .repaired
        return (.done(outcome, row, match.value.rule), row)
    }

    /// Rows of the platform that were not there before, or have changed.
    private func fresh(_ rows: [Connection]) -> [Connection] {
        rows.filter { $0.platform == watch.platform && before[$0.id] != $0 }
    }
}
