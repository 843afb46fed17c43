internal import ConnectionEvents
internal import JSON
internal import RelayCore
internal import RelayRuntime

// A disk that is lost, or gets an older copy of itself, and the journal that begins anew on it.

extension SimulatedJournal {
    func forgetStates() throws(JournalFailure) {
        try effect { world.disk.kept = [:] }
    }

    func keep(_ states: [ReadState]) throws(JournalFailure) {
        try effect {
            for state in states {
                let key = StateRecord.key(state.account, state.connection)
                world.disk.kept[key] = state
            }
        }
    }

    func renew(
        _ renewal: JournalRenewal,
        begin: (AccountID, _ incarnation: Int64, [StateRecord]) -> (Belief, [NewEntry])
    ) throws(JournalFailure) -> JournalID {
        let passage = life.pass()
        guard passage != .dead else { throw Self.dead }
        try writable()
        world.renewals += 1
        var (disk, read) = (world.disk, [AccountID: [StateRecord]]())
        var written: [NewEntry] = []
        disk.renew(renewal, id: JournalID("journal-\(world.renewals + 1)")) {
            account, incarnation, records in
            read[account] = records
            let (belief, entries) = begin(account, incarnation, records)
            written += entries
            return (belief, entries)
        }
        world.disk = disk
        world.checks.renewed(disk, read: read, written)
        guard passage == .alive else { throw Self.dead }
        return disk.id
    }
}

extension World {
    /// A copy of the journal's file, and what checkers knew of it.
    struct Backup {
        var disk: Disk
        var told: Checks.Told
    }

    /// Somebody copies the journal's file.
    func backUp() { backup = Backup(disk: disk, told: checks.told) }

    /// The file is gone, or is the copy; the process ended before.
    func lose(restoring: Bool) {
        guard !restoring || backup != nil else { return }
        if relay != nil {
            life.die()
            bury()
        }
        hasLost = true
        disk = restoring ? backup?.disk ?? Disk() : Disk()
        if !restoring {
            blanks += 1
            disk.id = JournalID("blank-\(blanks)")
        }
        api.doubtAll()
        checks.lost(told: restoring ? backup?.told ?? Checks.Told() : Checks.Told())
    }

    /// Lets the journal begin anew, if what the broker remembers is not of it.
    func renew() {
        guard let misfit = relay?.misfit else { return }
        tell("the journal does not fit what \(misfit.sink) says: \(misfit.cause)")
        let renewal = Renewal(
            settings: settings, journal: SimulatedJournal(self, life: life), register: register,
            routes: routes, log: RelayLog { [self] line in note(line) }, readings: readings)
        do throws(PublishFailure) {
            try renewal.run(misfit)
            tell("the journal has begun anew")
        } catch {
            tell("the journal could not begin anew: \(error)")
        }
    }
}

extension Checks {
    /// What a journal has told so far.
    struct Told {
        var accounts: [AccountID: JournalChecks.Told] = [:]
        var ids: Set<EventID> = []
        var holds: [AccountID: HoldChecks.Open] = [:]
        /// How far the sinks had taken it.
        var positions: [SinkName: Int64] = [:]
    }

    /// What this journal has told so far.
    var told: Told {
        Told(
            accounts: journal.told, ids: journal.ids, holds: holds.open,
            positions: sinks.taken.mapValues { max($0.position, $0.copied) })
    }

    /// The journal is another than it was: told is what that one has told.
    ///
    /// What an older copy tells again has the same ids.
    func lost(told: Told) {
        journal.told = told.accounts
        journal.ids = told.ids
        holds.open = told.holds
        sinks.lost(positions: told.positions)
        brake.lost()
    }

    /// The journal has begun anew.
    func renewed(_ disk: Disk, read: [AccountID: [StateRecord]], _ entries: [NewEntry]) {
        holds.open = [:]
        sinks.renewed(head: JournalPosition(disk.base))
        journal.renewed(disk, read: read, entries)
        brake.lost()
    }
}

extension JournalChecks {
    /// Every account has a new epoch, with the rows that the state topic holds.
    func renewed(_ disk: Disk, read: [AccountID: [StateRecord]], _ entries: [NewEntry]) {
        for belief in disk.beliefs.values {
            let key = Incarnation(account: belief.account, epoch: belief.head.epoch)
            incarnations[key] = belief.head.incarnation
        }
        // An account that the register does not have is met anew when it comes back.
        told = told.filter { read[$0.key] != nil }
        for (account, records) in read.sorted(by: { $0.key < $1.key }) {
            let mine = entries.filter { $0.account == account }
            guard let first = mine.first?.event, first.type == .accountResynced else {
                fail(.sequence, "the new epoch of \(account) does not begin with account.resynced")
                continue
            }
            take(first)
            resync(account, records)
            for entry in mine.dropFirst() {
                if let event = entry.event { take(event) }
                if let state = entry.state { take(state, event: entry.event) }
            }
            let held = checks.sinks.states.keys.filter {
                StateRecord.split(key: $0)?.0 == account
            }
            if !records.isEmpty, records.count != held.count {
                fail(
                    .together,
                    "\(account) begins anew with \(records.count) rows, the state topic holds"
                        + " \(held.count)")
            }
        }
    }

    /// An account begins anew with rows that a state topic holds.
    func resync(_ account: AccountID, _ records: [StateRecord]) {
        // Windows begin before the oldest walk that may be behind a record.
        told[account]?.renewedFrom = records.map(\.observedAt).min()?.adding(
            .zero - world.scenario.rules.walkTimeout)
        for record in records {
            told[account]?.take(record.connection.id.text, record.connection)
            told[account]?.standings[record.connection.id.text] = record.standing
            let key = StateRecord.key(account, record.connection.id)
            if checks.sinks.states[key] != record.json.serialized() {
                fail(.together, "\(key) is not believed as the state topic holds it")
            }
        }
    }
}
