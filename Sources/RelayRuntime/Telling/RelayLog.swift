internal import ConnectionEvents
internal import Glibc
internal import Threading

/// How urgent a log line is.
public enum LogLevel: String, Sendable {
    /// Somebody should look.
    case error
    /// Something is not as it should be, and is being dealt with.
    case warning
    /// Something happened.
    case info
}

/// The relay's own log: one line a happening on standard error, as `time level message key=value
/// …`.
///
/// Standard output belongs to the `log` sink. Lines of one sort are limited, so that a million
/// failing accounts do not fill a disk: what is left out is counted and said. Threads: any.
public final class RelayLog: Sendable {
    /// Lines of one sort that are written in a minute; more are counted.
    public static let linesPerMinute = 20
    /// Sorts that are counted apart; what comes beyond shares one count.
    private static let sortLimit = 256

    private struct Count {
        var minute: Int64
        var written = 0
        var leftOut = 0
    }

    private let write: @Sendable (String) -> Void
    private let counts = Lock<[String: Count]>([:])

    /// A log that hands each line, without its newline, to `write`.
    public init(write: @escaping @Sendable (String) -> Void) {
        self.write = write
    }

    /// A log on standard error.
    public static let standardError = RelayLog { line in
        var bytes = Array((line + "\n").utf8)[...]
        while !bytes.isEmpty {
            let written = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(2, buffer.baseAddress, buffer.count)
            }
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { return }
            bytes = bytes.dropFirst(written)
        }
    }

    /// Writes a line; the values must be no secret.
    ///
    /// - Parameter sort: what is limited together; one of few words.
    public func note(
        _ level: LogLevel, _ sort: String, _ message: String,
        _ fields: KeyValuePairs<String, String> = [:]
    ) {
        let now = RelayClock.wall
        let minute = now.milliseconds / 60_000
        let leftOut = counts.withLock { counts -> Int? in
            let key = counts[sort] != nil || counts.count < Self.sortLimit ? sort : ""
            var count = counts[key] ?? Count(minute: minute)
            defer { counts[key] = count }
            var missed = 0
            if count.minute != minute {
                missed = count.leftOut
                count = Count(minute: minute)
            }
            guard count.written < Self.linesPerMinute else {
                count.leftOut += 1
                return nil
            }
            count.written += 1
            return missed
        }
        guard let leftOut else { return }
        if leftOut > 0 {
            write(Self.line(now, .info, "\(leftOut) more of the next sort were left out", [:]))
        }
        write(Self.line(now, level, message, fields))
    }

    private static func line(
        _ time: Timestamp, _ level: LogLevel, _ message: String,
        _ fields: KeyValuePairs<String, String>
    ) -> String {
        var line = "\(time) \(level.rawValue) \(clean(message))"
        for (key, value) in fields {
            let value = clean(value)
            line +=
                value.contains(" ") || value.isEmpty ? " \(key)=\"\(value)\"" : " \(key)=\(value)"
        }
        return line
    }

    /// One line, however hostile the text: no control characters, quotes escaped, bounded.
    private static func clean(_ text: String) -> String {
        var clean = ""
        for scalar in text.unicodeScalars.prefix(1000) {
            if scalar == "\"" {
                clean += "'"
            } else if isLineBreaking(scalar) {
                clean += " "
            } else {
                clean.unicodeScalars.append(scalar)
            }
        }
        return clean
    }

    private static func isLineBreaking(_ scalar: Unicode.Scalar) -> Bool {
        [.control, .lineSeparator, .paragraphSeparator].contains(
            scalar.properties.generalCategory)
    }
}
