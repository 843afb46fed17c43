public import ConnectionEvents
public import RelayCore

/// How often something took how long: cumulative counts by upper bound, as Prometheus has them.
public struct Histogram: Sendable {
    /// Upper bounds in seconds, ascending; what is longer falls into the last, unbounded one.
    public let bounds: [Double]
    /// How many fell under each bound and not under the one before; one more than bounds.
    public private(set) var counts: [Int]
    /// The sum of all, in seconds.
    public private(set) var sum = 0.0

    /// An empty histogram.
    public init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// Counts one.
    public mutating func add(_ duration: Duration) {
        let seconds = max(0, duration.inSeconds)
        counts[bounds.firstIndex { seconds <= $0 } ?? bounds.count] += 1
        sum += seconds
    }
}

/// What polling has done and how it stands; written by the poll loop, copied by who asks.
public struct PollFigures: Sendable {
    /// Accounts that are walked.
    public var active = 0
    /// Accounts that are paused.
    public var paused = 0
    /// Accounts whose credential is refused.
    public var blind = 0
    /// Accounts whose last walk was not sealed.
    public var failing = 0
    /// Accounts refused twice or more that are not called blind because the fleet is refused as
    /// well.
    public var fleetRefused = 0
    /// Accounts of which changes are held, by reason.
    public var holds: [HoldReason: Int] = [:]
    /// Attempts to link that are waited for.
    public var watches = 0
    /// Walks under way.
    public var walking = 0
    /// Bytes of bodies whose rows are in memory, of all walks under way.
    public var heldBytes = 0
    /// Walks by how they ended: `unchanged`, `sealed`, or a failure's code.
    public var walks: [String: Int] = [:]
    /// Requests sent.
    public var requests = 0
    /// Whether anything was answered, whatever the answer.
    public var hasAnswered = false
    /// When the last walk was sealed; nil: none was.
    public var lastSealed: Instant?
    /// Since when an account neither paused nor blind is due without a sealed walk of any; nil:
    /// none.
    public var dueSince: Instant?
    /// Accounts that have not ended a walk since the start.
    public var firstRoundLeft = 0
    /// Whether every account has ended a walk since the start.
    public var isFirstRoundOver: Bool { firstRoundLeft == 0 }
    /// How often an account is walked that asks for nothing of its own.
    public var cycle: Duration = .zero
    /// Whether the budget suffices for `slowest`.
    public var isBudgetSufficient = true
    /// From when a walk was due to when it began.
    public var lateness = Histogram(bounds: [0.01, 0.05, 0.25, 1, 5, 15, 60, 300])
    /// From a walk's first request to its end.
    public var walkDuration = Histogram(bounds: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60])

    /// All zero.
    public init() {}
}

/// What was judged and written; written by the judge, copied by who asks.
public struct JudgeFigures: Sendable {
    /// Events written, by type.
    public var events: [String: Int] = [:]
    /// Attempts to link that ended, by what became of them.
    public var links: [LinkOutcome: Int] = [:]
    /// Commits made.
    public var commits = 0
    /// How long they took.
    public var commitDuration = Histogram(bounds: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10])
    /// From the seal of the walk that decided to the end of the commit.
    public var decisionDelay = Histogram(bounds: [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60])
    /// The journal's head.
    public var head = JournalPosition.start
    /// Since when the journal cannot be written; nil: it can.
    public var failingSince: Instant?
    /// Why it cannot.
    public var failure: JournalFailure?
    /// What showed that the journal is damaged; stays until the relay is started anew.
    public var damage: JournalFailure?
    /// Why nothing can ever be written into this file again by this relay.
    public var fatal: JournalFailure?

    /// All zero.
    public init() {}
}

/// How the journal stands with its bounds; written by its upkeep, copied by who asks.
public struct BoundsFigures: Sendable {
    /// How large it is; nil: not measured yet, or it has no bounds.
    public var size: JournalSize?
    /// When it was measured, by the wall clock.
    public var measuredAt = Timestamp(milliseconds: 0)
    /// Entries pruned since the start.
    public var pruned = 0
    /// How long commits may have waited for a step of pruning.
    public var pruneDuration = Histogram(bounds: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25])

    /// Nothing measured.
    public init() {}
}

/// How one sink stands; written by its courier, copied by who asks.
public struct SinkFigures: Sendable {
    /// The sink.
    public var name: SinkName
    /// `kafka`, `state` or `log`: a metric label.
    public var sort: String
    /// Everything up to here is acknowledged.
    public var place = JournalPosition.start
    /// Records acknowledged since the start.
    public var records = 0
    /// Runs that failed, by code.
    public var failures: [String: Int] = [:]
    /// Since when it fails; nil: it does not.
    public var failingSince: Instant?
    /// Why it fails.
    public var failure: PublishFailure?
    /// Records that it did not take, which wait for an operator.
    public var parked = 0
    /// From `decidedAt` to the acknowledgement.
    public var delay = Histogram(bounds: [0.01, 0.05, 0.25, 1, 5, 30, 300, 3600])

    /// A sink that has done nothing yet.
    public init(name: SinkName, sort: String) {
        self.name = name
        self.sort = sort
    }
}
