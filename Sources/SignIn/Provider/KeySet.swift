internal import Crypto
internal import JSON

/// A provider's public keys that sign by RS256 (RFC 7517).
struct KeySet: Sendable {
    /// Keys that are looked at; more are left out.
    static let limit = 32

    private let keys: [(name: String?, key: RSAPublicKey)]

    /// Takes a JWK set; keys of other kinds, for other uses, or that are none are left out.
    init(_ json: JSONValue) throws(SignInError) {
        guard let found = json["keys"]?.arrayValue else {
            throw .malformed("the provider's JWK set has no keys")
        }
        var keys: [(String?, RSAPublicKey)] = []
        for key in found.prefix(Self.limit) {
            guard key["kty"] == "RSA", key["use"] ?? "sig" == "sig",
                key["alg"] ?? "RS256" == "RS256",
                let modulus = key["n"]?.stringValue.flatMap({ Base64.decode($0) }),
                let exponent = key["e"]?.stringValue.flatMap({ Base64.decode($0) }),
                let made = Self.key(modulus, exponent)
            else { continue }
            keys.append((key["kid"]?.stringValue, made))
        }
        self.keys = keys
    }

    /// The keys that a token may be signed with: those of its name, or all where it names none.
    func candidates(named name: String?) -> [RSAPublicKey] {
        guard let name else { return keys.map(\.key) }
        return keys.filter { $0.name == name }.map(\.key)
    }

    private static func key(_ modulus: [UInt8], _ exponent: [UInt8]) -> RSAPublicKey? {
        do throws(CryptoError) {
            return try RSAPublicKey(modulus: modulus, exponent: exponent)
        } catch {
            // A key that nothing may be checked with is as good as none.
            return nil
        }
    }
}
