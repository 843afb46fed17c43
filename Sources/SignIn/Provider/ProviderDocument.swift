internal import JSON
internal import RelayCore

/// What a provider says of itself (OpenID Connect Discovery 1.0, 3), as far as it is used.
struct ProviderDocument: Sendable {
    let issuer: Issuer
    let authorization: String
    let token: String
    let keys: String
    let revocation: String?
    let userInfo: String?
    let endSession: String?
    /// Whether each answer of the authorization endpoint names the issuer (RFC 9207, 3).
    let namesIssuer: Bool

    /// Takes a document that an issuer's address gave.
    ///
    /// - Throws: kind `invalid` where it is another's, lacks an address that is needed, names one
    ///   that no token may be sent to, or does not know PKCE by S256.
    init(_ json: JSONValue, of issuer: Issuer) throws(SignInError) {
        guard let named = json["issuer"]?.stringValue else {
            throw .malformed("the discovery document of \(issuer) names no issuer")
        }
        guard named.utf8.elementsEqual(issuer.text.utf8) else {
            throw .unfit(
                "wrong_issuer",
                "the discovery document of \(issuer) is of another issuer: write the issuer exactly"
                    + " as the provider does, slash at the end included")
        }
        self.issuer = issuer
        authorization = try Self.address("authorization_endpoint", json, issuer)
        token = try Self.address("token_endpoint", json, issuer)
        keys = try Self.address("jwks_uri", json, issuer)
        revocation = try Self.optional("revocation_endpoint", json, issuer)
        userInfo = try Self.optional("userinfo_endpoint", json, issuer)
        endSession = try Self.optional("end_session_endpoint", json, issuer)
        namesIssuer =
            json["authorization_response_iss_parameter_supported"]?.boolValue ?? false
        // A provider may leave the list out and know it all the same; one that lists others does
        // not.
        if let methods = json["code_challenge_methods_supported"]?.arrayValue,
            !methods.contains(.string("S256"))
        {
            throw .unfit("no_pkce", "\(issuer) does not know PKCE by S256")
        }
    }

    private static func address(
        _ name: String, _ json: JSONValue, _ issuer: Issuer
    ) throws(SignInError) -> String {
        guard let address = try optional(name, json, issuer) else {
            throw .unfit("incomplete", "the discovery document of \(issuer) has no \(name)")
        }
        return address
    }

    private static func optional(
        _ name: String, _ json: JSONValue, _ issuer: Issuer
    ) throws(SignInError) -> String? {
        guard let text = json[name]?.stringValue else { return nil }
        // An https issuer must not send tokens to this machine in the clear.
        let isFit =
            Issuer.isSafe(text) && !text.contains("#")
            && (text.hasPrefix("https://") || issuer.text.hasPrefix("http://"))
        guard isFit else {
            throw .unfit("unsafe_address", "\(name) of \(issuer) is no address for tokens")
        }
        return text
    }
}
