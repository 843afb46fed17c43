internal import Glibc
internal import RelayCore
internal import RelayRuntime
internal import Threading

/// What `run` does about a journal that does not fit what its broker remembers.
struct Renewing {
    /// How often one run renews its journal; what does not fit then is another relay's doing.
    private static let limit = 3
    /// How long the relay may take to come to rest before.
    private static let stopLimit: Duration = .seconds(10)
    /// How long a renewal that failed is left alone.
    private static let pause: Duration = .seconds(5)

    /// Whether a journal may take another's place.
    let takesOver: Bool
    let terminal: Terminal
    private var count = 0

    init(takesOver: Bool, terminal: Terminal) {
        self.takesOver = takesOver
        self.terminal = terminal
    }

    /// Renews the journal of a relay that has failed, and opens it anew; nil when a signal came.
    ///
    /// The HTTP side of the old relay answers until the journal is renewed.
    ///
    /// - Parameter patience: how long it is tried; nil: until it is done.
    /// - Throws: the failure, where renewing is no remedy; everything is closed then.
    mutating func renew(
        _ running: RunningRelay, after failure: PublishFailure, patience: Duration? = nil
    ) throws(CommandError) -> RunningRelay? {
        guard let misfit = running.relay.misfit, misfit.cause != .foreign || takesOver,
            count < Self.limit
        else {
            running.stop(within: .seconds(2))
            throw CommandError(failure)
        }
        count += 1
        running.relay.stop(within: Self.stopLimit)
        let renewal = running.renewal()
        let outcome = Lock<Result<Void, PublishFailure>?>(nil)
        let log = running.assembly.log
        let thread = OSThread(name: "renewal") {
            let result = Self.attempt(renewal, misfit, log: log, patience: patience)
            outcome.signal { $0 = result }
        }
        var isStopping = false
        while outcome.wait(timeout: .milliseconds(1), until: { $0 }) == nil {
            guard let signal = Signals.wait(.milliseconds(50)), signal != .hangUp else { continue }
            if isStopping { ProcessEnd.now(RunCommand.code(of: signal).rawValue) }
            isStopping = true
            renewal.abandon()
        }
        thread.join()
        running.close()
        if isStopping { return nil }
        if case .failure(let error)? = outcome.withLock({ $0 }) { throw CommandError(error) }
        return try running.again(terminal: terminal)
    }

    /// Tries until it is done, abandoned, or patience is over.
    private static func attempt(
        _ renewal: Renewal, _ misfit: Misfit, log: RelayLog, patience: Duration?
    ) -> Result<Void, PublishFailure> {
        let began = ContinuousClock.now
        while true {
            do throws(PublishFailure) {
                return .success(try renewal.run(misfit))
            } catch {
                let isOver = patience.map { ContinuousClock.now - began >= $0 } ?? false
                guard error.kind != .again, !isOver else { return .failure(error) }
                log.note(
                    .warning, "renewal", "the journal could not begin anew yet: \(error.reason)",
                    ["code": error.code])
            }
            if renewal.waitAbandoned(for: pause) {
                return .failure(
                    PublishFailure(kind: .again, code: "stopping", reason: "the relay stops"))
            }
        }
    }
}
