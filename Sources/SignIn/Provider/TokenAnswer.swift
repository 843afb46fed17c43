internal import Crypto
internal import JSON

/// What the token endpoint gave (RFC 6749, 5.1; OpenID Connect Core 1.0, 3.1.3.3).
struct TokenAnswer: Sendable {
    let access: Secret
    /// How long the access token is good, from when it was asked for.
    let lifetime: Duration
    /// The refresh token to use from now on; nil: the one before stays good.
    let refresh: Secret?
    let identity: Secret?

    /// What is taken for good where the provider does not say.
    static let assumedLifetime = Duration.seconds(300)
    /// The longest token that is kept, in bytes; what goes into a header must be shorter still.
    static let sizeLimit = 16 << 10

    init(_ json: JSONValue) throws(SignInError) {
        guard json["token_type"]?.stringValue?.lowercased() == "bearer" else {
            throw .malformed("the provider gave no bearer token")
        }
        guard let access = try Self.token("access_token", json) else {
            throw .malformed("the provider gave no access token")
        }
        self.access = access
        refresh = try Self.token("refresh_token", json)
        identity = try Self.token("id_token", json)
        if let seconds = json["expires_in"]?.numberValue?.double
            ?? json["expires_in"]?.stringValue.flatMap(Double.init)
        {
            guard (0...1e9).contains(seconds) else {
                throw .malformed("the provider gave a token of no possible lifetime")
            }
            lifetime = .milliseconds(Int64(min(seconds, 31_536_000) * 1000))
        } else {
            lifetime = Self.assumedLifetime
        }
    }

    private static func token(
        _ name: String, _ json: JSONValue
    ) throws(SignInError) -> Secret? {
        guard let text = json[name]?.stringValue, !text.isEmpty else { return nil }
        guard text.utf8.count <= sizeLimit, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw .malformed("the provider gave a token that no header can carry") }
        return Secret(text)
    }
}

extension SignInError {
    /// What a token endpoint's refusal means (RFC 6749, 5.2).
    ///
    /// Only `invalid_grant` in an error of the protocol's own form says anything of the person.
    ///
    /// - Parameter place: what of the provider answered.
    static func refusal(
        status: Int, body: JSONValue?, by place: String = "token endpoint"
    ) -> SignInError {
        let error = body?["error"]?.stringValue
        guard (400...403).contains(status), let error else {
            return SignInError(
                .unavailable, code: "http_\(status / 100)xx",
                reason: "the provider's \(place) answered HTTP \(status)")
        }
        switch error {
        case "invalid_grant":
            return SignInError(
                .signInAgain, code: error,
                reason: "the provider does not keep the person signed in any more")
        case "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
            "invalid_request":
            return SignInError(
                .invalid, code: error,
                reason: "the provider refuses the client (\(error)): see to `clientID` and its"
                    + " registration there")
        default:
            return SignInError(
                .unavailable, code: "provider_error",
                reason: "the provider's \(place) answered HTTP \(status) with an error")
        }
    }
}
