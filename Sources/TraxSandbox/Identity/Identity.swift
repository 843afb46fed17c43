internal import Crypto
internal import Glibc
internal import HTTPServer

/// An error of the identity provider (RFC 6749, 4.1.2.1 and 5.2).
struct IdentityFailure: Error, Equatable {
    let code: String
    let description: String
    var status = 400

    init(_ code: String, _ description: String, status: Int = 400) {
        self.code = code
        self.description = description
        self.status = status
    }

    static let badGrant = IdentityFailure(
        "invalid_grant", "The grant is not good, or not any more.")
}

/// What the identity provider holds: its clients, codes under way, and the people signed in.
struct Identity: Sendable {
    /// A code, good once.
    struct Code: Sendable {
        let account: String
        let client: String
        let redirectURI: String
        let challenge: String
        let scopes: [String]
        let nonce: String?
        let expires: Duration
        /// What it was redeemed for; a second redeeming ends that.
        var family: String?
        var isUsed = false
    }

    /// All refresh tokens that come from one signing in; only the last is good.
    struct Family: Sendable {
        let account: String
        let client: String
        var scopes: [String]
        let nonce: String?
        /// Named in the id token, so that logging out can say which; no secret.
        let session: String
        /// The end of the only good refresh token, hashed.
        var current: [UInt8]
        /// The one before.
        var former: Former?
    }

    /// A refresh token that was used, while its successor is not.
    struct Former: Sendable {
        let end: [UInt8]
        /// Until when it may come once more, whoever brings it.
        let until: Duration
        /// The `Idempotency-Key` that it came with: with the same it may come once more.
        let key: String?
    }

    /// How long an access token is good.
    var accessLifetime = Duration.seconds(3600)
    /// How long the last used refresh token may come again while its successor is unused; zero:
    /// never.
    ///
    /// Providers allow it for the sake of answers that were lost on their way.
    var reuseLeeway = Duration.zero
    /// Whether the last used refresh token may come again with the `Idempotency-Key` that it came
    /// with, while its successor is unused.
    var takesRepeats = true
    /// Whether an access token is good for its time though its session has ended, as where an API
    /// looks at the token alone.
    var accessOutlives = false
    /// What the token endpoint answers everybody; 0: it works.
    var tokenStatus = 0
    /// How late its answers come, which are made at once.
    var tokenDelay = Duration.zero
    /// How late those answer that revoke tokens and end sessions; they are ended at once.
    var endDelay = Duration.zero
    /// How often the token endpoint was asked.
    var tokenRequests = 0
    /// Return addresses by client.
    ///
    /// `trax-relay` is the relay's own, the number the guides' app.
    var clients: [String: [String]] = [
        "trax-relay": ["/callback", "/oauth/callback", "/"].flatMap {
            ["http://127.0.0.1\($0)", "http://[::1]\($0)"]
        },
        "385862192278274086": ["live.traxstreaming.ios://oauth/callback"],
    ]
    var codes: [String: Code] = [:]
    /// By a name that is the beginning of each of its refresh tokens.
    var families = IdentitySessions()

    static let maximum = 100_000
    static let codeLifetime = Duration.seconds(60)

    /// Whether a client may be answered at an address: one of its own exactly, but that the port of
    /// an address on the loopback interface is free (RFC 8252, 7.3).
    func allows(_ address: String, for client: String) -> Bool {
        (clients[client] ?? []).contains { own in
            if own.utf8.elementsEqual(address.utf8) { return true }
            for host in ["http://127.0.0.1", "http://[::1]"] where own.hasPrefix(host + "/") {
                guard address.hasPrefix(host + ":") else { continue }
                let rest = address.dropFirst(host.count + 1)
                let port = rest.prefix { $0 != "/" }
                guard (1...5).contains(port.utf8.count),
                    port.utf8.allSatisfy({ (48...57).contains($0) }), UInt16(port) != nil,
                    rest.dropFirst(port.count).utf8.elementsEqual(own.dropFirst(host.count).utf8)
                else { continue }
                return true
            }
            return false
        }
    }

