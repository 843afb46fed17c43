internal import RelayCore

/// `run --once`: one walk of every account, then over.
struct OnceRound {
    /// Walks that were sealed.
    var sealed = 0
    /// Walks that were not.
    var unsealed = 0
    /// How many there were to walk.
    let total: Int
    /// Refusals, which are judged when all others have answered.
    var refusals: [JudgeJob] = []
    /// Whether the refusals have been handed to the judge.
    var isClosing = false
    /// Whether everything is judged.
    var isDone = false

    init(total: Int) { self.total = total }

    mutating func note(_ outcome: Schedule.Outcome) {
        switch outcome {
        case .sealed: sealed += 1
        case .refused, .blind, .failed, .throttled, .dropped: unsealed += 1
        }
    }

    /// Whether nothing is under way any more but refusals that wait.
    func isOver(judging: Int, walking: Int) -> Bool {
        judging == 0 && walking == (isClosing ? 0 : refusals.count)
            && sealed + unsealed + (isClosing ? 0 : refusals.count) >= total
    }
}

extension PollLoop {
    /// All others have answered: judges the refusals, or ends the round.
    func endOnce(_ round: OnceRound, now: Instant) {
        guard !round.isClosing else {
            once?.isDone = true
            return
        }
        once?.isClosing = true
        once?.refusals = []
        guard !round.refusals.isEmpty else {
            once?.isDone = true
            return
        }
        for var job in round.refusals {
            guard let slot = job.slot,
                case .refusal(let status, let code, let scope, let at, _) = job.matter
            else { continue }
            job.matter = .refusal(
                status: status, code: code, requiredScope: scope, at: at,
                fleet: answers.verdict(
                    for: slot, since: accounts[slot]?.refusalSince ?? at,
                    others: round.total - 1))
            judging += 1
            judge.add(job)
        }
    }
}
