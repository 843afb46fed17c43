internal import Crypto
internal import Glibc

/// Where a command speaks and listens; a value, so that tests can listen in.
struct Terminal: Sendable {
    /// Writes what was asked for.
    var out: @Sendable (String) -> Void
    /// Writes what goes wrong, and progress.
    var err: @Sendable (String) -> Void
    /// Whether standard error is a terminal, where progress is shown.
    var showsProgress: Bool
    /// Asks for a secret without showing it; nil at the end of input.
    var askSecret: @Sendable (String) -> Secret?

    /// The process's own standard streams.
    static let standard = Terminal(
        out: { write($0, to: 1) }, err: { write($0, to: 2) },
        showsProgress: isatty(2) == 1, askSecret: { readSecret(prompt: $0) })

    /// Writes a line of what was asked for.
    func print(_ line: String) { out(line + "\n") }

    /// Writes everything, however the system cuts it; a closed pipe ends the process quietly.
    private static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let written = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress, buffer.count)
            }
            if written < 0 && errno == EINTR { continue }
            if written <= 0 {
                if descriptor == 1 { ProcessEnd.now(errno == EPIPE ? 0 : 1) }
                return
            }
            bytes = bytes.dropFirst(written)
        }
    }

    /// One line from standard input; from a terminal without echo (`termios(3)`).
    private static func readSecret(prompt: String) -> Secret? {
        var saved = termios()
        let isTerminal = unsafe isatty(0) == 1 && tcgetattr(0, &saved) == 0
        if isTerminal {
            write(prompt, to: 2)
            var quiet = saved
            // Without ISIG, too: Ctrl-C must not leave the terminal without echo.
            quiet.c_lflag &= ~tcflag_t(ECHO | ISIG)
            unsafe tcsetattr(0, TCSANOW, &quiet)
        }
        defer {
            if isTerminal {
                unsafe tcsetattr(0, TCSANOW, &saved)
                write("\n", to: 2)
            }
        }
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count < Self.secretLimit {
            let count = unsafe read(0, &byte, 1)
            if count < 0 && errno == EINTR { continue }
            guard count == 1, byte != UInt8(ascii: "\n") else { break }
            if isTerminal, byte == 0x03 || byte == 0x1C { return nil }
            bytes.append(byte)
        }
        while let last = bytes.last, last == UInt8(ascii: "\r") || last == UInt8(ascii: " ") {
            bytes.removeLast()
        }
        return bytes.isEmpty ? nil : Secret(bytes)
    }

    /// The longest secret that is read, in bytes.
    private static let secretLimit = 8192
}
