internal import Glibc
internal import Threading

/// The signals that a running relay listens to.
///
/// They are blocked in every thread and taken by one that waits for them, so that no handler ever
/// runs (`sigwaitinfo(2)`). Must be blocked before the first thread is started.
enum Signals {
    /// A signal that came.
    enum Received: Sendable {
        case terminate
        case interrupt
        case hangUp
    }

    /// Blocks them in this thread and all that it starts.
    static func block() {
        var set = Self.set
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Waits for one; nil when the time is over first.
    static func wait(_ patience: Duration) -> Received? {
        var set = Self.set
        let parts = max(.zero, patience).components
        var time = timespec(
            tv_sec: Int(parts.seconds), tv_nsec: Int(parts.attoseconds / 1_000_000_000))
        switch unsafe sigtimedwait(&set, nil, &time) {
        case SIGTERM: return .terminate
        case SIGINT: return .interrupt
        case SIGHUP: return .hangUp
        default: return nil
        }
    }

    /// Opens things, and ends the process at a signal that comes meanwhile.
    ///
    /// Nothing runs yet that would have to be stopped: what an import has not committed is not
    /// taken, and that is all.
    ///
    /// - Parameter stopped: told of it, and gives the exit code.
    static func guardingStart<Result>(
        stopped: @escaping @Sendable () -> ExitCode, _ body: () throws(CommandError) -> Result
    ) throws(CommandError) -> Result {
        let isDone = Lock(false)
        let watch = OSThread(name: "start") {
            while !isDone.withLock({ $0 }) {
                guard let signal = wait(.milliseconds(50)), signal != .hangUp else { continue }
                _exit(stopped().rawValue)
            }
        }
        defer {
            isDone.withLock { $0 = true }
            watch.join()
        }
        return try body()
    }

    private static var set: sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in [SIGTERM, SIGINT, SIGHUP] { unsafe sigaddset(&set, signal) }
        return set
    }
}
