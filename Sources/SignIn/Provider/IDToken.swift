internal import ConnectionEvents
internal import Crypto
internal import JSON
internal import RelayCore

/// What an id token says, once it is known to be true (OpenID Connect Core 1.0, 2).
struct IDToken: Sendable {
    /// Who the person is at this issuer; never another's.
    let subject: String
    let name: String?
    let email: String?

    /// The longest token that is looked at, in bytes.
    static let sizeLimit = 16 << 10
    /// How far the provider's clock may be off.
    static let leeway: Int64 = 60

    /// What an id token must say.
    struct Demand {
        var issuer: Issuer
        var clientID: String
        /// What was sent along with the question; nil: nothing was (a refresh).
        var nonce: Secret?
        var now: Timestamp
    }

    /// Checks a token that the browser's way has touched: signature and all.
    ///
    /// - Throws: kind `invalid`; code `unknown_key` where it names a key that is not in the set.
    init(_ token: Secret, keys: KeySet, demand: Demand) throws(SignInError) {
        let parts = try Self.parts(of: token)
        // Which algorithm, is ours to say and not the token's (RFC 8725, 3.1).
        guard parts.header["alg"] == "RS256", parts.header["crit"] == nil else {
            throw Self.refused("is not signed by RS256")
        }
        let candidates = keys.candidates(named: parts.header["kid"]?.stringValue)
        guard !candidates.isEmpty else {
            throw .unfit("unknown_key", "the id token is signed with a key that the provider lacks")
        }
        guard candidates.contains(where: { $0.verifies(parts.signature, of: parts.signed) }) else {
            throw Self.refused("has a signature that is not the provider's")
        }
        try self.init(parts.claims, demand)
    }

    /// Checks a token that came from the token endpoint itself, over TLS: its claims alone.
    ///
    /// OpenID Connect Core 1.0, 3.1.3.7, 6.
    init(direct token: Secret, demand: Demand) throws(SignInError) {
        try self.init(try Self.parts(of: token).claims, demand)
    }

    private init(_ claims: JSONValue, _ demand: Demand) throws(SignInError) {
        guard claims["iss"]?.stringValue == demand.issuer.text else {
            throw Self.refused("is of another issuer")
        }
        let audience =
            claims["aud"]?.stringValue.map { [$0] }
            ?? claims["aud"]?.arrayValue?.compactMap(\.stringValue) ?? []
        guard audience.contains(demand.clientID) else {
            throw Self.refused("is for another client")
        }
        let party = claims["azp"]?.stringValue
        guard party == demand.clientID || (party == nil && audience.count == 1) else {
            throw Self.refused("was given to another client")
        }
        let now = demand.now.milliseconds / 1000
        guard let expires = Self.seconds(claims["exp"]), expires > now - Self.leeway else {
            throw Self.refused("has run out, or this machine's clock is wrong")
        }
        guard let issued = Self.seconds(claims["iat"]), issued <= now + Self.leeway else {
            throw Self.refused("is of the future: this machine's clock or the provider's is wrong")
        }
        if let nonce = demand.nonce {
            guard let said = claims["nonce"]?.stringValue, Secret(said) == nonce else {
                throw Self.refused("answers another question than ours")
            }
        }
        guard let subject = claims["sub"]?.stringValue, (1...255).contains(subject.utf8.count)
        else { throw Self.refused("names nobody") }
        self.subject = subject
        name = claims["name"]?.stringValue ?? claims["preferred_username"]?.stringValue
        email = claims["email"]?.stringValue
    }

    /// Times are numbers, and may have a fraction (RFC 7519, 2).
    private static func seconds(_ value: JSONValue?) -> Int64? {
        guard let number = value?.numberValue else { return nil }
        if let whole = number.integer { return whole }
        let text = number.text.prefix { $0 != "." }
        return number.text.contains("e") || number.text.contains("E") ? nil : Int64(text)
    }

    private struct Parts {
        let header: JSONValue
        let claims: JSONValue
        let signed: [UInt8]
        let signature: [UInt8]
    }

    private static func parts(of token: Secret) throws(SignInError) -> Parts {
        let text = token.reveal()
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard token.count <= sizeLimit, parts.count == 3, let header = value(parts[0]),
            let claims = value(parts[1]), let signature = Base64.decode(parts[2])
        else { throw refused("is no signed token") }
        return Parts(
            header: header, claims: claims, signed: Array("\(parts[0]).\(parts[1])".utf8),
            signature: signature)
    }

    private static func value(_ part: String) -> JSONValue? {
        guard let bytes = Base64.decode(part) else { return nil }
        do throws(JSONError) {
            let value = try JSONValue(parsing: bytes)
            return value.objectValue == nil ? nil : value
        } catch {
            return nil
        }
    }

    private static func refused(_ what: String) -> SignInError {
        .unfit("bad_id_token", "the id token \(what)")
    }
}
