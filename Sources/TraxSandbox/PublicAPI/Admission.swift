internal import HTTPServer

/// What a request shows to be let in.
enum Credential: Equatable, Sendable {
    /// Nothing, or what has no form of a credential.
    case none
    /// A key of an account.
    case key(String)
    /// The owner of an account, by an access token whose signature and times were found good.
    case person(account: String)
}

/// What the operations under `/v1` ask of a key.
enum Scope: String {
    case readConnections = "connections:read"
    case writeConnections = "connections:write"
    case readStudios = "studios:read"
}

extension SandboxState {
    /// Lets a request in, and takes a token from its bucket; the account it acts for is returned.
    ///
    /// Who asks is judged first, then how often, then the scope, then whether writing is on.
    mutating func admit(
        _ credential: Credential, _ scope: Scope, writes: Bool = false, at now: Duration
    ) throws(APIFailure) -> String {
        let account: String
        switch credential {
        case .none: throw .invalidKey
        case .key(let key):
            guard let record = keys[key], !record.isRevoked else { throw .invalidKey }
            if let seconds = keys[key]?.bucket.take(rate, at: now) { throw .rateLimited(seconds) }
            guard record.scopes.contains(scope.rawValue) else {
                throw .insufficientScope(scope.rawValue)
            }
            account = record.account
        case .person(let owner):
            guard accounts[owner] != nil else { throw .invalidKey }
            if accounts[owner]?.bucket == nil {
                accounts[owner]?.bucket = TokenBucket(rate, at: now)
            }
            if let seconds = accounts[owner]?.bucket?.take(rate, at: now) {
                throw .rateLimited(seconds)
            }
            account = owner
        }
        if writes, !writesEnabled { throw .writeDisabled }
        return account
    }
}
