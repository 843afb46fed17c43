internal import Glibc
internal import RelayCore
internal import SQLite
internal import Threading

/// Moves the write-ahead log into the file on a thread of its own, so that no commit pays for it.
///
/// It looks once a second after commits. A passive checkpoint lets the next writer begin the log
/// anew when nobody reads from it at that moment; under writes without a pause that moment may
/// never come, so a log longer than ``JournalLimits/emptiedLog`` is emptied while the writers wait:
/// for the pages that came since the passive one, and for readers ``patience`` at most. A reader
/// that stays longer lets the log grow to ``JournalLimits/log``, where nothing more is committed.
final class Checkpointer: Sendable {
    /// How long writers may be kept waiting for the readers of a long log.
    static let patience = Duration.milliseconds(100)
    /// How long writers are then left in peace.
    static let pause = Duration.seconds(1)

    private struct State {
        var isStopping = false
        var hasCommits = false
        var isUrgent = false
    }

    private let state = Lock(State())
    private let thread: OSThread

    /// Starts the thread on a connection of its own.
    init(_ file: JournalFile, limits: JournalLimits) throws(JournalFailure) {
        let database = try file.connect()
        try reporting(file.path) {
            let patience = Self.patience.components.attoseconds / 1_000_000_000_000_000
            try database.execute(
                """
                PRAGMA journal_size_limit = \(limits.idleLog);
                PRAGMA busy_timeout = \(patience);
                """)
        }
        let connection = Lock(database)
        let state = self.state
        let log = file.path + "-wal"
        thread = OSThread(name: "checkpoint") {
            while true {
                // A pause between two looks, unless it is to end or the log grows long.
                let stops: Bool? = state.wait(timeout: Self.pause) { state in
                    if state.isStopping { return true }
                    return state.isUrgent ? false : nil
                }
                if stops == true { return }
                let isDue = state.withLock { state in
                    defer { (state.hasCommits, state.isUrgent) = (false, false) }
                    return state.hasCommits
                }
                guard isDue else { continue }
                let isDone = connection.withLock {
                    Self.run($0, log: log, isLong: { $0 > limits.emptiedLog })
                }
                guard !isDone else { continue }
                // A reader or a full disk is in the way: not at once again, whatever is urgent.
                let ends = state.wait(timeout: Self.pause) { $0.isStopping ? true : nil }
                if ends == true { return }
                state.withLock { $0.hasCommits = true }
            }
        }
    }

    /// Says that there is something to move.
    ///
    /// - Parameter isUrgent: the log is so long that it should not wait for the next look.
    func noteCommit(isUrgent: Bool = false) {
        let wakes = state.withLock { state in
            defer {
                state.hasCommits = true
                state.isUrgent = state.isUrgent || isUrgent
            }
            return isUrgent && !state.isUrgent
        }
        if wakes { state.signal { _ in } }
    }

    /// Ends the thread, after the checkpoint that may be going on.
    func stop() {
        state.signal { $0.isStopping = true }
        thread.join()
    }

    /// Whether everything was moved.
    private static func run(_ database: Database, log: String, isLong: (Int) -> Bool) -> Bool {
        do {
            let done = try database.checkpoint(.passive)
            guard isLong(SystemFile.size(of: log)) else { return done.isComplete }
            return try database.checkpoint(.truncate).isComplete
        } catch {
            // A full or failing disk: the log keeps what it has, the writer reports the same in its
            // next commit, and the next look tries again.
            return false
        }
    }
}
