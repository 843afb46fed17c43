import Crypto
import HTTPClient
import HTTPServer
import JSON
import RelayCore
import Testing
import Threading

@testable import SignIn

/// Signing in, and the attacks that it is known for.
@Suite struct SignInFlowTests {
    private let provider: FakeProvider

    init() throws { provider = try FakeProvider() }

    private func failure(_ change: [String: String?] = [:]) throws -> SignInError {
        try #require(throws: SignInError.self) { try provider.signIn(change) }
    }

    @Test func `a person signs in with a code, PKCE and a checked id token`() throws {
        let person = try provider.signIn()
        #expect(person.session.subject == "person")
        #expect(person.session.name == "A Person")
        #expect(person.session.refreshToken == Secret("refresh-1"))
        #expect(person.session.accessToken == Secret("access-1"))
        let asked = try #require(provider.script.withLock { $0.asked.first })
        #expect(asked["grant_type"] == "authorization_code")
        #expect(asked["code"] == "c0de")
        #expect(asked["code_verifier"]?.count == 43)
        #expect(asked["redirect_uri"]?.hasPrefix("http://127.0.0.1:") == true)
    }

    @Test func `the address holds the challenge, and never the verifier`() throws {
        let flow = try SignInFlow(
            issuer: provider.issuer, clientID: "relay", manners: FakeProvider.manners)
        defer { flow.end(isKept: false) }
        let address = Address(flow.address)
        #expect(address.base == provider.url + "/authorize")
        #expect(address.parameters["code_challenge_method"] == "S256")
        #expect(address.parameters["code_challenge"]?.count == 43)
        #expect(address.parameters["state"]?.count == 43)
        #expect(address.parameters["nonce"]?.count == 43)
        #expect(address.parameters["scope"]?.contains("offline_access") == true)
        #expect(address.parameters["code_verifier"] == nil)
    }

    @Test func `an answer with another state ends nothing, and the right one still counts`() throws
    {
        let flow = try SignInFlow(
            issuer: provider.issuer, clientID: "relay", manners: FakeProvider.manners)
        let address = Address(flow.address)
        provider.script.withLock { $0.nonce = address.parameters["nonce"] }
        let redirect = try #require(address.parameters["redirect_uri"])
        let state = try #require(address.parameters["state"])
        for query in [
            "", "?code=x", "?code=x&state=other", "?error=access_denied&state=\(state)x",
            "?code=x&state=\(state)&state=\(state)", "?code=a&code=b&state=\(state)",
        ] {
            let answer = try Browser.get(redirect + query)
            #expect(answer.status == 400, "\(query)")
            #expect(!String(decoding: answer.body, as: UTF8.self).contains("<script"))
        }
        let other = redirect.replacing("/callback", with: "/other")
        #expect(try Browser.get(other).status == 404)
        // A name that somebody points at this machine.
        let rebound = "\(redirect)?code=x&state=\(state)&iss=\(provider.url)"
        #expect(try Browser.get(rebound, host: "evil.example").status == 400)
        let thread = OSThread(name: "browser") { [url = provider.url] in
            _ = try? Browser.come(back: address, issuer: url)
        }
        #expect(try flow.person(within: .seconds(10)).session.subject == "person")
        flow.end(isKept: true)
        thread.join()
    }

    @Test func `an answer that names another provider is refused`() throws {
        #expect(try failure(["iss": "https://evil.example"]).code == "wrong_issuer")
        #expect(provider.script.withLock { $0.asked.isEmpty }, "the code went to nobody")
    }

    @Test func `an answer that should name the provider and does not is refused`() throws {
        #expect(try failure(["iss": nil]).code == "wrong_issuer")
        provider.script.withLock {
            $0.document["authorization_response_iss_parameter_supported"] = .null
            $0.asked = []
        }
        let other = try FakeProvider()
        other.script.withLock {
            $0.document["authorization_response_iss_parameter_supported"] = .null
        }
        #expect(try other.signIn(["iss": nil]).session.subject == "person")
    }

    @Test func `a refusal of the person is told as one`() throws {
        let error = try failure(["code": nil, "error": "access_denied"])
        #expect(error.kind == .declined)
        let away = try failure(["code": nil, "error": "temporarily_unavailable"])
        #expect(away.kind == .unavailable)
    }

