import ConnectionEvents
import Crypto
import RelayCore
import Threading

@testable import RelayRuntime

/// Gives access tokens when a test says so.
final class FakeBearers: BearerSource {
    struct Question: Sendable {
        let account: AccountID
        let rejected: Secret?
        let answer: @Sendable (Result<Bearer, BearerFailure>) -> Void
    }

    private let state = Lock<(open: [Question], asked: Int)>(([], 0))

    func ask(
        for account: AccountID, rejected: Secret?,
        _ answer: @escaping @Sendable (Result<Bearer, BearerFailure>) -> Void
    ) {
        state.withLock { state in
            state.open.append(Question(account: account, rejected: rejected, answer: answer))
            state.asked += 1
        }
    }

    var outcomes: [String: Int] { [:] }
    var asked: Int { state.withLock { $0.asked } }
    var open: [Question] { state.withLock { $0.open } }

    private func takeAll() -> [Question] {
        state.withLock { state in
            defer { state.open = [] }
            return state.open
        }
    }

    /// Answers all questions with a token.
    func give(_ token: String, life: Duration = .seconds(3600)) {
        for question in takeAll() {
            question.answer(.success(Bearer(token: Secret(token), times: Self.times(life))))
        }
    }

    /// Answers all questions with a failure.
    func fail(_ kind: BearerFailure.Kind, _ code: String) {
        for question in takeAll() {
            question.answer(.failure(BearerFailure(kind: kind, code: code, reason: "scripted")))
        }
    }

    /// The times of a token that is to be renewed with a fifth of its life left.
    static func times(_ life: Duration) -> BearerTimes {
        BearerTimes(
            refreshAt: RelayClock.wall.adding(life - life / 5),
            usableUntil: RelayClock.wall.adding(life))
    }
}
