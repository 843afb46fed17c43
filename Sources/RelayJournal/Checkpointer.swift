internal import Glibc
internal import RelayCore
internal import SQLite
internal import Threading

/// Moves the write-ahead log into the file on a thread of its own, so that no commit pays for it.
///
/// It looks once a second after commits. A passive checkpoint lets the next writer begin the log
/// anew when nobody reads from it at that moment; under writes without a pause that moment may
/// never come, so a log larger than `logLimit` is emptied while the writers wait.
final class Checkpointer: Sendable {
    /// How large the log may be, in bytes, before writers are made to wait for its end.
    static let logLimit = 256 << 20

    private struct State {
        var isStopping = false
        var hasCommits = false
    }

    private let state = Lock(State())
    private let thread: OSThread

    /// Starts the thread on a connection of its own.
    init(_ file: JournalFile) throws(JournalFailure) {
        let connection = Lock(try file.connect())
        let state = self.state
        let log = file.path + "-wal"
        thread = OSThread(name: "checkpoint") {
            while true {
                // A pause between two looks, unless it is to end.
                let stops: Bool? = state.wait(timeout: .seconds(1)) { $0.isStopping ? true : nil }
                if stops == true { return }
                let isDue = state.withLock { state in
                    defer { state.hasCommits = false }
                    return state.hasCommits
                }
                guard isDue else { continue }
                let isDone = connection.withLock { Self.run($0, log: log) }
                if !isDone { state.withLock { $0.hasCommits = true } }
            }
        }
    }

    /// Says that there is something to move.
    func noteCommit() {
        state.withLock { $0.hasCommits = true }
    }

    /// Ends the thread, after the checkpoint that may be going on.
    func stop() {
        state.signal { $0.isStopping = true }
        thread.join()
    }

    /// Whether everything was moved.
    private static func run(_ database: Database, log: String) -> Bool {
        do {
            let done = try database.checkpoint(size(of: log) > logLimit ? .truncate : .passive)
            return done.isComplete
        } catch {
            // A full or failing disk: the log keeps what it has, the writer reports the same in its
            // next commit, and the next look tries again.
            return false
        }
    }

    private static func size(of path: String) -> Int {
        var information = stat()
        return unsafe stat(path, &information) == 0 ? Int(information.st_size) : 0
    }
}
