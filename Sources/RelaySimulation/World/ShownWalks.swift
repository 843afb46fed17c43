internal import ConnectionEvents
internal import RelayCore

/// What the API truly showed in one walk, as the API knows it.
final class ShownWalk {
    let id: String
    let account: Int
    let credential: String
    let began: Instant
    /// When it began, as its id says.
    private(set) lazy var start = WalkID(id)?.start
    private(set) var rows: [TrueRow] = []
    /// Whether an answer of it was none that a list could be read from.
    private(set) var isSpoiled = false
    /// When its last page reached the relay; nil: it did not.
    private(set) var completedAt: Instant?
    /// Whether the relay may have forgotten it: it died, or could not write, before the next walk.
    var isDoubtful = false

    init(id: String, account: Int, credential: String, began: Instant) {
        self.id = id
        self.account = account
        self.credential = credential
        self.began = began
    }

    var isComplete: Bool { completedAt != nil && !isSpoiled }

    func row(_ id: String) -> TrueRow? { rows.first { $0.id == id } }

    func show(_ more: [TrueRow], isLast: Bool, at now: Instant) {
        // A cursor that was none may bring a page again: the relay must not take such a list.
        if more.contains(where: { row($0.id) != nil }) { isSpoiled = true }
        rows += more
        if isLast { completedAt = now }
    }

    func spoil() { isSpoiled = true }
}

/// Every walk that the API has answered, and every refusal.
struct ShownWalks {
    private(set) var walks: [String: ShownWalk] = [:]
    /// Complete walks of each account, in the order in which they were completed.
    private(set) var complete: [Int: [ShownWalk]] = [:]
    /// What each account's answers said of its credential, in order.
    private var answers: [Int: [Answer]] = [:]

    private enum Answer {
        case sealed(ShownWalk)
        case refused(ShownWalk, at: Instant)
    }

    subscript(_ walk: String) -> ShownWalk? { walks[walk] }

    /// A request of a walk, which may be its first.
    mutating func asked(
        walk: String, account: Int, credential: String, now: Instant
    ) -> ShownWalk {
        if let known = walks[walk] { return known }
        let new = ShownWalk(id: walk, account: account, credential: credential, began: now)
        walks[walk] = new
        return new
    }

    /// An answer has reached the relay.
    ///
    /// - Parameter isMeant: whether the register still has the account as the walk had it; else a
    ///   refusal says nothing of it.
    mutating func delivered(
        _ showing: Showing, of walk: ShownWalk, isMeant: Bool, now: Instant
    ) {
        switch showing {
        case .page(let rows, let isLast):
            walk.show(rows, isLast: isLast, at: now)
            guard isLast, walk.isComplete else { return }
            complete[walk.account, default: []].append(walk)
            answers[walk.account, default: []].append(.sealed(walk))
        case .refused:
            walk.spoil()
            guard isMeant else { return }
            answers[walk.account, default: []].append(.refused(walk, at: now))
        case .nothing:
            walk.spoil()
        }
    }

    /// Refusals of an account in a row: when the first came, how many.
    ///
    /// A walk that the relay may have forgotten does not end the row; another credential does.
    func refusals(of account: Int) -> (since: Instant, count: Int)? {
        var row: (since: Instant, count: Int)?
        var credential: String?
        for answer in (answers[account] ?? []).reversed() {
            switch answer {
            case .refused(let walk, let at):
                guard credential.map({ $0 == walk.credential }) ?? true else { return row }
                credential = walk.credential
                row = (at, (row?.count ?? 0) + 1)
            case .sealed(let walk):
                guard walk.isDoubtful else { return row }
            }
        }
        return row
    }

    /// The relay has forgotten everything, or part of it.
    func doubtAll() {
        for walks in complete.values { for walk in walks { walk.isDoubtful = true } }
    }

    /// Nobody knows whether the relay remembers the account's last walk; nil: any account's.
    func doubt(_ account: Int?) {
        for (number, walks) in complete where account == nil || account == number {
            walks.last?.isDoubtful = true
        }
    }
}

/// What an answer shows of an account's list.
enum Showing {
    case page([TrueRow], isLast: Bool)
    case refused
    case nothing
}
