internal import ConnectionEvents
internal import RelayCore

/// Holds every removal and failure that flows against the brake, told in other words than its own.
final class BrakeChecks {
    /// What one commit lets flow of one account's believed rows, by one walk.
    private struct Flow {
        var account: AccountID
        var removals: [(id: String, event: ConnectionEvent, change: ConnectionChange)] = []
        var failures: [(id: String, event: ConnectionEvent, change: ConnectionChange)] = []
        var others = false
        var walk: ShownWalk?
        var told = JournalChecks.Told()
    }

    private unowned let checks: Checks
    /// Since when an account has been told to have rows without a break.
    private var rowsSince: [AccountID: Instant] = [:]

    init(_ checks: Checks) { self.checks = checks }

    private var world: World { checks.world }

    private func fail(_ rule: Rule, _ text: @autoclosure () -> String) {
        checks.fail(rule, text())
    }

    /// The journal is another: who had rows is known from now on.
    func lost() {
        for account in rowsSince.keys { rowsSince[account] = world.clock.now }
    }

    /// Before the batch is written, and taken in by the other checkers.
    func willCommit(_ batch: JournalBatch) {
        for account in batch.accounts.sorted() {
            guard let flow = flow(of: account, batch) else { continue }
            checkWrongAccount(flow)
            guard let brake = world.detection.brake else { continue }
            let hold = world.disk.beliefs[account]?.head.hold
            if let hold, hold.reason != .wrongAccount {
                checkHeld(flow, hold, brake, batch)
            } else {
                checkOpening(flow, brake)
            }
        }
    }

    /// After the batch is written.
    func committed(_ batch: JournalBatch) {
        for account in batch.accounts {
            if checks.journal.told[account]?.rows.isEmpty ?? true {
                rowsSince[account] = nil
            } else {
                rowsSince[account] = rowsSince[account] ?? world.clock.now
            }
        }
    }

    private func flow(of account: AccountID, _ batch: JournalBatch) -> Flow? {
        guard let told = checks.journal.told[account] else { return nil }
        var flow = Flow(account: account)
        flow.told = told
        for entry in batch.entries where entry.account == account {
            guard let event = entry.event, event.kind == .change, event.epoch == told.epoch,
                case .connection(let change) = event.content
            else { continue }
            let id = change.connection.id.text
            if let walk = change.walk { flow.walk = world.api.shown[walk] }
            if event.type == .unlinked {
                flow.removals.append((id, event, change))
            } else if event.type == .failing, told.rows[id] != nil {
                flow.failures.append((id, event, change))
            } else {
                flow.others = true
            }
        }
        return flow.removals.isEmpty && flow.failures.isEmpty && !flow.others ? nil : flow
    }

    // MARK: - With a hold open

    /// While a hold is open a failure or removal leaves by order or when its time is over.
    private func checkHeld(_ flow: Flow, _ hold: Hold, _ brake: Brake, _ batch: JournalBatch) {
        guard !checks.holds.isOrdered(hold, batch) else { return }
        let belief = world.disk.beliefs[flow.account]
        let kinds:
            [(HeldChange.Kind, [(id: String, event: ConnectionEvent, change: ConnectionChange)])]
        kinds = [(.removal, flow.removals), (.failure, flow.failures)]
        for (kind, flowing) in kinds {
            let limit = kind == .removal ? brake.removalsAfter : brake.failuresAfter
            for (id, event, _) in flowing {
                let name = "\(event.type) of \(flow.account)/\(id)"
                let held = ConnectionID(id).flatMap { belief?.rows[$0]?.held }
                guard let held, held.kind == kind else {
                    fail(.brake, "\(name) flows while a hold is open")
                    continue
                }
                guard let limit, event.decidedAt.since(held.firstSight) >= limit else {
                    fail(.brake, "\(name) is published before its time")
                    continue
                }
                if kind == .removal, event.time != held.firstSight {
                    fail(.brake, "\(name) has not the time of its first sight")
                }
            }
        }
    }

    // MARK: - Without one

