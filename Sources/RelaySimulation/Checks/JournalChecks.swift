internal import ConnectionEvents
internal import RelayCore

/// Holds every commit against what the API showed and what was published before.
final class JournalChecks {
    /// An account as its events have told it so far.
    struct Told {
        var epoch: Int64 = 0
        var sequence: Int64 = 0
        var isRemoved = false
        var decidedAt = Timestamp(milliseconds: 0)
        var rows: [String: Connection] = [:]
        var standings: [String: Standing] = [:]
        /// Since this one, walks count for removals: those before it showed a wrong account.
        var countsFrom: ShownWalk?
        /// Where windows may begin, of rows that were read back from a state topic.
        var renewedFrom: Timestamp?

        /// Takes on what was told of a row; nil: it is gone.
        mutating func take(_ id: String, _ row: Connection?) {
            rows[id] = row
            switch row?.health {
            case nil: standings[id] = nil
            case .healthy: standings[id] = .healthy
            case .failing: standings[id] = .failing
            case .pending, .unrecognised: break
            }
        }
    }

    unowned let checks: Checks
    var told: [AccountID: Told] = [:]
    var ids: Set<EventID> = []
    /// What state topics held of accounts that were to come, before the commit under way.
    private var rememberedBefore: [AccountID: [StateRecord]] = [:]
    /// Which registration of its account an epoch belongs to.
    var incarnations: [Incarnation: Int64] = [:]

    /// An epoch of an account; after a loss all accounts have the same one.
    struct Incarnation: Hashable {
        var account: AccountID
        var epoch: Int64
    }

    init(_ checks: Checks) { self.checks = checks }

    var world: World { checks.world }

    func fail(_ rule: Rule, _ text: @autoclosure () -> String) { checks.fail(rule, text()) }

    /// Before the batch is written: only a sealed walk may change the rows of a belief.
    func willCommit(_ batch: JournalBatch) {
        rememberedBefore = world.disk.remembered
        for (account, write) in batch.beliefs {
            guard case .update(let head, let rows) = write else { continue }
            incarnations[.init(account: account, epoch: head.epoch)] = head.incarnation
            guard !rows.isEmpty else { continue }
            let before = world.disk.beliefs[account]
            if let before, before.head.epoch == head.epoch,
                before.head.rulesDigest != head.rulesDigest
            {
                continue
            }
            // What an operator orders about a hold needs no walk.
            if checks.holds.isOrdered(before?.head.hold, batch) { continue }
            // What a state topic remembers of an account that comes late needs none either.
            let isRemembered = batch.entries.contains {
                $0.account == account && $0.event?.isResyncedByTopic ?? false
            }
            let walk = head.lastSealed.flatMap { world.api.shown[$0.description] }
            if isRemembered, walk == nil { continue }
            checkSeal(account, head, before: before?.head)
            if before?.head.hold?.reason == .wrongAccount, head.hold?.reason != .wrongAccount,
                let walk = head.lastSealed
            {
                told[account]?.countsFrom = world.api.shown[walk.description]
            }
        }
    }

    private func checkSeal(_ account: AccountID, _ head: BeliefHead, before: BeliefHead?) {
        guard let id = head.lastSealed, let walk = world.api.shown[id.description] else {
            return checks.fail(.sealed, "rows of \(account) changed without a walk")
        }
        guard walk.isComplete, SimulatedRegister.id(walk.account) == account else {
            return checks.fail(
                .sealed, "walk \(id) of \(account) was not complete, and changed its belief")
        }
        guard Array(walk.credential.utf8) == head.credentialTag else {
            return checks.fail(
                .sealed, "walk \(id) of \(account) was made with a credential of the past")
        }
        if let before, before.epoch == head.epoch, let last = before.lastSealed,
            last == id || last.start > id.start
        {
            checks.fail(.sealed, "walk \(id) of \(account) was superseded by \(last)")
        }
    }

    /// After the batch is written.
    func committed(_ batch: JournalBatch, entries: ArraySlice<JournalEntry>) {
        for (new, entry) in zip(batch.entries, entries) {
            if let event = new.event {
                take(event)
                if event.isResyncedByTopic {
                    // It came to the register after the journal began anew.
                    let records = rememberedBefore[event.account] ?? []
                    resync(event.account, records)
                }
                checks.leaves(entry.body ?? [], "event \(event.id)")
            }
            if let state = new.state {
                checks.leaves(state.value ?? [], "the state of \(state.key)")
                take(state, event: new.event)
            }
        }
        for account in batch.accounts { checkTogether(account) }
    }

