internal import Crypto
internal import HTTPServer
internal import Threading

/// Waits on 127.0.0.1, at a port that the system chose, for the browser that comes back from the
/// provider (RFC 8252, 7.3).
///
/// Whatever is no answer to the question gets a page that says so and ends nothing. The browser is
/// answered when it is known whether the sign-in went well, on a page without scripts.
final class LoopbackReceiver: Sendable {
    /// Where the provider sends the browser.
    static let path = "/callback"

    private struct State {
        var attempt: SignInAttempt?
        var result: Result<Secret, SignInError>?
        var browser: PendingReply?
    }

    private let state: Lock<State>
    private let server: HTTPServer

    /// Listens; answers nothing until ``await(_:)``.
    init() throws(SignInError) {
        let state = Lock(State())
        let port = Lock<UInt16>(0)
        self.state = state
        do throws(HTTPServerError) {
            server = try HTTPServer(
                host: "127.0.0.1", port: 0,
                limits: HTTPServerLimits(
                    body: 1024, head: 16 << 10, connections: 16, timeout: .seconds(60))
            ) { request in
                Self.answer(request, port: port.withLock { $0 }, state)
            }
        } catch {
            throw SignInError(.unavailable, code: error.code, reason: error.reason)
        }
        port.withLock { [server] in $0 = server.port }
    }

    /// The address that is given to the provider.
    var redirect: String { "http://127.0.0.1:\(server.port)\(Self.path)" }

    /// From now on answers to this question are taken.
    func expect(_ attempt: SignInAttempt) { state.withLock { $0.attempt = attempt } }

    /// Waits for the answer.
    ///
    /// - Throws: what the provider said; `declined` when the time is over first.
    func wait(_ limit: Duration) throws(SignInError) -> Secret {
        guard let result = state.wait(timeout: limit, until: { $0.result }) else {
            throw SignInError(
                .declined, code: "timed_out",
                reason: "nobody signed in within \(limit.components.seconds) s")
        }
        return try result.get()
    }

    /// Tells the browser how it ended, and stops.
    func end(_ page: SignInPage) {
        let browser = state.withLock { state in
            state.attempt = nil
            defer { state.browser = nil }
            return state.browser
        }
        if let browser {
            browser.send(page.reply)
            // The page is on its way within a millisecond; a stop cuts what is not sent yet.
            _ = state.wait(timeout: .milliseconds(300)) { _ -> Bool? in nil }
        }
        server.stop()
    }

    private static func answer(
        _ request: HTTPServerRequest, port: UInt16, _ state: Lock<State>
    ) -> HTTPServerReply {
        guard request.path == path else { return SignInPage.nothing.reply(404) }
        guard request.method == "GET", !request.isHead else { return .methodNotAllowed("GET") }
        // A name that somebody points at this machine is not our address.
        guard request.header("Host") == "127.0.0.1:\(port)" else {
            return SignInPage.foreign.reply(400)
        }
        return state.signal { state in
            guard let attempt = state.attempt, state.result == nil else {
                return SignInPage.foreign.reply(400)
            }
            switch attempt.read(request.query) {
            case .foreign: return SignInPage.foreign.reply(400)
            case .code(let code): state.result = .success(code)
            case .refused(let error): state.result = .failure(error)
            }
            let browser = PendingReply()
            state.browser = browser
            return .later(browser)
        }
    }
}

/// What the browser shows at the end.
struct SignInPage {
    let title: String
    let text: String

    static let done = SignInPage(
        title: "Signed in", text: "trax-relay goes on by itself. You can close this window.")
    static let failed = SignInPage(
        title: "Not signed in",
        text: "trax-relay says why, where it was started. You can close this window.")
    static let foreign = SignInPage(
        title: "Not an answer",
        text: "This is no answer to what trax-relay asked. Nothing was done with it.")
    static let nothing = SignInPage(title: "Nothing here", text: "There is no such page.")

    var reply: HTTPServerReply { reply(200) }

    func reply(_ status: Int) -> HTTPServerReply {
        let page = """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><title>\(title)</title></head>
            <body><h1>\(title)</h1><p>\(text)</p></body></html>

            """
        var reply = HTTPServerReply.text(
            page, status: status, contentType: "text/html; charset=utf-8")
        reply.headers += [
            ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"),
            ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        return reply
    }
}