    mutating func add(_ code: Code, _ text: String, at now: Duration) {
        if codes.count >= Self.maximum { codes = codes.filter { $0.value.expires > now } }
        if codes.count < Self.maximum { codes[text] = code }
    }

    /// Redeems a code for a family, whose name is `fresh`.
    ///
    /// The code is over with the first try; the second ends what the first has given (RFC 6749,
    /// 4.1.2).
    mutating func redeem(
        _ text: String, client: String, redirectURI: String, verifier: String, fresh: String,
        session: String, at now: Duration
    ) throws(IdentityFailure) -> Family {
        guard let code = codes[text] else { throw .badGrant }
        guard !code.isUsed else {
            if let family = code.family { families[family] = nil }
            throw .badGrant
        }
        codes[text]?.isUsed = true
        guard code.expires > now, code.client == client, code.redirectURI == redirectURI,
            Self.isVerifier(verifier),
            ConstantTime.equal(
                Array(Token.challenge(of: verifier).utf8), Array(code.challenge.utf8))
        else { throw .badGrant }
        guard families.count < Self.maximum else {
            throw IdentityFailure("temporarily_unavailable", "Too many sessions.", status: 503)
        }
        let family = Family(
            account: code.account, client: client, scopes: code.scopes, nonce: code.nonce,
            session: session, current: [])
        codes[text]?.family = fresh
        families[fresh] = family
        return family
    }

    /// The scopes of an answer to a refresh: those that are asked for, or all that were granted
    /// (RFC 6749, 6); what the family may have stays as it is.
    static func narrowed(
        _ granted: [String], to asked: String?
    ) throws(IdentityFailure) -> [String] {
        guard let asked else { return granted }
        let wanted = asked.split(separator: " ").map(String.init)
        guard !wanted.isEmpty, wanted.allSatisfy(granted.contains) else {
            throw IdentityFailure("invalid_scope", "More was asked for than was granted.")
        }
        return granted.filter(wanted.contains)
    }

    /// The next refresh token of a family, whose end is `secret`; those before are good no more.
    ///
    /// - Parameter key: the `Idempotency-Key` of the request.
    mutating func rotate(
        _ family: String, secret: String, key: String? = nil, at now: Duration
    ) -> String {
        if let used = families[family]?.current, !used.isEmpty {
            families[family]?.former = Former(end: used, until: now + reuseLeeway, key: key)
        }
        families[family]?.current = SHA256.hash(secret)
        return "\(family).\(secret)"
    }

    /// The family of a refresh token; one that was good before ends the whole family.
    ///
    /// The last one that was used is as good as its successor, which it makes good no more, within
    /// the leeway or with the same `Idempotency-Key`: the answer was lost on its way.
    mutating func family(
        of token: String, client: String, key: String? = nil, at now: Duration
    ) throws(IdentityFailure) -> (name: String, family: Family) {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let family = families[String(parts[0])], family.client == client
        else { throw .badGrant }
        let end = SHA256.hash(String(parts[1]))
        if let former = family.former, ConstantTime.equal(end, former.end),
            now < former.until || (takesRepeats && key != nil && key == former.key)
        {
            families[String(parts[0])]?.current = former.end
            return (String(parts[0]), family)
        }
        guard ConstantTime.equal(end, family.current) else {
            families[String(parts[0])] = nil
            throw .badGrant
        }
        return (String(parts[0]), family)
    }

    /// RFC 7636, 4.1.
    static func isVerifier(_ text: String) -> Bool {
        (43...128).contains(text.utf8.count) && text.utf8.allSatisfy(isUnreserved)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

/// Seconds since 1970, for the times in tokens.
enum WallClock {
    static var seconds: Int { time(nil) }
}