    @Test func `nobody comes, and the time is over`() throws {
        let flow = try SignInFlow(
            issuer: provider.issuer, clientID: "relay", manners: FakeProvider.manners)
        defer { flow.end(isKept: false) }
        let error = try #require(throws: SignInError.self) {
            try flow.person(within: .milliseconds(50))
        }
        #expect(error.kind == .declined)
        #expect(error.code == "timed_out")
    }

    @Test(arguments: [
        ["nonce": JSONValue.string("other")], ["nonce": .null],
        ["iss": "https://evil.example"], ["aud": "other"], ["aud": ["other", "another"]],
        ["aud": ["relay", "other"]], ["azp": "other"], ["exp": 1], ["exp": .null],
        ["iat": 99_999_999_999], ["iat": .null], ["sub": ""], ["sub": .null], ["sub": 7],
    ]) func `an id token that says something else is refused`(_ claims: [String: JSONValue]) throws
    {
        provider.script.withLock { $0.claims = claims }
        #expect(try failure().code == "bad_id_token")
    }

    @Test func `an id token may name several audiences if it was given to this client`() throws {
        provider.script.withLock { $0.claims = ["aud": ["other", "relay"], "azp": "relay"] }
        #expect(try provider.signIn().session.subject == "person")
    }

    @Test(arguments: ["none", "HS256", "RS384", "rs256"])
    func `the token does not say which algorithm holds`(_ algorithm: String) throws {
        provider.script.withLock { $0.header = ["alg": .string(algorithm)] }
        #expect(try failure().code == "bad_id_token")
    }

    @Test func `an id token without a signature, of another key, or of no key is refused`() throws {
        let claims = Base64.encode(Array(#"{"sub":"person"}"#.utf8))
        let head = Base64.encode(Array(#"{"alg":"none"}"#.utf8))
        for token in ["\(head).\(claims).", "\(head).\(claims)", "x", "..", "a.b.c.d"] {
            provider.script.withLock { $0.identity = token }
            #expect(try failure().code == "bad_id_token", "\(token)")
        }
        provider.script.withLock { $0.identity = nil }
        let other = try RSAKey()
        provider.script.withLock {
            $0.keys = [
                "keys": [
                    [
                        "kty": "RSA", "kid": "k1", "n": .string(Base64.encode(other.modulus)),
                        "e": .string(Base64.encode(other.exponent)),
                    ]
                ]
            ]
        }
        #expect(try failure().code == "bad_id_token")
        provider.script.withLock { $0.keys = ["keys": []] }
        #expect(try failure().code == "unknown_key")
        provider.script.withLock { $0.keys = [:] }
        #expect(try failure().kind == .unavailable)
    }

    @Test func `a key for encryption, of another kind or too short is no key`() throws {
        let number = JSONValue.string(Base64.encode(provider.key.modulus))
        let power = JSONValue.string(Base64.encode(provider.key.exponent))
        provider.script.withLock {
            $0.keys = [
                "keys": [
                    ["kty": "RSA", "kid": "k1", "use": "enc", "n": number, "e": power],
                    ["kty": "EC", "kid": "k1", "n": number, "e": power],
                    ["kty": "RSA", "kid": "k1", "n": "AQAB", "e": power],
                    ["kty": "RSA", "kid": "k1", "n": number, "e": "AA"],
                    ["kty": "RSA", "kid": "k1", "n": "?", "e": power], 7,
                ]
            ]
        }
        #expect(try failure().code == "unknown_key")
    }

    @Test(arguments: [
        ["issuer": JSONValue.string("https://evil.example")],
        ["token_endpoint": .null], ["token_endpoint": "http://evil.example/token"],
        ["jwks_uri": "ftp://127.0.0.1/keys"], ["authorization_endpoint": "/relative"],
        ["code_challenge_methods_supported": ["plain"]],
        ["token_endpoint": "https://user@evil.example/"],
    ]) func `a provider that does not fit is refused before anybody signs in`(
        _ document: [String: JSONValue]
    ) throws {
        provider.script.withLock { $0.document = document }
        let error = try #require(throws: SignInError.self) {
            try SignInFlow(
                issuer: provider.issuer, clientID: "relay", manners: FakeProvider.manners)
        }
        #expect(error.kind == .invalid)
    }

    @Test func `a provider that gives no refresh token is told of`() throws {
        provider.script.withLock {
            $0.token = FakeProvider.json([
                "access_token": "a", "token_type": "bearer", "expires_in": 60,
            ])
        }
        #expect(try failure().code == "no_refresh_token")
    }

    @Test func `an issuer is https, or this machine`() {
        for text in [
            "https://auth.example", "https://auth.example/realm", "http://127.0.0.1:81",
            "http://localhost", "http://[::1]:8",
        ] {
            #expect(Issuer(text) != nil, "\(text)")
        }
        for text in [
            "http://auth.example", "ftp://x", "https://", "https://a@b", "https://a?x",
            "https://a#x",
            "https://a b", "http://127.0.0.1.evil.example", "http://localhost.evil.example", "",
            "http://127.0.0.1@evil.example", "https:/x",
        ] {
            #expect(Issuer(text) == nil, "\(text)")
        }
    }
}
