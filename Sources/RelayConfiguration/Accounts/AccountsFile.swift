/// The accounts file, read whole: CSV with a header, or JSON lines.
///
/// Which of both, the first character tells: `{` begins JSON lines, as do names that end in
/// `.jsonl` or `.ndjson`. Every line is right, or nothing is taken.
public struct AccountsFile: Sendable {
    /// The accounts in the order of the file; no id twice, no credential twice.
    public let lines: [AccountLine]

    /// The most bytes of an accounts file: 1 GiB.
    public static let sizeLimit = 1 << 30

    /// Reads a file, and fetches every credential from where it is.
    ///
    /// - Parameters:
    ///   - file: its path, which also stands in messages.
    ///   - signIn: for people of whom the file names no issuer or client.
    ///   - progress: told of the number of lines read, every 10,000.
    /// - Throws: `ConfigurationError` with every bad line at once.
    public init(
        file: String, signIn: Pipeline.SignIn? = nil,
        environment: EnvironmentVariables = .process, progress: ((_ lines: Int) -> Void)? = nil
    ) throws(ConfigurationError) {
        var bytes: [UInt8]
        do throws(FileFailure) {
            bytes = try Files.contents(of: file, limit: Self.sizeLimit)
        } catch {
            let message = "cannot be read: \(error.reason)"
            throw ConfigurationError(
                .unreadable, [ConfigurationProblem(file: file, message: message)])
        }
        defer { Files.wipe(&bytes) }
        try self.init(
            parsing: bytes, file: file, signIn: signIn, environment: environment,
            progress: progress)
    }

    /// Reads the text of an accounts file, such as standard input.
    ///
    /// - Parameter file: what to call it in messages; relative paths are seen from its folder.
    /// - Throws: `ConfigurationError` with every bad line at once.
    public init(
        parsing bytes: [UInt8], file: String, signIn: Pipeline.SignIn? = nil,
        environment: EnvironmentVariables = .process, progress: ((_ lines: Int) -> Void)? = nil
    ) throws(ConfigurationError) {
        var ledger = AccountLedger(file: file, progress: progress)
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            ledger.refuse(line: nil, column: nil, "is UTF-16: save it as UTF-8")
        } else if Self.isJSONLines(bytes[start...], file: file) {
            JSONAccounts(signIn: signIn, environment: environment).read(
                bytes, from: start, into: &ledger)
        } else {
            CSVAccounts.read(bytes, from: start, environment: environment, into: &ledger)
        }
        lines = try ledger.finish()
    }

    private static func isJSONLines(_ bytes: ArraySlice<UInt8>, file: String) -> Bool {
        if file.hasSuffix(".jsonl") || file.hasSuffix(".ndjson") { return true }
        return bytes.first { $0 > 0x20 } == UInt8(ascii: "{")
    }
}
