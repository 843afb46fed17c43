internal import Threading

/// A thread that does things at their time: delayed replies and the beat of streams.
///
/// What is due is done on the alarm's thread and must not block.
final class Alarm: Sendable {
    private struct State: Sendable {
        var due: [(time: ContinuousClock.Instant, act: @Sendable () -> Void)] = []
        var hasChanged = false
        var isStopped = false
    }

    private let state: Lock<State>
    private let thread: OSThread

    init() {
        let state = Lock(State())
        self.state = state
        thread = OSThread(name: "http-alarm") { Self.run(state) }
    }

    /// Does something after a while; dropped when the alarm is stopped before.
    func after(_ delay: Duration, _ act: @escaping @Sendable () -> Void) {
        let time = ContinuousClock.now + delay
        state.signal { state in
            let index = state.due.firstIndex { $0.time > time } ?? state.due.endIndex
            state.due.insert((time, act), at: index)
            state.hasChanged = true
        }
    }

    /// Ends the thread and waits for it.
    func stop() {
        state.signal { $0.isStopped = true }
        thread.join()
    }

    private static func run(_ state: Lock<State>) {
        while true {
            let next = state.withLock { $0.due.first?.time }
            let isStopped = state.wait(timeout: next.map { $0 - .now }) { state -> Bool? in
                if state.isStopped { return true }
                defer { state.hasChanged = false }
                return state.hasChanged ? false : nil
            }
            if isStopped == true { return }
            let now = ContinuousClock.now
            let acts = state.withLock { state in
                let count = state.due.prefix { $0.time <= now }.count
                defer { state.due.removeFirst(count) }
                return state.due.prefix(count).map(\.act)
            }
            for act in acts { act() }
        }
    }
}
