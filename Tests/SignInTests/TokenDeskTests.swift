import ConnectionEvents
import Crypto
import HTTPServer
import JSON
import RelayCore
import Testing
import Threading

@testable import SignIn

/// One flight per account, durable before use, and no fault of the provider's a person's.
@Suite struct TokenDeskTests {
    private let provider: FakeProvider
    private let vault = FakeVault()
    private let account: AccountID

    init() throws {
        provider = try FakeProvider()
        account = try #require(AccountID("a"))
        put(refresh: "first")
    }

    private func put(refresh: String, access: String? = nil, life: Duration = .zero) {
        var session = PersonSession(
            issuer: provider.issuer, clientID: "relay", refreshToken: Secret(refresh))
        let now = WallClock.now()
        session.accessToken = access.map { Secret($0) }
        session.obtainedAt = now
        session.expiresAt = now.adding(life)
        vault.state.withLock { $0.sessions[account] = session }
    }

    private func desk(_ holder: String = "one", note: Lock<[String]>? = nil) -> TokenDesk {
        TokenDesk(vault: vault, manners: FakeProvider.manners, holder: holder) { text in
            note?.withLock { $0.append(text) }
        }
    }

    @Test func `a hundred who ask at once make one request`() throws {
        provider.script.withLock { $0.delay = .milliseconds(100) }
        let desk = desk()
        let tokens = Lock<[String]>([])
        for _ in 0..<100 {
            desk.ask(for: account, rejected: nil) { result in
                let text = (try? result.get().token.reveal()) ?? "none"
                tokens.signal { $0.append(text) }
            }
        }
        _ = tokens.wait(timeout: .seconds(20)) { $0.count == 100 ? true : nil }
        #expect(tokens.withLock { $0 } == Array(repeating: "access-1", count: 100))
        #expect(provider.refreshes == 1)
    }

    @Test func `two processes that ask at once make one request`() throws {
        provider.script.withLock { $0.delay = .milliseconds(200) }
        let desks = (0..<4).map { desk("process \($0)") }
        let tokens = Lock<[String]>([])
        for desk in desks {
            for _ in 0..<10 {
                desk.ask(for: account, rejected: nil) { result in
                    let text = (try? result.get().token.reveal()) ?? "none"
                    tokens.signal { $0.append(text) }
                }
            }
        }
        _ = tokens.wait(timeout: .seconds(20)) { $0.count == 40 ? true : nil }
        #expect(tokens.withLock { $0 } == Array(repeating: "access-1", count: 40))
        #expect(provider.refreshes == 1)
    }

    @Test func `a new refresh token is put away before the access token is given`() throws {
        let order = Lock<[String]>([])
        vault.state.withLock { $0.replacing = { _ in order.withLock { $0.append("kept") } } }
        let desk = desk()
        let done = Lock(false)
        desk.ask(for: account, rejected: nil) { _ in
            order.withLock { $0.append("given") }
            done.signal { $0 = true }
        }
        _ = done.wait(timeout: .seconds(20)) { $0 ? true : nil }
        #expect(order.withLock { $0 } == ["kept", "given"])
        let kept = try #require(vault.session(of: account))
        #expect(kept.refreshToken == Secret("refresh-1"))
        #expect(kept.subject == "person")
    }

    @Test func `what cannot be put away is not given, not forgotten, and not asked for again`()
        throws
    {
        vault.state.withLock { $0.refusals = 1 }
        let desk = desk()
        let failure = try #require(throws: BearerFailure.self) { try desk.bearer(for: account) }
        #expect(failure.kind == .unavailable)
        #expect(failure.code == "journal")
        #expect(try desk.bearer(for: account).token == Secret("access-1"))
        #expect(provider.refreshes == 1)
        #expect(vault.session(of: account)?.refreshToken == Secret("refresh-1"))
    }

    @Test func `a token that is good is given without asking anybody`() throws {
        put(refresh: "first", access: "stored", life: .seconds(3600))
        #expect(try desk().bearer(for: account).token == Secret("stored"))
        #expect(provider.refreshes == 0)
    }

