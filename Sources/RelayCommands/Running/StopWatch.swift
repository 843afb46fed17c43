internal import Threading

/// Notices signals while a command works, so that it can stop where that makes sense.
///
/// The first asks for a stop; a second ends the process at once, with 130 or 143. Made before any
/// thread that must not take the signals.
final class StopWatch: Sendable {
    private let asked: Lock<Bool>
    private let isOver: Lock<Bool>
    private let thread: OSThread

    init() {
        Signals.block()
        let (asked, isOver) = (Lock(false), Lock(false))
        (self.asked, self.isOver) = (asked, isOver)
        thread = OSThread(name: "signals") {
            while !isOver.withLock({ $0 }) {
                guard let signal = Signals.wait(.milliseconds(50)) else { continue }
                let isSecond = asked.signal { asked in
                    defer { asked = true }
                    return asked
                }
                if isSecond { RunCommand.exitAtOnce(signal) }
            }
        }
    }

    /// Whether a signal came.
    var isStopAsked: Bool { asked.withLock { $0 } }

    /// Waits, less when a signal comes.
    func wait(_ time: Duration) { _ = asked.wait(timeout: time) { $0 ? true : nil } }

    /// Ends the watch; signals stay blocked.
    func end() {
        isOver.withLock { $0 = true }
        thread.join()
    }
}
