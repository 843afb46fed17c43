internal import Glibc

/// A value behind a `pthread_mutex_t`, optionally waited on until it changes.
///
/// The product's only lock. `Synchronization.Mutex` is a futex inside the uninstrumented runtime,
/// which Thread Sanitizer reports as races; a pthread mutex it understands. Nothing may block, call
/// back or log inside `withLock`.
///
/// Threads: any. POSIX: `pthread_mutex_lock(3p)`, `pthread_cond_timedwait(3p)`.
@safe public final class Lock<Value>: @unchecked Sendable {
    // @unchecked: `value` is touched only between lock and unlock of `mutex`, which POSIX makes a
    // full barrier; the two pointers are set once, in init.
    private var value: Value
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    /// Wraps a value that from now on only `withLock` reaches.
    public init(_ value: consuming sending Value) {
        self.value = value
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    /// Runs `body` with exclusive access to the value.
    public func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&value)
    }

    /// Changes the value and wakes every thread in `wait`.
    public func signal<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer {
            unsafe pthread_cond_broadcast(condition)
            unsafe pthread_mutex_unlock(mutex)
        }
        return try body(&value)
    }

    /// Waits until `body` returns something, or until the time is up; nil then.
    ///
    /// `body` is asked anew after each `signal`, runs under the lock and may change the value.
    ///
    /// - Parameter timeout: measured on the monotonic clock; nil waits without end.
    public func wait<Result>(
        timeout: Duration? = nil, until body: (inout Value) -> Result?
    ) -> Result? {
        var deadline = timespec()
        if let timeout {
            unsafe clock_gettime(CLOCK_MONOTONIC, &deadline)
            let parts = max(timeout, .zero).components
            var nanoseconds = Int64(deadline.tv_nsec) + parts.attoseconds / 1_000_000_000
            deadline.tv_sec += Int(min(parts.seconds, 1 << 40)) + Int(nanoseconds / 1_000_000_000)
            nanoseconds %= 1_000_000_000
            deadline.tv_nsec = Int(nanoseconds)
        }
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&value) { return result }
            if timeout == nil {
                unsafe pthread_cond_wait(condition, mutex)
            } else if unsafe pthread_cond_timedwait(condition, mutex, &deadline) == ETIMEDOUT {
                return body(&value)
            }
        }
    }
}
