internal import JSON
public import RelayCore

/// What is asked of a provider for a person who is signed in.
public enum SignedIn {
    /// What the provider tells of a person.
    public struct Profile: Sendable {
        /// What they call themselves.
        public var name: String?
        /// Their address.
        public var email: String?
    }

    /// Ends a session at its provider: the refresh token is revoked, and the session that the id
    /// token is of ended.
    ///
    /// - Throws: what went wrong first; both are tried.
    public static func end(
        _ session: PersonSession, manners: ProviderManners
    ) throws(SignInError) {
        let provider = try Provider(session.issuer, ProviderDirectory(), manners)
        var first: SignInError?
        do throws(SignInError) {
            try provider.revoke(session.refreshToken, client: session.clientID)
        } catch {
            first = error
        }
        do throws(SignInError) {
            if let identity = session.idToken {
                try provider.endSession(identity, client: session.clientID)
            }
        } catch {
            first = first ?? error
        }
        if let first { throw first }
    }

    /// Asks the provider who a person is; nil where it does not tell.
    public static func profile(
        of session: PersonSession, bearer: Bearer, manners: ProviderManners
    ) throws(SignInError) -> Profile? {
        let provider = try Provider(session.issuer, ProviderDirectory(), manners)
        guard let subject = session.subject,
            let told = try provider.person(bearer.token, subject: subject)
        else { return nil }
        return Profile(name: told["name"]?.stringValue, email: told["email"]?.stringValue)
    }
}
