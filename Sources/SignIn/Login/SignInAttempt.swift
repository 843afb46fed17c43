internal import Crypto
internal import HTTPServer
internal import RelayCore

/// One question to a provider, of which one answer is taken.
///
/// Authorization code with PKCE by S256 (RFC 7636), `state` and `nonce` of 256 random bits each,
/// and the answer's issuer checked (RFC 9207).
struct SignInAttempt: Sendable {
    let clientID: String
    let redirect: String
    let state: Secret
    let nonce: Secret
    let verifier: Secret
    private let document: ProviderDocument

    /// What is asked for: who it is, and a refresh token.
    static let scope = "openid profile email offline_access"

    init(
        _ document: ProviderDocument, clientID: String, redirect: String
    ) throws(SignInError) {
        self.document = document
        self.clientID = clientID
        self.redirect = redirect
        state = try Self.random()
        nonce = try Self.random()
        verifier = try Self.random()
    }

    /// The address to open in a browser.
    ///
    /// - Parameter hint: who is to sign in; nil leaves it to them.
    func address(hint: String? = nil) -> String {
        let challenge = Base64.encode(SHA256.hash(verifier.revealBytes()))
        var pairs = [
            ("response_type", "code"), ("client_id", clientID), ("redirect_uri", redirect),
            ("scope", Self.scope), ("state", state.reveal()), ("nonce", nonce.reveal()),
            ("code_challenge", challenge), ("code_challenge_method", "S256"),
        ]
        if let hint { pairs.append(("login_hint", hint)) }
        let query = pairs.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
        let mark = document.authorization.contains("?") ? "&" : "?"
        return document.authorization + mark + query
    }

    /// What an answer is.
    enum Answer {
        /// Not an answer to this question: another's, or nobody's.
        case foreign
        /// The code to redeem.
        case code(Secret)
        /// The question is over without a code.
        case refused(SignInError)
    }

    /// Reads the parameters that a browser brought.
    func read(_ query: [(name: String, value: String)]) -> Answer {
        var pairs: [String: String] = [:]
        for (name, value) in query where pairs.updateValue(value, forKey: name) != nil {
            return .foreign
        }
        guard let said = pairs["state"], Secret(said) == state else { return .foreign }
        let issuer = pairs["iss"]
        guard
            issuer.map({ $0.utf8.elementsEqual(document.issuer.text.utf8) })
                ?? !document.namesIssuer
        else {
            return .refused(
                .unfit(
                    "wrong_issuer",
                    "the answer comes from another provider than the one that was asked"))
        }
        if let error = pairs["error"] { return .refused(Self.refusal(error)) }
        guard let code = pairs["code"], !code.isEmpty, code.utf8.count <= 4096 else {
            return .refused(.malformed("the provider's answer has no code"))
        }
        return .code(Secret(code))
    }

    private static func refusal(_ error: String) -> SignInError {
        switch error {
        case "access_denied", "login_required", "interaction_required", "consent_required":
            SignInError(
                .declined, code: error, reason: "the sign-in was cancelled at the provider")
        case "server_error", "temporarily_unavailable":
            SignInError(
                .unavailable, code: error, reason: "the provider could not sign anybody in now")
        default:
            .unfit(
                "authorization_refused",
                "the provider refused the question: see to `clientID` and its registration there")
        }
    }

    private static func random() throws(SignInError) -> Secret {
        do throws(CryptoError) {
            return Secret(Base64.encode(try Random.bytes(32)))
        } catch {
            throw SignInError(.unavailable, code: error.code, reason: error.reason)
        }
    }
}
