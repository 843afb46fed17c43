import ConnectionEvents
import Crypto
import HTTPClient
import HTTPServer
import JSON
import RelayCore
import Testing
import Threading

@testable import SignIn

/// A provider on loopback that does what a test tells it, and remembers what it was asked.
final class FakeProvider: Sendable {
    struct Script: Sendable {
        /// Members of the discovery document that are other than usual; null leaves one out.
        var document: [String: JSONValue] = [:]
        /// Claims of the id token that are other than usual.
        var claims: [String: JSONValue] = [:]
        /// The header of the id token.
        var header: [String: JSONValue] = [:]
        /// Takes the place of the id token.
        var identity: String?
        /// Takes the place of the JWK set.
        var keys: JSONValue?
        /// Takes the place of the token endpoint's answer.
        var token: HTTPServerReply?
        /// How long the token endpoint thinks.
        var delay = Duration.zero
        var lifetime = 3600
        var nonce: String?
        var asked: [[String: String]] = []
        var paths: [String] = []
        var number = 0
    }

    let script = Lock(Script())
    /// One for all tests: a key takes a tenth of a second to make.
    private static let key = Result { try RSAKey() }
    let key: RSAKey
    private let server: Lock<HTTPServer?> = Lock(nil)
    private let port = Lock<UInt16>(0)

    init() throws {
        key = try Self.key.get()
        let made = try HTTPServer(host: "127.0.0.1", port: 0) { [weak self] request in
            self?.answer(request) ?? HTTPServerReply(status: 500)
        }
        port.withLock { $0 = made.port }
        server.withLock { $0 = made }
    }

    deinit { server.withLock { $0 }?.stop() }

    var url: String { "http://127.0.0.1:\(port.withLock { $0 })" }
    var issuer: Issuer {
        guard let issuer = Issuer(url) else { preconditionFailure("loopback is an issuer") }
        return issuer
    }
    var refreshes: Int {
        script.withLock { $0.asked.count { $0["grant_type"] == "refresh_token" } }
    }

    func stop() { server.withLock { $0 }?.stop() }

    static let manners = ProviderManners(userAgent: "test", timeout: .seconds(10))

    private func answer(_ request: HTTPServerRequest) -> HTTPServerReply {
        script.withLock { script in
            script.paths.append(request.path)
            switch request.path {
            case "/.well-known/openid-configuration": return document(script)
            case "/keys": return Self.json(script.keys ?? keys)
            case "/token":
                var form: [String: String] = [:]
                for (name, value) in request.form { form[name] = value }
                script.asked.append(form)
                script.number += 1
                let reply = script.token ?? tokens(script)
                return script.delay > .zero ? reply.delayed(by: script.delay) : reply
            case "/revoke", "/end": return HTTPServerReply(status: 200)
            case "/me": return Self.json(["sub": "person", "name": "A Person"])
            default: return HTTPServerReply(status: 404)
            }
        }
    }

    private func document(_ script: Script) -> HTTPServerReply {
        var object: JSONObject = [
            "issuer": .string(url), "authorization_endpoint": .string(url + "/authorize"),
            "token_endpoint": .string(url + "/token"), "jwks_uri": .string(url + "/keys"),
            "revocation_endpoint": .string(url + "/revoke"),
            "userinfo_endpoint": .string(url + "/me"),
            "end_session_endpoint": .string(url + "/end"),
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        ]
        for (name, value) in script.document { object[name] = value.isNull ? nil : value }
        return Self.json(.object(object))
    }

    private var keys: JSONValue {
        [
            "keys": [
                [
                    "kty": "RSA", "use": "sig", "alg": "RS256", "kid": "k1",
                    "n": .string(Base64.encode(key.modulus)),
                    "e": .string(Base64.encode(key.exponent)),
                ]
            ]
        ]
    }

    private func tokens(_ script: Script) -> HTTPServerReply {
        let now = WallClock.now().milliseconds / 1000
        var claims: JSONObject = [
            "iss": .string(url), "aud": "relay", "sub": "person", "iat": JSONValue(now),
            "exp": JSONValue(now + 3600),
        ]
        claims["nonce"] = script.nonce.map { .string($0) }
        for (name, value) in script.claims { claims[name] = value.isNull ? nil : value }
        var header: JSONObject = ["alg": "RS256", "kid": "k1"]
        for (name, value) in script.header { header[name] = value.isNull ? nil : value }
        let text =
            Base64.encode(JSONValue.object(header).serialized()) + "."
            + Base64.encode(JSONValue.object(claims).serialized())
        let signature = (try? key.sign(Array(text.utf8))) ?? []
        return Self.json([
            "access_token": .string("access-\(script.number)"), "token_type": "Bearer",
            "expires_in": JSONValue(script.lifetime),
            "refresh_token": .string("refresh-\(script.number)"),
            "id_token": .string(script.identity ?? text + "." + Base64.encode(signature)),
        ])
    }

    static func json(_ value: JSONValue, status: Int = 200) -> HTTPServerReply {
        .text(value.text, status: status, contentType: "application/json")
    }

    static func refusal(_ error: String, status: Int = 400) -> HTTPServerReply {
        json(["error": .string(error)], status: status)
    }

    /// Begins a sign-in, plays the browser's last step, and waits for the end.
    func signIn(
        _ change: [String: String?] = [:], wait: Duration = .seconds(10)
    ) throws -> SignedInPerson {
        let flow = try SignInFlow(issuer: issuer, clientID: "relay", manners: Self.manners)
        let address = Address(flow.address)
        script.withLock { $0.nonce = $0.nonce ?? address.parameters["nonce"] }
        let thread = OSThread(name: "browser") { [url] in
            _ = try? Browser.come(back: address, issuer: url, change)
        }
        defer {
            flow.end(isKept: true)
            thread.join()
        }
        return try flow.person(within: wait)
    }
}

/// An address taken apart.
struct Address {
    let base: String
    let parameters: [String: String]

    init(_ text: String) {
        let parts = text.split(separator: "?", maxSplits: 1).map(String.init)
        base = parts[0]
        var found: [String: String] = [:]
        for pair in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1).map(String.init)
            found[halves[0]] = PercentEncoding.decode(halves.count > 1 ? halves[1] : "")
        }
        parameters = found
    }
}

/// The last step of a browser: back to the relay.
enum Browser {
    static func come(
        back address: Address, issuer: String, _ change: [String: String?] = [:]
    ) throws -> HTTPResponse {
        var pairs: [String: String?] = [
            "code": "c0de", "state": address.parameters["state"], "iss": issuer,
        ]
        for (name, value) in change { pairs[name] = value }
        let query = pairs.compactMap { name, value in
            value.map { "\(name)=\(PercentEncoding.encode($0))" }
        }.joined(separator: "&")
        return try get("\(address.parameters["redirect_uri"] ?? "")?\(query)")
    }

    static func get(_ url: String, host: String? = nil) throws -> HTTPResponse {
        try HTTPClient().perform(
            HTTPRequest(
                .get, url: url, headers: host.map { [("Host", $0)] } ?? [], timeout: .seconds(10)))
    }
}