    @Test func `a provider that gives the refused token once more is asked once`() throws {
        put(refresh: "first", access: "stored", life: .seconds(3600))
        provider.script.withLock { script in
            script.token = HTTPServerReply(
                status: 200, headers: [("Content-Type", "application/json")],
                body: Array(
                    #"{"access_token":"stored","token_type":"Bearer","refresh_token":"r"}"#.utf8))
        }
        let bearer = try desk().bearer(for: account, rejected: Secret("stored"))
        #expect(bearer.token == Secret("stored"), "the API has the last word")
        #expect(provider.refreshes == 1)
    }

    @Test func `a token that the API did not take is not given again`() throws {
        put(refresh: "first", access: "stored", life: .seconds(3600))
        let bearer = try desk().bearer(for: account, rejected: Secret("stored"))
        #expect(bearer.token == Secret("access-1"))
    }

    @Test func `near its end a token is renewed, and serves while that cannot be done`() throws {
        put(refresh: "first", access: "old", life: .seconds(3600))
        vault.state.withLock { state in
            state.sessions[account]?.obtainedAt = WallClock.now().adding(.seconds(-3500))
            state.sessions[account]?.expiresAt = WallClock.now().adding(.seconds(100))
        }
        provider.script.withLock { $0.token = FakeProvider.refusal("server_error", status: 503) }
        let desk = desk()
        #expect(try desk.bearer(for: account).token == Secret("old"))
        provider.script.withLock { $0.token = FakeProvider.refusal("invalid_grant") }
        #expect(try self.desk("two").bearer(for: account).token == Secret("old"))
        provider.script.withLock { $0.token = nil }
        #expect(try self.desk("three").bearer(for: account).token != Secret("old"))
    }

    @Test(arguments: [
        (429, "slow_down"), (500, "server_error"), (503, "invalid_grant"), (502, ""),
        (404, "invalid_grant"), (400, "temporarily_unavailable"), (302, "invalid_grant"),
    ]) func `a fault of the provider is never "sign in again"`(
        _ status: Int, _ error: String
    ) throws {
        provider.script.withLock { $0.token = FakeProvider.refusal(error, status: status) }
        let failure = try #require(throws: BearerFailure.self) { try desk().bearer(for: account) }
        #expect(failure.kind == .unavailable)
    }

    @Test func `garbage, and a provider that is gone, are never "sign in again"`() throws {
        for reply in [
            HTTPServerReply.text("<html>"), .text("{}"), FakeProvider.json(["token_type": "mac"]),
            .text("nope", status: 400), FakeProvider.json(["error": 7], status: 400),
        ] {
            provider.script.withLock { $0.token = reply }
            let failure = try #require(throws: BearerFailure.self) {
                try desk().bearer(for: account)
            }
            #expect(failure.kind == .unavailable)
        }
        provider.stop()
        let failure = try #require(throws: BearerFailure.self) { try desk().bearer(for: account) }
        #expect(failure.kind == .unavailable)
    }

    @Test func `a client that is set up wrongly is an operator's matter`() throws {
        provider.script.withLock { $0.token = FakeProvider.refusal("invalid_client", status: 401) }
        let failure = try #require(throws: BearerFailure.self) { try desk().bearer(for: account) }
        #expect(failure.kind == .unavailable)
        #expect(failure.code == "sign_in_invalid")
    }

    @Test func `a grant that is refused is sign in again, once the vault has been read anew`()
        throws
    {
        provider.script.withLock { $0.token = FakeProvider.refusal("invalid_grant") }
        let failure = try #require(throws: BearerFailure.self) { try desk().bearer(for: account) }
        #expect(failure.kind == .signInAgain)
        #expect(failure.code == "invalid_grant")
    }

    @Test func `another process was faster than the provider's refusal`() throws {
        let (vault, account, issuer) = (vault, account, provider.issuer)
        provider.script.withLock {
            $0.token = FakeProvider.refusal("invalid_grant")
            $0.delay = .milliseconds(200)
        }
        let provider = provider
        let other = OSThread(name: "other") {
            while provider.refreshes == 0 {
                _ = Lock(0).wait(timeout: .milliseconds(5)) { _ in
                    nil as Bool?
                }
            }
            var session = PersonSession(
                issuer: issuer, clientID: "relay", refreshToken: Secret("second"))
            session.accessToken = Secret("theirs")
            session.obtainedAt = WallClock.now()
            session.expiresAt = WallClock.now().adding(.seconds(3600))
            vault.state.withLock { $0.sessions[account] = session }
        }
        #expect(try desk().bearer(for: account).token == Secret("theirs"))
        other.join()
    }

    @Test func `a provider that is away is not knocked at by every account`() throws {
        provider.script.withLock { $0.token = FakeProvider.refusal("server_error", status: 503) }
        let notes = Lock<[String]>([])
        let desk = desk(note: notes)
        for number in 0..<20 {
            let id = try #require(AccountID("a\(number)"))
            vault.state.withLock { $0.sessions[id] = $0.sessions[account] }
            _ = try? desk.bearer(for: id)
        }
        #expect(provider.refreshes < 5)
        #expect(notes.withLock { $0.count } == 1)
        #expect(desk.outcomes["unavailable"] == 20)
    }

    @Test func `another person's tokens are not taken`() throws {
        vault.state.withLock { $0.sessions[account]?.subject = "somebody" }
        let failure = try #require(throws: BearerFailure.self) { try desk().bearer(for: account) }
        #expect(failure.kind == .unavailable)
        #expect(vault.state.withLock { $0.replaced } == 0)
    }

    @Test func `a refresh token that is not renewed stays`() throws {
        provider.script.withLock {
            $0.token = FakeProvider.json(["access_token": "x", "token_type": "Bearer"])
        }
        #expect(try desk().bearer(for: account).token == Secret("x"))
        #expect(vault.session(of: account)?.refreshToken == Secret("first"))
    }

    @Test func `nothing of a token is in an error or a note`() throws {
        put(refresh: "s3cret-refresh")
        provider.script.withLock {
            $0.token = FakeProvider.json(
                ["error": "invalid_client", "error_description": "s3cret-refresh"], status: 401)
        }
        let notes = Lock<[String]>([])
        let failure = try #require(throws: BearerFailure.self) {
            try desk(note: notes).bearer(for: account)
        }
        let said = "\(failure) \(notes.withLock { $0 })"
        #expect(!said.contains("s3cret"))
    }

