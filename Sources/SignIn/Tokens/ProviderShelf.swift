internal import RelayCore

/// The providers that one thread speaks to, with their connections: a new connection for each token
/// would cost a handshake and a reading of the system's certificates.
final class ProviderShelf {
    private var providers: [Issuer: Provider] = [:]

    /// Providers that are kept; beyond, all are left.
    private static let limit = 8

    func provider(_ issuer: Issuer, _ desk: TokenDesk) throws(SignInError) -> Provider {
        if let known = providers[issuer] { return known }
        if providers.count >= Self.limit { providers = [:] }
        let made = try Provider(issuer, desk.directory, desk.manners)
        providers[issuer] = made
        return made
    }
}
