internal import ConnectionEvents
internal import Crypto
internal import Glibc
internal import RelayConfiguration
internal import RelayCore
internal import RelayRuntime
internal import TraxAPI

/// Complete lists of one account, read for a command at the account's pace.
final class AccountLists {
    /// What the API is asked with; a person's changes while the command waits.
    private(set) var credential: Secret
    private let account: RegisteredAccount
    private let workshop: Workshop
    private let reader: ListReader
    private let gap: Duration

    init(_ account: RegisteredAccount, _ workshop: Workshop) throws(CommandError) {
        let assembly = Assembly(pipeline: workshop.pipeline, log: .standardError)
        self.account = account
        self.workshop = workshop
        credential = try workshop.bearer(of: account)
        gap = .seconds(1 / workshop.pipeline.source.perAccount.perSecond)
        do throws(TraxError) {
            reader = try ListReader(
                assembly.endpoint, pageLimit: workshop.pipeline.source.pageLimit,
                limits: assembly.limits, requestTimeout: workshop.pipeline.source.requestTimeout)
        } catch {
            throw CommandError(.failure, error.reason)
        }
    }

    /// Reads the list.
    ///
    /// A person's token that is refused is exchanged once: the provider's clock may be ahead.
    func read() throws(CommandError) -> Result<SealedWalk, WalkFailure> {
        let result = reader.walk(credential: credential, gap: gap)
        guard case .failure(let failure) = result, case .refused(401, _, _) = failure.kind,
            try renewCredential()
        else { return result }
        pause()
        return reader.walk(credential: credential, gap: gap)
    }

    /// Reads the list; its rows as it shows them, their health judged.
    func connections() throws(CommandError) -> Result<[Connection], WalkFailure> {
        try read().map { $0.connections(by: workshop.pipeline.detection) }
    }

    /// Has another token of a person, after one was refused; false for an account with a key.
    func renewCredential() throws(CommandError) -> Bool {
        guard account.person != nil else { return false }
        credential = try workshop.bearer(of: account, rejected: credential)
        return true
    }

    /// How soon after one request the next may come.
    var shortestPause: Duration { gap }

    /// Waits as long as the account's pace wants between two requests.
    func pause() { Self.sleep(gap) }

    /// Blocks the thread for a while.
    static func sleep(_ duration: Duration) {
        let parts = max(duration, .zero).components
        var time = timespec(
            tv_sec: Int(parts.seconds), tv_nsec: Int(parts.attoseconds / 1_000_000_000))
        var rest = timespec()
        while unsafe nanosleep(&time, &rest) != 0, errno == EINTR { time = rest }
    }
}

extension ListReader {
    /// Walks a list now, with so long a pause between two pages.
    func walk(credential: Secret, gap: Duration) -> Result<SealedWalk, WalkFailure> {
        var random = SystemRandomNumberGenerator()
        let id = WalkID(start: RelayClock.wall, random: (random.next(), random.next()))
        return walk(
            id, credential: credential, pause: { AccountLists.sleep(gap) },
            now: { RelayClock.wall })
    }
}

extension SealedWalk {
    /// The rows as the list shows them, their health judged.
    func connections(by rules: Detection) -> [Connection] {
        rows.map { row in
            var connection = row.connection
            connection.health = rules.health(of: connection.status)
            return connection
        }
    }
}
