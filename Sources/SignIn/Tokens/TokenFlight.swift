internal import ConnectionEvents
internal import Crypto
internal import RelayCore
internal import Threading

/// One refresh of one account's tokens, from the question to the answer, on one thread.
struct TokenFlight {
    let desk: TokenDesk
    let shelf: ProviderShelf
    let account: AccountID
    /// Tokens that the API did not take.
    let rejected: [Secret]

    /// How long another process may take before this one goes on.
    static let patience = Duration.seconds(30)
    /// How often the vault is looked at while another process refreshes.
    static let glance = Duration.milliseconds(50)

    /// The token, or why there is none, with a word for the metrics.
    func settle() -> (Result<Bearer, BearerFailure>, outcome: String) {
        do {
            let (bearer, outcome) = try fly()
            return (.success(bearer), outcome)
        } catch let error as SignInError {
            return (.failure(BearerFailure(error)), error.kind.word)
        } catch let failure as JournalFailure {
            return (.failure(BearerFailure(failure)), "journal")
        } catch {
            return (.failure(.busy), "unavailable")
        }
    }

    private func fly() throws -> (Bearer, outcome: String) {
        if let unsaved = desk.state.withLock({ $0.unsaved[account] }) {
            _ = try save(unsaved)
        }
        let deadline = WallClock.now().adding(Self.patience)
        while true {
            if let bearer = fresh(try session()) { return (bearer, "reused") }
            let lease = desk.manners.timeout * 2 + .seconds(5)
            if try desk.vault.lease(account, holder: desk.holder, for: lease) {
                return try holdingLease()
            }
            let now = WallClock.now()
            guard now < deadline, deadline.since(now) <= Self.patience else {
                throw SignInError(
                    .unavailable, code: "lease", reason: "another process is refreshing the token")
            }
            let isClosing = desk.state.wait(timeout: Self.glance) { $0.isClosing ? true : nil }
            guard isClosing == nil else {
                throw SignInError(.unavailable, code: "closing", reason: "the process ends")
            }
        }
    }

    private func holdingLease() throws -> (Bearer, outcome: String) {
        do {
            // Whoever had the right before may have used it.
            let session = try session()
            if let bearer = fresh(session) {
                try desk.vault.release(account, holder: desk.holder)
                return (bearer, "reused")
            }
            return try refresh(session)
        } catch {
            do throws(JournalFailure) {
                try desk.vault.release(account, holder: desk.holder)
            } catch {
                // It runs out by itself; the first error is the one to tell.
                desk.note("the right to refresh a token stays taken for a while: \(error.reason)")
            }
            throw error
        }
    }

    private func refresh(_ before: PersonSession) throws -> (Bearer, outcome: String) {
        guard !desk.state.withLock({ $0.isClosing }) else {
            throw SignInError(.unavailable, code: "closing", reason: "the process ends")
        }
        let party = ProviderTroubles.Party(before)
        let asked = WallClock.now()
        if let error = desk.state.withLock({ $0.trouble.reason(party, now: asked) }) {
            throw error
        }
        let answer: TokenAnswer
        do throws(SignInError) {
            let provider = try shelf.provider(before.issuer, desk)
            answer = try provider.refresh(
                before.refreshToken, client: before.clientID,
                exchange: desk.vault.exchangeName(of: before.refreshToken))
        } catch {
            if error.kind == .signInAgain {
                // An answer, if not the one that was hoped for.
                if let news = desk.state.withLock({ $0.trouble.clear(party) }) { desk.note(news) }
                return try again(before, error)
            }
            let news = desk.state.withLock { $0.trouble.note(party, error, now: asked) }
            if let news { desk.note(news) }
            throw error
        }
        if let news = desk.state.withLock({ $0.trouble.clear(party) }) { desk.note(news) }
        return try keep(
            TokenDesk.Unsaved(
                session: try before.refreshed(by: answer, asked: asked),
                tried: before.refreshToken))
    }

    /// The new refresh token is durable before the new access token is used; what cannot be written
    /// is not forgotten.
    private func keep(_ unsaved: TokenDesk.Unsaved) throws -> (Bearer, outcome: String) {
        guard try save(unsaved), let bearer = unsaved.session.bearer(of: account) else {
            // Somebody signed in anew meanwhile: theirs counts.
            if let bearer = fresh(try session()) { return (bearer, "reused") }
            throw SignInError(
                .unavailable, code: "superseded",
                reason: "the account has got other tokens meanwhile")
        }
        return (bearer, "refreshed")
    }

    private func save(_ unsaved: TokenDesk.Unsaved) throws(JournalFailure) -> Bool {
        desk.state.withLock { $0.unsaved[account] = unsaved }
        let isTaken = try desk.vault.replace(
            unsaved.session, of: account, tried: unsaved.tried, holder: desk.holder)
        desk.state.withLock { $0.unsaved[account] = nil }
        return isTaken
    }

    /// The grant is not good any more: the vault's word counts before the provider's.
    private func again(
        _ tried: PersonSession, _ error: SignInError
    ) throws -> (Bearer, outcome: String) {
        let stored = try session()
        guard stored.refreshToken != tried.refreshToken else { throw error }
        if let bearer = fresh(stored) { return (bearer, "reused") }
        return try refresh(stored)
    }

    private func session() throws -> PersonSession {
        guard let session = try desk.vault.session(of: account) else {
            throw SignInError(
                .unavailable, code: "no_person", reason: "the account is nobody's who signed in")
        }
        guard !session.refreshToken.isEmpty else {
            throw SignInError(
                .signInAgain, code: "signed_out", reason: "the person has signed out")
        }
        return session
    }

    /// The stored token, where nobody needs to ask for another.
    private func fresh(_ session: PersonSession) -> Bearer? {
        guard let bearer = session.bearer(of: account), !rejected.contains(bearer.token),
            WallClock.now() < bearer.times.refreshAt, session.obtainedAt <= WallClock.now()
        else { return nil }
        return bearer
    }
}

extension PersonSession {
    /// The same session with what a refresh gave.
    ///
    /// - Throws: kind `invalid` where the provider gave another person's.
    func refreshed(by answer: TokenAnswer, asked: Timestamp) throws(SignInError) -> PersonSession {
        var session = self
        session.refreshToken = answer.refresh ?? refreshToken
        session.accessToken = answer.access
        session.obtainedAt = asked
        session.expiresAt = asked.adding(answer.lifetime)
        guard let identity = answer.identity else { return session }
        let said: IDToken
        do throws(SignInError) {
            said = try IDToken(
                direct: identity,
                demand: IDToken.Demand(
                    issuer: issuer, clientID: clientID, nonce: nil, now: WallClock.now()))
        } catch {
            // Not needed for the API: the one of before still names the session.
            return session
        }
        guard subject == nil || subject == said.subject else {
            throw .unfit("another_person", "the provider gave another person's tokens")
        }
        session.subject = said.subject
        session.name = said.name ?? said.email ?? name
        session.idToken = identity
        return session
    }
}
