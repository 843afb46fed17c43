internal import ConnectionEvents
internal import Hashing
internal import RelayCore
internal import Threading

/// Judges what the poll loop hands over, and makes belief and events durable together.
///
/// One thread, the journal's only writer. It commits at once when idle; what arrives meanwhile is
/// the next group. What cannot be committed was not seen: the belief stays, and the account is
/// walked again.
final class Judge: Sendable {
    /// The most jobs of one commit.
    static let groupLimit = 500
    /// About the most bytes of lists that one commit follows from: one account may have more.
    static let groupBytes = 8 << 20
    /// How long the journal is left alone after it could not be written.
    static let pause: Duration = .seconds(1)
    /// How long the log does not say again that the journal cannot be used.
    static let silence: Duration = .seconds(60)

    let settings: RelaySettings
    let clock: RelayClock
    let log: RelayLog
    let journal: any Journal
    let register: any Register
    let sinks: [SinkPlan]
    let queue: JudgeQueue
    let published: Lock<JudgeFigures>
    /// The journal's head, signalled to the couriers.
    let head: Lock<JournalPosition>
    /// What the log said last of a journal that cannot be used.
    private let told = Lock<(code: String, at: Instant)?>(nil)

    init(
        settings: RelaySettings, clock: RelayClock, log: RelayLog, journal: any Journal,
        register: any Register, sinks: [SinkPlan], queue: JudgeQueue, head: Lock<JournalPosition>
    ) {
        self.settings = settings
        self.clock = clock
        self.log = log
        self.journal = journal
        self.register = register
        self.sinks = sinks
        self.queue = queue
        self.head = head
        var figures = JudgeFigures()
        figures.head = head.withLock { $0 }
        published = Lock(figures)
    }

    /// What the judge carries from one step to the next.
    struct Work {
        var epochs: EpochSource
        /// Jobs that must be tried again, because the journal could not be written.
        var postponed: [JudgeJob] = []
    }

    /// Works until the queue is closed and empty.
    ///
    /// - Parameter report: takes the results of each group to the poll loop.
    func run(lastEpoch: Int64, report: @escaping @Sendable ([Judgement]) -> Void) {
        var work = Work(epochs: EpochSource(last: lastEpoch))
        while step(&work, patience: Self.pause, report: report) {}
    }

    /// Judges what waits, or waits for it; false when the queue is closed and empty.
    func step(_ work: inout Work, patience: Duration, report: ([Judgement]) -> Void) -> Bool {
        let taken = queue.take(
            limit: Self.groupLimit, bytes: Self.groupBytes, patience: patience)
        if let taken, !work.postponed.isEmpty || !taken.isEmpty {
            work.postponed = judge(
                work.postponed + taken, epochs: &work.epochs, report: report)
        }
        saveMarks()
        return taken != nil
    }

    private func saveMarks() {
        let marks = queue.takeMarks()
        guard !marks.isEmpty else { return }
        do {
            try journal.saveMarks(marks)
            noteWritten()
        } catch {
            log.note(
                .warning, "marks", "the marks of sealed walks could not be saved: \(error.reason)",
                ["code": error.code])
        }
    }

    /// Judges jobs in groups with no account twice; returns those that must be tried again.
    func judge(
        _ jobs: [JudgeJob], epochs: inout EpochSource, report: ([Judgement]) -> Void
    ) -> [JudgeJob] {
        var postponed: [JudgeJob] = []
        var rest = jobs[...]
        while !rest.isEmpty {
            var group: [JudgeJob] = []
            var accounts: Set<AccountID> = []
            while let job = rest.first, accounts.insert(job.account).inserted {
                group.append(job)
                rest.removeFirst()
            }
            postponed += commit(group, epochs: &epochs, report: report)
        }
        return postponed
    }