    /// What flows now is less than opens a hold.
    private func checkOpening(_ flow: Flow, _ brake: Brake) {
        let name = "\(flow.account), of which \(flow.told.rows.count) rows were believed,"
        func isMany(_ count: Int) -> Bool {
            count >= brake.atLeast && Double(count) >= brake.share * Double(flow.told.rows.count)
        }
        guard !flow.removals.isEmpty || !flow.failures.isEmpty else { return }
        if isMany(flow.removals.count) || isMany(flow.failures.count) {
            fail(.brake, "\(name) changes at once in too large a share")
        }
        guard let walk = flow.walk else { return }
        let failing = flow.told.rows.keys.filter { isFailure($0, in: walk, flow.told) }
        if isMany(failing.count) {
            fail(.brake, "\(name) is listed with \(failing.count) failing, and something flows")
        }
        for (id, _, _) in flow.removals {
            guard let sight = sight(of: id, in: walk) else { continue }
            let alike = flow.told.rows.keys.filter { other in
                self.sight(of: other, in: walk).map { $0.first === sight.first && !$0.isDoubtful }
                    ?? false
            }
            if !sight.isDoubtful, isMany(alike.count) {
                fail(.brake, "\(name) lacks \(alike.count) rows since one walk, and \(id) is told")
            }
            checkFleet(flow.account, id, since: sight, by: walk, brake)
        }
    }

    private func isFailure(
        _ id: String, in walk: ShownWalk, _ told: JournalChecks.Told
    ) -> Bool {
        guard let row = walk.row(id), let before = told.rows[id] else { return false }
        return told.standings[id] != .failing && world.detection.health(of: row.status) == .failing
            && (row.status != before.status || row.platform != before.platform
                || before.health != .failing)
    }

    /// The first of the walks in a row that lacked a row, up to one; nil where it had it.
    private func sight(
        of id: String, in walk: ShownWalk
    ) -> (first: ShownWalk, isDoubtful: Bool)? {
        let walks = world.api.shown.complete[walk.account] ?? []
        guard let last = walks.lastIndex(where: { $0 === walk }), walk.row(id) == nil else {
            return nil
        }
        var (first, isDoubtful) = (walk, walk.isDoubtful)
        for walk in walks[..<last].reversed() {
            if walk.row(id) != nil {
                // Where the relay forgot it, the row was missed all along.
                guard walk.isDoubtful else { break }
                isDoubtful = true
                continue
            }
            first = walk
            isDoubtful = isDoubtful || walk.isDoubtful
        }
        return (first, isDoubtful)
    }

    // MARK: - The fleet

    /// Enough others were sealed since, and too few of them lack rows.
    private func checkFleet(
        _ account: AccountID, _ id: String, since sight: (first: ShownWalk, isDoubtful: Bool),
        by walk: ShownWalk, _ brake: Brake
    ) {
        guard let from = sight.first.completedAt, let until = walk.completedAt else { return }
        // What was sealed just before may be judged just after.
        let slack: Duration = .seconds(6)
        let others = world.register.active.filter {
            let other = SimulatedRegister.id($0)
            return other != account && rowsSince[other].map { $0 < until + slack * -1 } ?? false
                && world.isSteady($0)
        }
        guard others.count >= FleetSight.quorum else { return }
        let all = world.api.shown.complete.filter {
            SimulatedRegister.id($0.key) != account
        }
        let asked = all.filter { $0.value.contains { $0.isSealed(from: from, to: until) } }
        let name = "unlinked of \(account)/\(id)"
        if asked.count < FleetSight.quorum {
            fail(.brake, "\(name) is told when \(asked.count) others were sealed since")
        }
        guard !sight.isDoubtful else { return }
        let lacking = others.filter { other in
            let told = checks.journal.told[SimulatedRegister.id(other)]
            guard let walks = all[other],
                let last = walks.last(where: { $0.isSealed(from: from, to: until) }),
                let at = last.completedAt, at < until + slack * -1, !last.isDoubtful, let told
            else { return false }
            return told.rows.keys.contains { last.row($0) == nil }
        }
        // Whoever may have been asked counts against it.
        if Double(lacking.count) >= brake.fleet * Double(max(1, world.register.all.count - 1)) {
            fail(.brake, "\(name) is told while \(lacking.count) others lack rows as well")
        }
    }

    // MARK: - Wrong accounts

    /// The first list of a new credential that shares no row says nothing of the account.
    private func checkWrongAccount(_ flow: Flow) {
        guard flow.told.renewedFrom == nil else { return }
        guard let walk = flow.walk, !walk.rows.isEmpty, !flow.told.rows.isEmpty else { return }
        guard flow.told.rows.keys.allSatisfy({ walk.row($0) == nil }) else { return }
        let walks = world.api.shown.complete[walk.account] ?? []
        let first = walks.first { $0.credential == walk.credential && !$0.rows.isEmpty }
        guard first === walk, walks.first?.credential != walk.credential else { return }
        fail(
            .wrongAccount,
            "\(flow.account) changes by the first list of a new credential, which shares no row")
    }
}

extension ShownWalk {
    fileprivate func isSealed(from: Instant, to: Instant) -> Bool {
        completedAt.map { $0 >= from && $0 <= to } ?? false
    }
}
