internal import ConnectionEvents
internal import RelayCore

// One event against the contract's section 6, told again in other words than the relay's own.

extension JournalChecks {
    func checkChange(_ change: ConnectionChange, of event: ConnectionEvent, _ known: Told) {
        let id = change.connection.id.text
        let name = "\(event.type) of \(event.account)/\(id)"
        let before = known.rows[id]
        if before.map(Facts.init) != change.previous.map(Facts.init) {
            fail(
                .previous,
                "\(name): previous is \(Self.text(change.previous)), told before was"
                    + " \(Self.text(before))")
        }
        if event.type != expected(change, of: event, before: before, known.standings[id]) {
            fail(.type, "\(name): was \(Self.text(before)), is \(Self.text(change.connection))")
        }
        // Changed rules have no walk.
        guard event.kind != .resync || change.walk != nil else { return }
        guard let text = change.walk, let walk = shown(text), walk.isComplete,
            SimulatedRegister.id(walk.account) == event.account
        else {
            return fail(.honest, "\(name): its walk was never complete")
        }
        if event.type == .unlinked {
            checkRemoval(id, walk, name, known)
        } else {
            guard let row = walk.row(id) else {
                return fail(.honest, "\(name): its walk did not show the row")
            }
            if row.status != change.connection.status
                || row.platform != change.connection.platform
                || row.scopes.map({ Set($0) != Set(change.connection.grantedScopes ?? []) })
                    ?? false
            {
                fail(.honest, "\(name): its walk showed \(row.status ?? "null")")
            }
        }
        if event.kind != .baseline {
            checkWindow(change, of: event, walk, name, before: before, known)
        }
    }

    /// The first rule of the contract's table that fits.
    private func expected(
        _ change: ConnectionChange, of event: ConnectionEvent, before: Connection?,
        _ standing: Standing?
    ) -> EventType {
        if event.type == .unlinked { return before == nil ? .statusChanged : .unlinked }
        if event.kind == .baseline { return .baseline }
        if event.kind == .resync, change.walk == nil { return .statusChanged }
        let now = change.connection
        if now.health == .healthy, standing == nil { return .linked }
        if now.health == .healthy, standing == .failing { return .repaired }
        if now.health == .failing, standing != .failing { return .failing }
        guard let before, Facts(before) == Facts(now) else { return .statusChanged }
        return .scopesChanged
    }

    /// Enough walks in a row lacked the row; one that may be forgotten speaks for neither.
    ///
    /// The walk that is named is the one that decided; of a held removal the first without the row.
    private func checkRemoval(_ id: String, _ walk: ShownWalk, _ name: String, _ known: Told) {
        let walks = world.api.shown.complete[walk.account] ?? []
        guard let last = walks.lastIndex(where: { $0 === walk }), walk.row(id) == nil else {
            return fail(.honest, "\(name): its walk showed the row")
        }
        var lacking = 0
        let first = known.countsFrom.flatMap { from in walks.firstIndex { $0 === from } } ?? 0
        for walk in walks[min(first, last)...last].reversed() {
            if walk.row(id) == nil {
                lacking += 1
            } else if !walk.isDoubtful {
                break
            }
        }
        for walk in walks[(last + 1)...] {
            if walk.row(id) == nil {
                lacking += 1
            } else if !walk.isDoubtful {
                break
            }
        }
        let confirmations = world.scenario.rules.confirmations
        if lacking < confirmations {
            fail(.honest, "\(name): \(lacking) walks lacked it, not \(confirmations)")
        }
    }

    /// `after` is the start of a walk that showed the old state, `before` no earlier than the walk.
    private func checkWindow(
        _ change: ConnectionChange, of event: ConnectionEvent, _ walk: ShownWalk, _ name: String,
        before: Connection?, _ known: Told
    ) {
        guard let window = change.changedBetween else {
            return fail(.honest, "\(name): no changedBetween")
        }
        if let after = window.after, after > window.before {
            fail(.honest, "\(name): after is later than before")
        }
        guard let after = window.after else {
            if before != nil { fail(.honest, "\(name): after is null of a known row") }
            return
        }
        if after == known.renewedFrom { return }
        let walks = world.api.shown.complete[walk.account] ?? []
        let isShown = walks.contains { other in
            guard other !== walk, other.start == after else { return false }
            let row = other.row(change.connection.id.text)
            guard let before else { return row == nil }
            if change.scopes != nil {
                return row?.scopes.map { Set($0) == Set(change.previous?.grantedScopes ?? []) }
                    ?? false
            }
            // The last walk that had a row may have shown it otherwise, if that was held.
            if event.type == .unlinked { return row != nil }
            return row?.status == before.status && row?.platform == before.platform
        }
        if !isShown {
            fail(.honest, "\(name): no walk that began at \(after) showed the old state")
        }
    }

    func checkAccount(_ change: AccountChange, of event: ConnectionEvent) {
        let number = SimulatedRegister.number(event.account)
        let registered = world.register[number]
        switch change {
        case .blind: checkBlind(event.account)
        case .removed:
            if let registered, !registered.isRemoving,
                registered.incarnation
                    == incarnations[.init(account: event.account, epoch: event.epoch)]
            {
                fail(.honest, "account.removed of \(event.account), which is registered")
            }
        case .restored:
            if world.api.shown.complete[number]?.last.map({ $0.isDoubtful }) ?? true {
                fail(.blind, "account.restored of \(event.account), which no walk has shown")
            }
        case .resynced, .held, .released, .unknown:
            break
        }
    }

    private func checkBlind(_ account: AccountID) {
        let number = SimulatedRegister.number(account)
        guard let refusals = world.api.shown.refusals(of: number), refusals.count >= 2 else {
            return fail(.blind, "account.blind of \(account), which was not refused twice")
        }
        // Five others make a fleet that is asked; of five, more than half are three.
        let others = world.register.active.filter { $0 != number }
        guard others.count >= AnswerLedger.quorum, world.steadyOthers >= AnswerLedger.quorum
        else { return }
        let read = others.filter { other in
            world.api.shown.complete[other]?.last?.completedAt
                .map { $0 >= refusals.since } ?? false
        }
        if read.count < 3 {
            fail(.blind, "account.blind of \(account), while \(read.count) others could be read")
        }
    }

    private func shown(_ walk: String) -> ShownWalk? { world.api.shown[walk] }

    private static func text(_ connection: Connection?) -> String {
        connection.map { "\($0.status ?? "null") (\($0.health.rawValue))" } ?? "no row"
    }
}
