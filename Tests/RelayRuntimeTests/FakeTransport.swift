import Crypto
import RelayCore
import Threading

/// A transport without a network: asks the world, on a thread of the relay's.
final class FakeTransport: PageTransport {
    private struct Asking {
        var page: PageRequest
        var deadline: ContinuousClock.Instant
    }

    private struct State {
        var asking: [WalkToken: Asking] = [:]
        var isAwake = false
        var isStopped = false
        var requestIDs: [String] = []
        var cursors: [String?] = []
    }

    private let world: World
    private let places: Int
    private let state = Lock(State())

    init(_ world: World, places: Int = 64) {
        self.world = world
        self.places = places
    }

    /// `X-Request-Id` of every request so far.
    var requestIDs: [String] { state.withLock { $0.requestIDs } }

    /// How many requests wait for an answer.
    var waiting: Int { state.withLock { $0.asking.count } }

    func run(_ driver: any PageDriver) {
        while true {
            let sleep = driver.turn()
            if state.withLock({ $0.isStopped }) { return }
            if !deliver(to: driver) {
                let most: Duration = .milliseconds(20)
                _ = state.wait(timeout: min(sleep ?? most, most)) { state in
                    state.isAwake || state.isStopped ? true : nil
                }
            }
            state.withLock { $0.isAwake = false }
        }
    }

    /// Answers every request that can be answered; false when there was none.
    private func deliver(to driver: any PageDriver) -> Bool {
        var isBusy = false
        for token in state.withLock({ Array($0.asking.keys) }) {
            // An answer before may have cancelled this one.
            guard let asking = state.withLock({ $0.asking[token] }) else { continue }
            let answer = world.reply(asking.page.credential.reveal(), cursor: asking.page.cursor)
            if answer == .silence, ContinuousClock.now < asking.deadline { continue }
            state.withLock { $0.asking[token] = nil }
            isBusy = true
            tell(driver, token, answer)
        }
        return isBusy
    }

    private func tell(_ driver: any PageDriver, _ token: WalkToken, _ answer: World.Answer) {
        switch answer {
        case .truth: preconditionFailure("the world resolves the truth into a body")
        case .status(let status, let body): driver.answer(token, status, body)
        case .throttled(let seconds): driver.answer(token, 429, "", retryAfter: "\(seconds)")
        case .failure(let code):
            driver.failed(token, PageFailure(code: code, reason: "scripted"))
        case .silence:
            driver.failed(token, PageFailure(code: "timed_out", reason: "no answer in time"))
        }
    }

    func wake() { state.signal { $0.isAwake = true } }

    func stop() { state.signal { $0.isStopped = true } }

    var free: Int { state.withLock { places - $0.asking.count } }

    func request(_ page: PageRequest, token: WalkToken) {
        state.withLock { state in
            precondition(state.asking.count < places, "a request without a free place")
            precondition(state.asking[token] == nil, "two requests of one walk")
            precondition(page.timeout > .zero, "a request without time")
            state.requestIDs.append(page.requestID)
            state.asking[token] = Asking(page: page, deadline: .now + page.timeout)
        }
    }

    func cancel(_ token: WalkToken) {
        state.withLock { state in
            precondition(state.asking.removeValue(forKey: token) != nil, "nothing to cancel")
        }
    }
}

extension PageDriver {
    /// Hands an answer over as a transport does: the body lives during the call only.
    func answer(_ token: WalkToken, _ status: Int, _ body: String, retryAfter: String? = nil) {
        unsafe Array(body.utf8).withUnsafeBytes { bytes in
            answered(token, unsafe PageAnswer(status: status, retryAfter: retryAfter, body: bytes))
        }
    }
}
