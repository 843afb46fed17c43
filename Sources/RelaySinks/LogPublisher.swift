internal import Glibc
public import RelayCore
internal import Threading

/// Writes each event as a line of JSON to a file descriptor: the `log` sink on standard output.
///
/// Lines are whole: what a full pipe took half of is finished before anything else is written.
/// It keeps no place of its own; the journal does. Tombstones have no line.
///
/// Threads: `open`, `publish` and `probe` by one; `close` by any, which ends a wait for a reader.
public final class LogPublisher: Publisher {
    private let descriptor: Int32
    private let state = Lock(State())

    private struct State {
        /// The rest of a line that was begun.
        var rest: [UInt8] = []
        var isClosing = false
    }

    /// What can be written to a pipe at once without being cut: `PIPE_BUF` of Linux.
    private static let chunk = 4096
    /// The longest that a run waits for a reader.
    static let patience = Duration.seconds(30)

    /// Writes to a descriptor that stays open and the caller's.
    public init(descriptor: Int32 = 1) { self.descriptor = descriptor }

    /// Has no places to tell.
    ///
    /// Sets SIGPIPE to be ignored, so that a reader who left is an error and not our end.
    public func open() throws(PublishFailure) -> [SinkName: Progress] {
        _ = signal(SIGPIPE, SIG_IGN)
        return [:]
    }

    /// Writes the run's lines; all of them are then with the system.
    public func publish(_ run: Run) throws(PublishFailure) {
        var bytes = state.withLock { $0.rest }
        for part in run.parts {
            for message in part.messages {
                guard let value = message.value else { continue }
                bytes += value
                bytes.append(UInt8(ascii: "\n"))
            }
        }
        try write(bytes)
    }

    /// Says whether the reader is still there.
    public func probe() throws(PublishFailure) {
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        guard unsafe poll(&entry, 1, 0) >= 0 else { return }
        if Int32(entry.revents) & (POLLERR | POLLNVAL) != 0 { throw Self.failure(EPIPE) }
    }

    /// Ends a wait for a reader; the descriptor stays open.
    public func close(within limit: Duration) { state.signal { $0.isClosing = true } }

    /// Writes in chunks that a pipe takes whole; remembers the rest of a line when it cannot.
    private func write(_ bytes: [UInt8]) throws(PublishFailure) {
        var done = 0
        var failure: PublishFailure?
        let deadline = ContinuousClock.now + Self.patience
        while done < bytes.count {
            failure = awaitRoom(deadline)
            if failure != nil { break }
            let size = min(Self.chunk, bytes.count - done)
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress.map { unsafe $0 + done }, size)
            }
            if count > 0 {
                done += count
            } else if errno != EINTR && errno != EAGAIN {
                failure = Self.failure(errno)
                break
            }
        }
        // Cut after a newline: nothing is left of a line. Else the line's end waits.
        let isWhole = done == 0 || bytes[done - 1] == UInt8(ascii: "\n")
        let lineEnd = bytes[done...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? done
        let held = state.withLock { $0.rest.count }
        state.withLock { state in
            if done < held {
                state.rest.removeFirst(done)
            } else {
                state.rest = isWhole ? [] : Array(bytes[done..<lineEnd])
            }
        }
        if let failure { throw failure }
    }

    /// Waits until the descriptor takes a chunk without blocking; what went wrong, if anything.
    private func awaitRoom(_ deadline: ContinuousClock.Instant) -> PublishFailure? {
        while true {
            if state.withLock({ $0.isClosing }) { return Self.failure(ECANCELED) }
            guard ContinuousClock.now < deadline else { return Self.failure(EAGAIN) }
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            let count = unsafe poll(&entry, 1, 100)
            if count > 0 { return nil }
            if count < 0, errno != EINTR { return Self.failure(errno) }
        }
    }

    private static let gone = "nobody reads standard output, the log sink's, any more"

    private static func failure(_ code: Int32) -> PublishFailure {
        let (name, reason) =
            switch code {
            case EPIPE: ("EPIPE", "\(gone). What it has not taken stays in the journal")
            case EAGAIN: ("EAGAIN", "the output's reader has taken nothing for 30 seconds")
            case ECANCELED: ("ECANCELED", "the output was closed")
            case ENOSPC: ("ENOSPC", "there is no room for the output")
            default: ("EIO", "the output cannot be written (errno \(code))")
            }
        // A pipe without a reader stays one: who ran us can give us another.
        return PublishFailure(
            kind: code == EPIPE ? .gone : .unavailable, code: name, reason: reason)
    }
}
