internal import ConnectionEvents
internal import Crypto
internal import Glibc
internal import RelayConfiguration
internal import RelayCore
internal import RelayRuntime
internal import TraxAPI

/// Complete lists of one account, read one after the other at the account's pace.
final class LinkLists {
    /// What the API is asked with; a person's changes while the command waits.
    private(set) var credential: Secret
    private let account: RegisteredAccount
    private let workshop: Workshop
    private let reader: ListReader
    private let rules: Detection
    private let gap: Duration

    init(_ account: RegisteredAccount, _ workshop: Workshop) throws(CommandError) {
        let assembly = Assembly(pipeline: workshop.pipeline, log: .standardError)
        self.account = account
        self.workshop = workshop
        credential = try workshop.bearer(of: account)
        rules = workshop.pipeline.detection
        gap = .seconds(1 / workshop.pipeline.source.perAccount.perSecond)
        do throws(TraxError) {
            reader = try ListReader(
                assembly.endpoint, pageLimit: workshop.pipeline.source.pageLimit,
                limits: assembly.limits, requestTimeout: workshop.pipeline.source.requestTimeout)
        } catch {
            throw CommandError(.failure, error.reason)
        }
    }

    /// Reads the list; its rows' health is judged.
    ///
    /// A person's token that is refused is exchanged once.
    func read() throws(CommandError) -> Result<[Connection], WalkFailure> {
        let result = readOnce()
        guard case .failure(let failure) = result, case .refused(401, _, _) = failure.kind,
            try renewCredential()
        else { return result }
        pause()
        return readOnce()
    }

    /// Has another token of a person, after one was refused; false for an account with a key.
    func renewCredential() throws(CommandError) -> Bool {
        guard account.person != nil else { return false }
        credential = try workshop.bearer(of: account, rejected: credential)
        return true
    }

    private func readOnce() -> Result<[Connection], WalkFailure> {
        var random = SystemRandomNumberGenerator()
        let id = WalkID(start: RelayClock.wall, random: (random.next(), random.next()))
        return reader.walk(
            id, credential: credential, pause: { pause() }, now: { RelayClock.wall }
        ).map { walk in
            walk.rows.map { row in
                var connection = row.connection
                connection.health = rules.health(of: connection.status)
                return connection
            }
        }
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
