internal import ConnectionEvents
internal import Crypto
internal import JSON
public import RelayCore

/// Somebody who has just signed in.
public struct SignedInPerson: Sendable {
    /// What is to be kept of them; its subject is set.
    public var session: PersonSession
    /// Their address, where the provider told.
    public var email: String?
}

/// A person signs in with a browser: the address to open, the answer, the tokens.
///
/// Authorization code with PKCE and a redirect to 127.0.0.1 (RFC 8252). One thread; once.
public final class SignInFlow {
    private let provider: Provider
    private let receiver: LoopbackReceiver
    private let attempt: SignInAttempt
    private let hint: String?
    private var hasEnded = false

    /// Asks the provider what it is, and begins to listen.
    ///
    /// - Parameter hint: who is to sign in; nil leaves it to them.
    /// - Throws: where the provider cannot be asked or does not fit.
    public init(
        issuer: Issuer, clientID: String, manners: ProviderManners, hint: String? = nil
    ) throws(SignInError) {
        provider = try Provider(issuer, ProviderDirectory(), manners)
        let document = try provider.document()
        receiver = try LoopbackReceiver()
        attempt = try SignInAttempt(document, clientID: clientID, redirect: receiver.redirect)
        receiver.expect(attempt)
        self.hint = hint
    }

    deinit { if !hasEnded { receiver.end(.failed) } }

    /// The address to open in a browser on this machine.
    public var address: String { attempt.address(hint: hint) }

    /// Waits for the browser, and gives its code back for tokens, which are checked.
    ///
    /// - Throws: `declined` when the person said no or the time is over.
    public func person(within limit: Duration) throws(SignInError) -> SignedInPerson {
        let code = try receiver.wait(limit)
        let asked = WallClock.now()
        let answer = try provider.redeem(
            code, verifier: attempt.verifier, redirect: attempt.redirect,
            client: attempt.clientID)
        guard let refresh = answer.refresh else {
            throw .unfit(
                "no_refresh_token",
                "the provider gave no refresh token: allow the client `offline_access` there")
        }
        guard let identity = answer.identity else {
            throw .unfit("no_id_token", "the provider gave no id token")
        }
        let said = try provider.verify(
            identity,
            IDToken.Demand(
                issuer: provider.issuer, clientID: attempt.clientID, nonce: attempt.nonce,
                now: WallClock.now()))
        let told = told(answer.access, said.subject)
        var session = PersonSession(
            issuer: provider.issuer, clientID: attempt.clientID, refreshToken: refresh)
        session.subject = said.subject
        session.accessToken = answer.access
        session.obtainedAt = asked
        session.expiresAt = asked.adding(answer.lifetime)
        session.idToken = identity
        let email = said.email ?? told?["email"]?.stringValue
        session.name = said.name ?? told?["name"]?.stringValue ?? email
        return SignedInPerson(session: session, email: email)
    }

    /// Name and address are nice to have: without them the person is signed in all the same.
    private func told(_ access: Secret, _ subject: String) -> JSONValue? {
        do throws(SignInError) {
            return try provider.person(access, subject: subject)
        } catch {
            return nil
        }
    }

    /// Tells the browser how it ended, and stops listening.
    public func end(isKept: Bool) {
        hasEnded = true
        receiver.end(isKept ? .done : .failed)
    }
}
