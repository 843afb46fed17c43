internal import RelayCore

/// `run --once`: one walk of every account, then over.
struct OnceRound {
    /// Walks that were sealed.
    var sealed = 0
    /// Walks that were not.
    var unsealed = 0
    /// How many there were to walk.
    let total: Int
    /// Refusals and lists that miss rows, which are judged when all others have answered.
    var waiting: [JudgeJob] = []
    /// Whether those have been handed to the judge.
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
        judging == 0 && walking == (isClosing ? 0 : waiting.count)
            && sealed + unsealed + (isClosing ? 0 : waiting.count) >= total
    }
}

extension PollLoop {
    /// All others have answered: judges what waited, or ends the round.
    func endOnce(_ round: OnceRound, now: Instant) {
        guard !round.isClosing else {
            once?.isDone = true
            return
        }
        once?.isClosing = true
        once?.waiting = []
        guard !round.waiting.isEmpty else {
            once?.isDone = true
            return
        }
        for var job in round.waiting {
            guard let slot = job.slot else { continue }
            switch job.matter {
            case .refusal(var refused):
                refused.fleet = answers.verdict(
                    for: slot, since: accounts[slot]?.refusalSince ?? refused.at,
                    others: round.total - 1)
                job.matter = .refusal(refused)
            case .reading(let reading, let sealedAt, let lastSealed, _):
                job.matter = .reading(
                    reading, sealedAt: sealedAt, lastSealed: lastSealed,
                    fleet: fleetSight(slot, sealedAt: sealedAt))
            case .credential, .removal, .rules, .order:
                break
            }
            judging += 1
            judge.add(job)
        }
    }
}
