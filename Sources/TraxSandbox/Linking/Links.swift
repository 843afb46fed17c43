internal import Crypto

/// One asking for a link, from `POST /v1/connections/link` to its end.
struct LinkAttempt: Sendable {
    let account: String
    let platform: Platform
    let target: ReturnTarget?
    /// What was asked for.
    let scopes: [String]
    /// The row to repair; nil makes one.
    let reconnect: String?
    /// The PKCE verifier, where the platform wants one; it never leaves the server.
    let verifier: String?
    let expires: Duration
    /// Whether its one use is over.
    var isUsed = false
}

/// What a platform remembers of a consent, until its code is redeemed.
struct PlatformCode: Sendable {
    let platform: String
    let redirectURI: String
    let challenge: String?
    /// Of the attempt that asked: trax-connect redeems the code for that one alone.
    let state: String
    let granted: [String]
    /// Who consented, as the platform knows them.
    let person: String
    let expires: Duration
}

/// All links under way.
struct Links: Sendable {
    /// How long an attempt may take.
    var lifetime = Duration.seconds(600)
    /// Whether a row shows the `state` of the attempt that made or last repaired it.
    var showsState = true
    /// By state.
    var attempts: [String: LinkAttempt] = [:]
    /// The states in the order of their making.
    var order: [String] = []
    /// By code.
    var codes: [String: PlatformCode] = [:]

    /// Attempts and codes that are kept at most; the oldest attempts go first.
    static let maximum = 10_000
    static let codeLifetime = Duration.seconds(60)

    mutating func add(_ attempt: LinkAttempt, _ state: String) {
        if order.count >= Self.maximum {
            for old in order.prefix(Self.maximum / 10) { attempts[old] = nil }
            order.removeFirst(Self.maximum / 10)
        }
        attempts[state] = attempt
        order.append(state)
    }

    mutating func add(_ code: PlatformCode, _ text: String, at now: Duration) {
        if codes.count >= Self.maximum { codes = codes.filter { $0.value.expires > now } }
        if codes.count < Self.maximum { codes[text] = code }
    }
}

/// How a callback ended.
struct LinkOutcome: Equatable {
    enum Result: Equatable {
        case connected(connection: String)
        /// A plain word.
        case failed(String)
    }

    let platform: String
    let result: Result
    /// Where the attempt wanted the browser; nil without one, and when the attempt is unknown.
    var target: ReturnTarget?

    /// What is appended to the address that the browser is sent to.
    var pairs: String {
        switch result {
        case .connected: "connected=\(platform)"
        case .failed(let error): "error=\(error)&error_provider=\(platform)"
        }
    }
}

/// Text that nobody can guess.
enum Token {
    /// 32 random bytes in base64url.
    static func make() -> String {
        do throws(CryptoError) {
            return Base64.encode(try Random.bytes(32))
        } catch {
            preconditionFailure("\(error)")
        }
    }

    /// The S256 challenge of a verifier (RFC 7636, 4.2).
    static func challenge(of verifier: String) -> String {
        Base64.encode(SHA256.hash(verifier))
    }
}