    @Test func `a flight that is under way when the desk closes is brought home`() throws {
        provider.script.withLock { $0.delay = .milliseconds(300) }
        let desk = desk()
        desk.ask(for: account, rejected: nil) { _ in }
        while provider.refreshes == 0 {
            _ = Lock(0).wait(timeout: .milliseconds(5)) { _ in nil as Bool? }
        }
        desk.close(within: .seconds(20))
        #expect(vault.session(of: account)?.refreshToken == Secret("refresh-1"))
    }

    @Test func `what could not be put away is tried once more at the end`() throws {
        vault.state.withLock { $0.refusals = 1 }
        let desk = desk()
        _ = try? desk.bearer(for: account)
        #expect(vault.session(of: account)?.refreshToken == Secret("first"))
        desk.close(within: .seconds(20))
        #expect(vault.session(of: account)?.refreshToken == Secret("refresh-1"))
    }

    @Test func `a client that is set up wrongly keeps no other one waiting`() throws {
        provider.script.withLock { $0.token = FakeProvider.refusal("invalid_client", status: 401) }
        let desk = desk()
        for _ in 0..<3 { _ = try? desk.bearer(for: account) }
        #expect(provider.refreshes == 3)
        provider.script.withLock { $0.token = nil }
        #expect(try desk.bearer(for: account).token == Secret("access-4"))
    }

    @Test func `a desk that closes leaves nobody waiting`() throws {
        provider.script.withLock { $0.delay = .seconds(1) }
        let desk = desk()
        let ended = Lock(false)
        desk.ask(for: account, rejected: nil) { _ in ended.signal { $0 = true } }
        desk.close(within: .seconds(1))
        #expect(ended.wait(timeout: .seconds(10)) { $0 ? true : nil } == true)
        let failure = try #require(throws: BearerFailure.self) {
            try desk.bearer(for: account, rejected: Secret("x"))
        }
        #expect(failure.code == "sign_in_busy")
    }
}
