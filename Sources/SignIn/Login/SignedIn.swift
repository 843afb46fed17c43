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

    /// Ends a session at its provider: the refresh token is revoked, and then the session ended
    /// that the id token is of.
    ///
    /// - Returns: why the session may go on at the provider though the tokens are good no more; nil
    ///   where it has ended.
    /// - Throws: where nothing was ended.
    public static func end(
        _ session: PersonSession, manners: ProviderManners
    ) throws(SignInError) -> SignInError? {
        let provider = try Provider(session.issuer, ProviderDirectory(), manners)
        let isRevoked = try provider.revoke(session.refreshToken, client: session.clientID)
        guard let identity = session.idToken else { return nil }
        do throws(SignInError) {
            try provider.endSession(identity, client: session.clientID)
            return nil
        } catch {
            guard isRevoked else { throw error }
            return error
        }
    }

    /// Asks a provider what it says of itself, as `check` does; nobody is signed in.
    ///
    /// - Throws: where it does not answer, or not as a sign-in needs it.
    public static func probe(_ issuer: Issuer, manners: ProviderManners) throws(SignInError) {
        _ = try Provider(issuer, ProviderDirectory(), manners).document()
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
