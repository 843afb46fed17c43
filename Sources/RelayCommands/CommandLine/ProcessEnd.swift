internal import Glibc
internal import Threading

/// How a process of ours ends.
enum ProcessEnd {
    /// Ends at once, without what libraries have registered for `exit(3)`.
    ///
    /// Clients of librdkafka and libcurl may still be closing on threads of their own, and
    /// OpenSSL's cleanup would take from under them what they use: seen as a crash after the last
    /// word of `check` with a wrong password. Nothing of ours is buffered: output is `write(2)`.
    static func now(_ code: Int32) -> Never {
        for work in first.withLock({ $0 }) { work() }
        _exit(code)
    }

    /// Has something done first, however the process ends by itself.
    static func before(_ work: @escaping @Sendable () -> Void) {
        first.withLock { $0.append(work) }
    }

    private static let first = Lock<[@Sendable () -> Void]>([])
}
