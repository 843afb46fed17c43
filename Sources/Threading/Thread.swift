internal import CPosix
internal import Glibc

/// A thread of our own for blocking C: started once, joined once.
///
/// Calls into librdkafka, SQLite and curl block; they must not do so on Swift's cooperative pool.
/// POSIX: `pthread_create(3p)`. The name is cut to 15 bytes, Linux's limit
/// (`pthread_setname_np(3)`).
public final class OSThread: Sendable {
    private let handle: Lock<pthread_t?>
    private let finished = Lock(false)

    /// Starts the thread, which runs `body` once.
    ///
    /// Traps when the system has no thread left to give: nothing can go on then.
    public init(name: String, _ body: @escaping @Sendable () -> Void) {
        handle = Lock(nil)
        let finished = self.finished
        let start = Start(name: String(name.prefix(15))) {
            body()
            finished.signal { $0 = true }
        }
        var created = pthread_t()
        let box = unsafe Unmanaged.passRetained(start)
        let code = unsafe pthread_create(
            &created, nil,
            { raw in
                guard let raw = unsafe raw else { return nil }
                let start = unsafe Unmanaged<Start>.fromOpaque(raw).takeRetainedValue()
                unsafe pthread_setname_np(pthread_self(), start.name)
                start.body()
                return nil
            }, box.toOpaque())
        precondition(code == 0, "pthread_create failed with \(code)")
        let thread = created
        handle.withLock { $0 = thread }
    }

    deinit {
        if let thread = handle.withLock({ $0 }) { pthread_detach(thread) }
    }

    /// Whether the body has returned.
    public var isFinished: Bool { finished.withLock { $0 } }

    /// Waits for the body to return, at most `timeout` (nil: without end); false when it is over.
    ///
    /// Joins at most once; later calls return at once.
    @discardableResult
    public func join(timeout: Duration? = nil) -> Bool {
        guard finished.wait(timeout: timeout, until: { $0 ? true : nil }) == true else {
            return false
        }
        let thread = handle.withLock { held in
            defer { held = nil }
            return held
        }
        if let thread { pthread_join(thread, nil) }
        return true
    }

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
