/// How the process ends: the contract's codes (`sysexits.h` where it has them).
public enum ExitCode: Int32, Sendable {
    /// All went well.
    case ok = 0
    /// It did not work.
    case failure = 1
    /// The command line is wrong.
    case usage = 64
    /// Upstream or broker cannot be reached.
    case unavailable = 69
    /// The configuration is wrong.
    case configuration = 78
    /// A second SIGINT ended it.
    case interrupted = 130
    /// A second SIGTERM ended it.
    case terminated = 143
}

/// Why a command did not do what was asked: printed as `Error: …`, once.
struct CommandError: Error, Sendable {
    /// How the process ends.
    var code: ExitCode
    /// Sentences with the remedy; never a secret.
    var message: String

    init(_ code: ExitCode, _ message: String) {
        self.code = code
        self.message = message
    }
}
