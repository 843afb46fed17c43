public import ConnectionEvents
public import Crypto
public import RelayCore
internal import Threading

/// Keeps people's access tokens fresh: one flight per account, however many ask, in all processes
/// that share the journal.
///
/// Within the process askers of one account share a flight; between processes the right to refresh
/// is leased in the vault, and whoever does not get it waits and reads again. A new refresh token
/// is in the vault before the new access token is handed out. What the vault could not take is kept
/// and put there before anything else is done for that account.
///
/// Threads: any; flights run on a few threads of its own, the rest waits in a bounded queue.
public final class TokenDesk: BearerSource {
    /// Threads that refresh.
    public static let workers = 4
    /// Flights that may wait; who asks beyond is told to come later.
    public static let queueLimit = 4096

    typealias Answer = @Sendable (Result<Bearer, BearerFailure>) -> Void

    struct Waiter: Sendable {
        let rejected: Secret?
        let answer: Answer
    }

    struct State {
        var flights: [AccountID: [Waiter]] = [:]
        var queue: [AccountID] = []
        var taken = 0
        var isClosing = false
        var outcomes: [String: Int] = [:]
        var trouble = ProviderTroubles()
        var unsaved: [AccountID: Unsaved] = [:]
    }

    /// A refreshed session that the vault has not taken yet.
    struct Unsaved: Sendable {
        let session: PersonSession
        let tried: Secret
    }

    let state = Lock(State())
    let vault: any PersonVault
    let directory: ProviderDirectory
    let manners: ProviderManners
    let holder: String
    let note: @Sendable (String) -> Void
    private let threads: Lock<[OSThread]> = Lock([])

    /// Opens a desk; its threads start with the first question.
    ///
    /// - Parameters:
    ///   - holder: tells this process from every other on the journal.
    ///   - note: told in a sentence when a provider begins to fail, and when it is well again.
    public init(
        vault: any PersonVault, directory: ProviderDirectory = ProviderDirectory(),
        manners: ProviderManners, holder: String, note: @escaping @Sendable (String) -> Void
    ) {
        self.vault = vault
        self.directory = directory
        self.manners = manners
        self.holder = holder
        self.note = note
    }

    deinit { close(within: .zero) }

    /// How often what came of asking.
    public var outcomes: [String: Int] { state.withLock { $0.outcomes } }

    /// Asks for an account's access token; never blocks.
    public func ask(
        for account: AccountID, rejected: Secret?,
        _ answer: @escaping @Sendable (Result<Bearer, BearerFailure>) -> Void
    ) {
        let isTaken = state.signal { state -> Bool in
            guard !state.isClosing else { return false }
            let waiter = Waiter(rejected: rejected, answer: answer)
            if state.flights[account] != nil {
                state.flights[account]?.append(waiter)
                return true
            }
            guard state.queue.count - state.taken < Self.queueLimit else { return false }
            state.flights[account] = [waiter]
            state.queue.append(account)
            return true
        }
        guard isTaken else {
            return answer(.failure(.busy))
        }
        startThreads()
    }

    /// Waits for an account's access token; the one that is there counts while it is good, if no
    /// other can be had.
    ///
    /// - Throws: why there is none.
    public func bearer(
        for account: AccountID, rejected: Secret? = nil
    ) throws(BearerFailure) -> Bearer {
        let result = Lock<Result<Bearer, BearerFailure>?>(nil)
        ask(for: account, rejected: rejected) { answer in result.signal { $0 = answer } }
        do throws(BearerFailure) {
            return try (result.wait(until: { $0 }) ?? .failure(.busy)).get()
        } catch {
            if let old = try stored(account), old.token != rejected,
                WallClock.now() < old.times.usableUntil
            {
                return old
            }
            throw error
        }
    }

