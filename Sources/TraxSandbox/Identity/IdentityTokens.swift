internal import Crypto
internal import JSON

/// What the token endpoint gives.
extension SharedState {
    /// Signs what a family is to get.
    ///
    /// - Parameter refresh: the refresh token, where the family has one.
    func tokens(
        _ family: Identity.Family, refresh: String?
    ) throws(CryptoError) -> JSONValue {
        let (origin, lifetime) = read { ($0.origin, $0.identity.accessLifetime) }
        let now = WallClock.seconds
        let seconds = Int(lifetime / .seconds(1))
        let access: JSONValue = [
            "iss": .string(origin), "sub": .string(family.account),
            "aud": [.string(family.client)], "client_id": .string(family.client),
            "scope": .string(family.scopes.joined(separator: " ")),
            "iat": JSONValue(now), "nbf": JSONValue(now), "exp": JSONValue(now + seconds),
            "jti": .string(Token.make()), "sid": .string(family.session),
        ]
        var answer: JSONObject = [
            "access_token": .string(try signer.sign(access, for: .access)),
            "token_type": "Bearer", "expires_in": JSONValue(seconds),
            "scope": .string(family.scopes.joined(separator: " ")),
        ]
        if let refresh { answer["refresh_token"] = .string(refresh) }
        if family.scopes.contains("openid") {
            var claims: JSONObject = [
                "iss": .string(origin), "sub": .string(family.account),
                "aud": .string(family.client), "azp": .string(family.client),
                "iat": JSONValue(now), "exp": JSONValue(now + seconds),
                "sid": .string(family.session),
            ]
            if let nonce = family.nonce { claims["nonce"] = .string(nonce) }
            answer["id_token"] = .string(try signer.sign(.object(claims), for: .identity))
        }
        return .object(answer)
    }

    /// The account of an access token that is ours and good now, and of a session that goes on;
    /// the audience is not looked at, as the vendor's does not yet.
    func owner(of token: String) -> String? {
        guard let claims = signer.claims(of: token, for: .access),
            claims["iss"] == .string(read { $0.origin }),
            let expires = claims["exp"]?.integerValue, expires > WallClock.seconds,
            let session = claims["sid"]?.stringValue,
            read({ $0.identity.accessOutlives || $0.identity.families.isLive(session) })
        else { return nil }
        return claims["sub"]?.stringValue
    }
}
