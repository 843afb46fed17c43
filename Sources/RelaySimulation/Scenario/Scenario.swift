internal import ConnectionEvents
internal import RelayCore

/// What is to happen in one simulated history; a seed makes one, and shrinking takes parts away.
package struct Scenario: Sendable {
    /// What the pipeline file would say.
    struct Rules: Sendable {
        var schedule = ScheduleRules()
        var pageLimit = 3
        var confirmations = 2
        var baseline = Detection.BaselinePolicy.quiet
        var requestTimeout: Duration = .seconds(10)
        var walkTimeout: Duration = .seconds(60)
        var limits = WalkLimits()
        /// What is held back; nil: nothing.
        var brake: Brake?
        /// What the operator does about one hold after another, in turn.
        var answers: [Answer] = []
        /// How long events are kept that every sink has.
        var retention: Duration = .seconds(7 * 86_400)
        /// Whether bad weather is in each answer, and not in most.
        var isWeatherTotal = false
    }

    /// What the operator does about a hold.
    struct Answer: Sendable {
        /// Nil: nothing.
        var action: HoldAction?
        var after: Duration
    }

    /// The seed that every draw comes from.
    package let seed: UInt64
    var rules: Rules
    /// The rows that each account has at first, by its number.
    var accounts: [Int: [TrueRow]]
    /// In the order of time.
    var happenings: [Happening]
    /// When faults end and everything heals.
    var length: Duration

    /// How many accounts and happenings there are: what shrinking makes smaller.
    package var size: (accounts: Int, happenings: Int) { (accounts.count, happenings.count) }
}

/// A row as it truly is.
struct TrueRow: Hashable, Sendable {
    var id: String
    var platform: String?
    var status: String?
    var scopes: [String]?
    /// A field that the relay does not know.
    var note: Int
}

/// Something that happens at a moment, or from then on for a while.
struct Happening: Sendable {
    var at: Duration
    var lasting: Duration = .zero
    var what: What
}

/// What can happen.
enum What: Sendable {
    // The truth.
    case set(account: Int, TrueRow)
    case drop(account: Int, id: String)
    /// Every row of an account, or of all, takes a status at once.
    case wave(account: Int?, status: String?)
    /// Every row of an account goes at once.
    case empty(account: Int)
    // The register.
    case pause(account: Int)
    case remove(account: Int)
    case add(account: Int)
    case rotate(account: Int, serial: Int)
    case interval(account: Int, Duration?)
    /// The account is given the key of another person, who has these rows.
    case lend(account: Int, serial: Int, [TrueRow])
    // The operator, about all open holds, and about all parked records.
    case order(HoldAction)
    case retryParked
    // The API; no account means all.
    case weather(Weather, account: Int?)
    // The broker.
    case broker(BrokerTrouble)
    // The disk.
    case disk(DiskTrouble)
    // The process and its machine.
    case crash(effects: Int, isBefore: Bool, isPowerCut: Bool, rest: Duration)
    /// The process dies so many effects after the next commit that is about a hold.
    case crashAtHold(effects: Int, isBefore: Bool, rest: Duration)
    /// Somebody copies the journal's file; the file is lost, or the last copy put in its place.
    case backup
    case lose(restoring: Bool)
    case rules(otherStatus: Detection.OtherStatus)
    case brake(Brake?)
    case clock(step: Duration)
    case suspend(Duration)

    /// The account that it is about; nil where it is about all or none.
    var account: Int? {
        switch self {
        case .set(let account, _), .drop(let account, _), .pause(let account),
            .remove(let account), .add(let account), .rotate(let account, _),
            .interval(let account, _), .empty(let account), .lend(let account, _, _):
            account
        case .weather(_, let account), .wave(let account, _): account
        case .broker, .disk, .crash, .crashAtHold, .backup, .lose, .rules, .brake, .clock, .suspend,
            .order, .retryParked:
            nil
        }
    }
}

/// What an API does instead of answering truly.
enum Weather: Hashable, Sendable {
    case cutPage
    case truncated
    case emptyList
    case cyclingCursor
    case stale(seconds: Int)
    case html
    case status(Int)
    case throttled(status: Int, seconds: Int?)
    case throttledUntilDate(seconds: Int)
    case slow(milliseconds: Int)
    case silent
    case reset
    case revoked(status: Int)
    case bareUnauthorized
    case doubleID
    case badRow
    case noData
}

/// What a broker does instead of taking records.
enum BrokerTrouble: Hashable, Sendable {
    case away
    /// So many runs are taken without anybody hearing of it.
    case lostAcknowledgements(Int)
    /// So many runs are refused because another handle was opened.
    case fenced(Int)
    case queueFull
    case refusesSink
    case refusesRecords
    /// What it was handed is written in part, where it is no transaction.
    case breaksPipe(Int)
}

/// What a disk does instead of writing.
enum DiskTrouble: Hashable, Sendable {
    case full
    case unreadable
    case slow
}