    private func commit(
        _ group: [JudgeJob], epochs: inout EpochSource, report: ([Judgement]) -> Void
    ) -> [JudgeJob] {
        let began = clock.now
        var batch = JournalBatch()
        var judgements: [Judgement] = []
        var decided: [JudgeJob] = []
        var unread: [Judgement] = []
        var postponed: [JudgeJob] = []
        for job in group {
            do throws(JournalFailure) {
                let judgement = try decide(job, into: &batch, epochs: &epochs)
                if let judgement { judgements.append(judgement) }
                decided.append(job)
            } catch {
                // One belief that cannot be read must not keep the others of its group.
                noteFailing(error)
                guard error.kind == .unusable else {
                    setAside(job, as: .unwritten, &unread, &postponed)
                    continue
                }
                do throws(JournalFailure) {
                    let end = try decideUnread(job, error, into: &batch, epochs: &epochs)
                    if let end { judgements.append(end) }
                    decided.append(job)
                } catch {
                    published.withLock { $0.damage = error }
                    setAside(job, as: .failed(WalkFailure(error)), &unread, &postponed)
                }
            }
        }
        do throws(JournalFailure) {
            number(&batch)
            if !batch.isEmpty {
                let position = try journal.commit(batch)
                head.signal { $0 = max($0, position) }
                note(batch, began: began)
            }
        } catch {
            // Nothing of the group was written: its walks were not seen, its removals wait.
            noteFailing(error)
            if error.kind == .unusable { published.withLock { $0.fatal = error } }
            judgements = []
            for job in decided { setAside(job, as: .unwritten, &judgements, &postponed) }
        }
        report(judgements + unread)
        return postponed
    }

    /// A walk of the job ends so; what is no walk is tried again.
    private func setAside(
        _ job: JudgeJob, as end: Judgement.End, _ judgements: inout [Judgement],
        _ postponed: inout [JudgeJob]
    ) {
        switch job.matter {
        case .reading, .refusal:
            if let slot = job.slot { judgements.append(Judgement(slot: slot, end)) }
        case .credential, .removal, .rules, .order:
            postponed.append(job)
        }
    }

    /// Says which filtered sinks number which events.
    private func number(_ batch: inout JournalBatch) {
        for index in batch.entries.indices {
            guard let event = batch.entries[index].event else { continue }
            let facts = EventFacts(event)
            let account = batch.entries[index].account
            batch.entries[index].numberedBy =
                sinks.filter { $0.numbers(facts, of: account) }.map(\.name)
        }
    }

    private func note(_ batch: JournalBatch, began: Instant) {
        let now = clock.now
        published.withLock { figures in
            figures.commits += 1
            figures.commitDuration.add(now - began)
            figures.head = head.withLock { $0 }
            for link in batch.links {
                guard let outcome = link.outcome else { continue }
                figures.links[outcome, default: 0] += 1
            }
            let wall = clock.wall
            for entry in batch.entries {
                guard let event = entry.event else { continue }
                figures.events[event.type.name, default: 0] += 1
                figures.decisionDelay.add(wall.since(event.time))
            }
        }
        noteWritten()
    }

    /// There is room again, or there is none, whether or not anything was to be written.
    func noteRoom(_ failure: JournalFailure?) {
        if let failure {
            noteFailing(failure)
            if failure.kind == .unusable { published.withLock { $0.fatal = failure } }
        } else if published.withLock({ $0.failure?.kind == .full }) {
            noteWritten()
        }
    }

    /// The disk has taken something: only that tells that the journal can be written again.
    private func noteWritten() {
        let wasFailing = published.withLock { figures in
            defer {
                figures.failingSince = nil
                figures.failure = nil
            }
            return figures.failingSince != nil
        }
        guard wasFailing else { return }
        told.withLock { $0 = nil }
        log.note(.info, "journal_again", "the journal can be written again")
    }

    private func noteFailing(_ failure: JournalFailure) {
        let now = clock.now
        published.withLock { figures in
            figures.failingSince = figures.failingSince ?? now
            figures.failure = failure
        }
        // Each walk of each account would say the same.
        let isNews = told.withLock { told in
            if let last = told, last.code == failure.code, now - last.at < Self.silence {
                return false
            }
            told = (failure.code, now)
            return true
        }
        guard isNews else { return }
        log.note(
            .error, "journal",
            "the journal cannot be used; nothing is believed meanwhile: \(failure.reason)",
            ["code": failure.code])
    }
}

extension WalkFailure {
    /// A walk that could not be judged, because the journal did not say what is believed.
    fileprivate init(_ failure: JournalFailure) {
        self.init(code: "journal", reason: failure.reason)
    }
}

/// Gives each account met a larger epoch than any before.
struct EpochSource {
    private var last: Int64

    init(last: Int64) { self.last = last }

    /// The wall clock in milliseconds, or one more than the last epoch where that is larger.
    mutating func next(at now: Timestamp) -> Int64 {
        last = max(now.milliseconds, last < .max ? last + 1 : last)
        return last
    }
}