    func take(_ event: ConnectionEvent) {
        var known = told[event.account] ?? Told()
        checkNumber(event, known)
        if event.epoch != known.epoch {
            known = Told()
            known.epoch = event.epoch
        }
        known.sequence = event.sequence
        known.decidedAt = event.decidedAt
        switch event.content {
        case .connection(let change):
            checkChange(change, of: event, known)
            let isGone = event.type == .unlinked
            known.take(change.connection.id.text, isGone ? nil : change.connection)
        case .account(let change):
            checkAccount(change, of: event)
            if case .removed = change { known.isRemoved = true }
        }
        told[event.account] = known
    }

    private func checkNumber(_ event: ConnectionEvent, _ known: Told) {
        let name = "\(event.type) of \(event.account)"
        if !ids.insert(event.id).inserted { checks.fail(.sequence, "\(name): an id came twice") }
        if event.epoch == known.epoch {
            if event.sequence != known.sequence + 1 {
                checks.fail(
                    .sequence, "\(name) has number \(event.sequence) after \(known.sequence)")
            }
            if known.isRemoved { checks.fail(.sequence, "\(name) follows account.removed") }
            if event.decidedAt < known.decidedAt {
                checks.fail(.sequence, "\(name): decidedAt runs backwards")
            }
        } else {
            checkEpoch(
                event.epoch, of: event.account, known,
                isResynced: event.type == .accountResynced)
            if event.sequence != 1 {
                checks.fail(.sequence, "\(name): the epoch begins with \(event.sequence)")
            }
        }
        if event.decidedAt < event.time {
            checks.fail(.sequence, "\(name): time is later than decidedAt")
        }
    }

    private func checkEpoch(
        _ epoch: Int64, of account: AccountID, _ known: Told, isResynced: Bool = false
    ) {
        if epoch <= known.epoch {
            checks.fail(.sequence, "\(account): epoch \(epoch) was given before")
        }
        if known.epoch != 0, !known.isRemoved, !isResynced {
            checks.fail(.sequence, "\(account): a new epoch without account.removed")
        }
    }

    /// A state record says what the event beside it says, or is a baseline or a tombstone alone.
    func take(_ state: StateWrite, event: ConnectionEvent?) {
        guard let (account, id) = StateRecord.split(key: state.key) else {
            return checks.fail(.together, "a state record without a readable key")
        }
        var known = told[account] ?? Told()
        defer { told[account] = known }
        guard let value = state.value else {
            if event != nil, known.rows[id.text] != nil {
                checks.fail(.together, "a tombstone of \(state.key), which is not gone")
            }
            known.take(id.text, nil)
            return
        }
        guard let record = StateRecord(parsing: value) else {
            return checks.fail(.together, "a state record of \(state.key) does not read")
        }
        if event == nil {
            if known.epoch != record.epoch {
                checkEpoch(record.epoch, of: account, known)
                known = Told()
                known.epoch = record.epoch
            }
            known.take(id.text, record.connection)
        } else if known.rows[id.text].map(Facts.init) != Facts(record.connection)
            || record.sequence != known.sequence || record.epoch != known.epoch
        {
            checks.fail(.together, "the state record of \(state.key) is not what its event tells")
        }
        if record.standing != known.standings[id.text] {
            checks.fail(.together, "the state record of \(state.key) has another standing")
        }
    }

    /// What is believed is what was told.
    private func checkTogether(_ account: AccountID) {
        guard let belief = world.disk.beliefs[account] else {
            if let told = told[account], !told.isRemoved, told.epoch != 0 {
                checks.fail(.together, "the belief of \(account) went without account.removed")
            }
            return
        }
        let told = told[account] ?? Told()
        if told.epoch != 0, told.epoch == belief.head.epoch,
            told.sequence != belief.head.sequence
        {
            checks.fail(
                .together,
                "\(account) is believed at number \(belief.head.sequence), told \(told.sequence)")
        }
        let believed = Dictionary(
            uniqueKeysWithValues: belief.rows.map { ($0.key.text, Facts($0.value.shown)) })
        let published = told.epoch == belief.head.epoch ? told.rows.mapValues(Facts.init) : [:]
        if believed != published {
            checks.fail(
                .together,
                "\(account) is believed as \(believed.text), and was told as \(published.text)")
        }
    }
}

/// The fields of a row that invariant 2 is about.
struct Facts: Hashable {
    var platform: String?
    var status: String?
    var health: Health

    init(_ connection: Connection) {
        platform = connection.platform
        status = connection.status
        health = connection.health
    }
}

extension ConnectionEvent {
    /// Whether it is an `account.resynced` after loss or restore.
    var isResyncedByTopic: Bool {
        guard case .account(.resynced(let reason)) = content else { return false }
        return reason != ResyncReason.wrongAccount.rawValue
    }
}

extension [String: Facts] {
    var text: String {
        let rows = sorted { $0.key < $1.key }
        let texts = rows.map { "\($0.key) \($0.value.status ?? "null")" }
        return texts.isEmpty ? "no rows" : texts.joined(separator: ", ")
    }
}