    /// Ends the threads; whoever still waits is told to come later.
    ///
    /// - Parameter limit: how long flights under way may take: what a provider has exchanged and
    ///   nobody has written down may be lost.
    public func close(within limit: Duration) {
        let waiting = state.signal { state in
            state.isClosing = true
            defer { state.flights = [:] }
            return state.flights.values.flatMap(\.self)
        }
        for waiter in waiting { waiter.answer(.failure(.busy)) }
        let deadline = ContinuousClock.now + limit
        for thread in threads.withLock({ $0 }) {
            thread.join(timeout: ContinuousClock.now.duration(to: deadline))
        }
        saveWhatIsLeft()
    }

    /// The last attempt at what the vault did not take.
    private func saveWhatIsLeft() {
        for (account, unsaved) in state.withLock({ $0.unsaved }) {
            do throws(JournalFailure) {
                _ = try vault.replace(
                    unsaved.session, of: account, tried: unsaved.tried, holder: holder)
                state.withLock { $0.unsaved[account] = nil }
            } catch {
                note("the new token of account \(account) could not be kept: \(error.reason)")
            }
        }
    }

    private func startThreads() {
        threads.withLock { threads in
            guard threads.isEmpty else { return }
            for _ in 0..<Self.workers {
                // The desk goes when nobody asks any more, and its threads with it.
                let state = state
                threads.append(
                    OSThread(name: "sign-in") { [weak self] in
                        let shelf = ProviderShelf()
                        while let account = Self.next(state) {
                            guard let desk = self else { return }
                            desk.serve(account, shelf)
                        }
                    })
            }
        }
    }

    private static func next(_ state: Lock<State>) -> AccountID? {
        state.wait { state -> AccountID?? in
            if state.isClosing { return .some(nil) }
            guard state.taken < state.queue.count else { return nil }
            defer {
                state.taken += 1
                if state.taken == state.queue.count {
                    state.queue.removeAll()
                    state.taken = 0
                }
            }
            return .some(state.queue[state.taken])
        } ?? nil
    }

    /// One flight: settles it, and answers all who joined it.
    private func serve(_ account: AccountID, _ shelf: ProviderShelf) {
        let rejected = state.withLock { $0.flights[account]?.compactMap(\.rejected) ?? [] }
        let flight = TokenFlight(
            desk: self, shelf: shelf, account: account, rejected: rejected)
        let (result, outcome) = flight.settle()
        let waiters = state.withLock { state in
            state.outcomes[outcome, default: 0] += 1
            // Who joined late, with a token refused that this flight was content with, goes again.
            let joined = state.flights.removeValue(forKey: account) ?? []
            guard case .success(let bearer) = result, !state.isClosing else { return joined }
            // One that the flight itself was to replace is what the provider gives: once is enough.
            let isNews = !rejected.contains(bearer.token)
            let again = joined.filter { isNews && $0.rejected == bearer.token }
            guard !again.isEmpty else { return joined }
            state.flights[account] = again
            state.queue.append(account)
            return joined.filter { $0.rejected != bearer.token }
        }
        for waiter in waiters { waiter.answer(result) }
    }

    private func stored(_ account: AccountID) throws(BearerFailure) -> Bearer? {
        do throws(JournalFailure) {
            return try vault.session(of: account)?.bearer(of: account)
        } catch {
            throw BearerFailure(error)
        }
    }
}

extension BearerFailure {
    /// Too many ask, or the process ends.
    static let busy = BearerFailure(
        kind: .unavailable, code: "sign_in_busy",
        reason: "too many accounts wait for a fresh token")

    /// A provider's or client's failure: only one kind says anything of the person.
    init(_ error: SignInError) {
        self.init(
            kind: error.kind == .signInAgain ? .signInAgain : .unavailable,
            code: error.kind == .signInAgain ? error.code : "sign_in_\(error.kind.word)",
            reason: error.reason)
    }

    /// The vault failed.
    init(_ failure: JournalFailure) {
        self.init(kind: .unavailable, code: "journal", reason: failure.reason)
    }
}
