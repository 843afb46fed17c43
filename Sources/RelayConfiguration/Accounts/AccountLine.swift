public import ConnectionEvents
public import Crypto
public import RelayCore

/// One account as a line of the accounts file states it.
public struct AccountLine: Sendable {
    /// The line it begins on, from 1.
    public let line: Int
    /// The operator's id.
    public let account: AccountID
    /// The API key, or a person's refresh token, fetched from where the line says it is.
    public let credential: Secret
    /// The person whose refresh token it is; nil of an API key.
    public let person: PersonSession?
    /// Takes the place of `slowest` for this account; nil where the cell is empty.
    public let interval: Duration?
    /// Whether it is paused; nil where the cell is empty.
    public let isPaused: Bool?
    /// Other columns by name, those with empty cells left out.
    public let labels: [String: String]
}

/// The fields of one line on their way to an `AccountLine`, with everything that is wrong.
struct AccountFields {
    var account: AccountID?
    var credential: Secret?
    /// Where a person of the line is signed in; nil of an API key.
    var signIn: Pipeline.SignIn?
    var interval: Duration?
    var isPaused: Bool?
    var labels: [String: String] = [:]

    /// Why a text is no account id, nil where it is one.
    mutating func take(account text: String) -> String? {
        account = AccountID(text)
        guard account == nil else { return nil }
        return text.isEmpty
            ? "the account id is missing"
            : "the account id must be 1 to 128 of the characters `A-Z a-z 0-9 . _ : @ -`"
    }

    /// Why a text is no interval, nil where it is one or empty.
    mutating func take(interval text: String) -> String? {
        guard !text.isEmpty else { return nil }
        interval = DurationText.parse(text).flatMap { Self.intervals.contains($0) ? $0 : nil }
        return interval != nil
            ? nil : "`interval` must be \(OptionValues.demand(.duration(Self.intervals)))"
    }

    /// As `source.interval.slowest`, whose place it takes.
    private static let intervals = Duration.milliseconds(10)...Duration.seconds(604_800)

    /// Why a text does not say whether to pause, nil where it does or is empty.
    mutating func take(paused text: String) -> String? {
        switch text.lowercased() {
        case "": return nil
        case "true", "yes", "1": isPaused = true
        case "false", "no", "0": isPaused = false
        default: return "`paused` must be `true` or `false`, or empty"
        }
        return nil
    }

    /// Why bytes are no credential, nil where they are one; says nothing of what they are.
    ///
    /// `env:NAME` and `file:PATH` are fetched, a path as seen from the accounts file's folder;
    /// anything else is the key itself.
    mutating func take(
        credential bytes: ArraySlice<UInt8>, file: String, environment: EnvironmentVariables
    ) -> String? {
        guard !bytes.isEmpty else { return "the credential is missing" }
        let secret: Secret
        if bytes.starts(with: "env:".utf8) || bytes.starts(with: "file:".utf8) {
            do throws(SecretFailure) {
                secret = try Self.fetch(bytes, besides: file, environment)
            } catch {
                return error.reason
            }
        } else {
            var copy = Array(bytes)
            defer { Files.wipe(&copy) }
            secret = Secret(copy)
        }
        let isSendable = unsafe secret.withBytes {
            unsafe $0.allSatisfy { (0x21...0x7E).contains($0) }
        }
        guard isSendable else {
            return "the credential holds a space, line end or other character that no HTTP header "
                + "can carry: write it as the API gave it"
        }
        guard secret.count <= Self.credentialLimit else {
            return "the credential is longer than \(SizeText.format(Self.credentialLimit))"
        }
        credential = secret
        return nil
    }

    private static let credentialLimit = 8 << 10

    private static func fetch(
        _ bytes: ArraySlice<UInt8>, besides file: String, _ environment: EnvironmentVariables
    ) throws(SecretFailure) -> Secret {
        let text = String(decoding: bytes, as: UTF8.self)
        let place = Place(file: file, line: 1, column: 1)
        guard let reference = SecretReference(text, besides: file, place: place) else {
            throw SecretFailure(
                reason: "the credential must be `env:NAME`, `file:PATH` or the key itself")
        }
        return try SecretReference.fetch(reference.origin, environment)
    }
}
