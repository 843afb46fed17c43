internal import Glibc
internal import RelayCore
internal import RelayJournal
internal import Threading

/// What is left to do when `trax-relay link` leaves before its attempt came to anything: its watch
/// ends, so that it does not stand in the way of the next attempt.
///
/// Signals are taken by a thread that does the same and ends the process, with 128 and the signal's
/// number, as one that nobody takes would. Threads: any.
final class LinkLeaving: Sendable {
    private let book: LinkBook
    private let terminal: Terminal
    private let watch = Lock<LinkWatch?>(nil)

    /// To be made after ``Signals/block()``, and before the address is shown.
    init(_ book: LinkBook, _ terminal: Terminal) {
        self.book = book
        self.terminal = terminal
    }

    /// From now on this watch ends when the command leaves; with nil none does.
    func take(_ watch: LinkWatch?) { self.watch.withLock { $0 = watch } }

    /// Ends the watch that is held, if there is one.
    func leave(as outcome: LinkOutcome = .abandoned) {
        let watch = watch.withLock { watch in
            defer { watch = nil }
            return watch
        }
        guard let watch, watch.number > 0 else { return }
        do throws(JournalFailure) {
            try book.end(watch, as: outcome)
        } catch {
            terminal.err(
                "note: the watch of this attempt goes on for ten minutes: \(error.reason)\n")
        }
    }

    /// Does something, and leaves at a signal that comes meanwhile.
    func guarding<Result>(_ body: () throws(CommandError) -> Result) throws(CommandError) -> Result
    {
        let isDone = Lock(false)
        let thread = OSThread(name: "signals") { [self] in
            while !isDone.withLock({ $0 }) {
                guard let signal = Signals.wait(.milliseconds(50)) else { continue }
                leave()
                _exit(signal.exitCode)
            }
        }
        defer {
            isDone.withLock { $0 = true }
            thread.join()
        }
        return try body()
    }
}

extension Signals.Received {
    /// As a shell tells it of a process that the signal ended.
    fileprivate var exitCode: Int32 {
        switch self {
        case .terminate: 128 + SIGTERM
        case .interrupt: 128 + SIGINT
        case .hangUp: 128 + SIGHUP
        }
    }
}
