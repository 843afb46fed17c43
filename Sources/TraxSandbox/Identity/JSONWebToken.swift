internal import Crypto
internal import JSON
internal import Threading

/// Signs and checks the tokens of the identity provider: JSON Web Tokens (RFC 7519) by RS256.
///
/// The key is made when it is first needed, for most sandboxes never need one.
///
/// Threads: any.
final class TokenSigner: Sendable {
    /// What a token is for, in its header: an access token cannot pass for an id token.
    enum Use: String {
        /// RFC 9068, 2.1.
        case access = "at+jwt"
        case identity = "JWT"
    }

    private let key = Lock<RSAKey?>(nil)

    /// A signed token.
    func sign(_ claims: JSONValue, for use: Use) throws(CryptoError) -> String {
        let key = try current()
        let header: JSONValue = [
            "alg": "RS256", "typ": .string(use.rawValue), "kid": .string(Self.name(of: key)),
        ]
        let text =
            Base64.encode(header.serialized()) + "." + Base64.encode(claims.serialized())
        return text + "." + Base64.encode(try key.sign(Array(text.utf8)))
    }

    /// The claims of a token that this signer signed for this use; its times are not looked at.
    func claims(of token: String, for use: Use) -> JSONValue? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard token.utf8.count <= 8192, parts.count == 3,
            let header = Self.value(parts[0]), let signature = Base64.decode(parts[2]),
            // Which algorithm, is ours to say and not the token's (RFC 8725, 3.1).
            header["alg"] == "RS256", header["typ"] == .string(use.rawValue), header["crit"] == nil,
            let key = key.withLock({ $0 }), header["kid"] == .string(Self.name(of: key)),
            key.publicKey.verifies(signature, of: Array("\(parts[0]).\(parts[1])".utf8))
        else { return nil }
        return Self.value(parts[1])
    }

    /// The public keys as a JWK set (RFC 7517).
    func keys() throws(CryptoError) -> JSONValue {
        let key = try current()
        return [
            "keys": [
                [
                    "kty": "RSA", "use": "sig", "alg": "RS256",
                    "kid": .string(Self.name(of: key)),
                    "n": .string(Base64.encode(key.modulus)),
                    "e": .string(Base64.encode(key.exponent)),
                ]
            ]
        ]
    }

    /// Throws the key away: no token of before is good any more.
    func renew() { key.withLock { $0 = nil } }

    private func current() throws(CryptoError) -> RSAKey {
        try key.withLock { (held) throws(CryptoError) in
            if let held { return held }
            let made = try RSAKey()
            held = made
            return made
        }
    }

    private static func name(of key: RSAKey) -> String {
        Base64.encode(Array(SHA256.hash(key.modulus).prefix(12)))
    }

    private static func value(_ part: String) -> JSONValue? {
        guard let bytes = Base64.decode(part) else { return nil }
        do throws(JSONError) {
            return try JSONValue(parsing: bytes)
        } catch {
            return nil
        }
    }
}
