internal import HTTPServer
internal import JSON

/// What a platform asks a person: whether trax-connect may have this.
struct ConsentQuestion: Sendable {
    let platform: Platform
    let redirectURI: String
    let scopes: [String]
    let state: String
    let challenge: String?

    /// The way back, with pairs that are encoded here.
    func back(_ pairs: [(name: String, value: String)]) -> String {
        let all = pairs + [("state", state)]
        return redirectURI + "?"
            + all.map { "\($0.name)=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
    }
}

/// A platform's own pages under `/platforms/{platform}`: signing in, and the consent screen.
struct PlatformSite {
    let request: HTTPServerRequest
    let state: SharedState
    let platform: Platform
    private let browser: Browser

    /// Nil when there is no such platform.
    init?(_ request: HTTPServerRequest, _ state: SharedState, platform: String) {
        guard let platform = Platform.named(platform) else { return nil }
        self.request = request
        self.state = state
        self.platform = platform
        browser = Browser(request)
    }

    /// The reply to `page`, the path's last segment.
    func answer(_ page: String) -> HTTPServerReply {
        switch (page, request.method) {
        case ("authorize", "GET"): request.isHead ? .methodNotAllowed("GET") : authorize()
        case ("consent", "GET"): consent()
        case ("signin", "POST"): signIn()
        case ("decision", "POST"): decide()
        case ("token", "POST"): token()
        case ("authorize", _), ("consent", _): .methodNotAllowed("GET")
        case ("signin", _), ("decision", _), ("token", _): .methodNotAllowed("POST")
        default: refusal("There is no such page.", status: 404)
        }
    }

    // MARK: - Being asked

    private func authorize() -> HTTPServerReply {
        if platform.refusesWebViews, Self.isWebView(request.header("User-Agent") ?? "") {
            return Page(
                title: "Access blocked",
                body: "<p>Error 403: <code>disallowed_useragent</code></p>"
                    + "<p>This page does not open in a web view inside an app. "
                    + "Open it in the system's browser.</p>",
                status: 403
            ).reply
        }
        guard let asked = HTTPServerRequest.single(request.query) else {
            return refusal("A parameter comes twice.")
        }
        let callback = state.read { $0.callback(of: platform.id) }
        // Before these two are known to be ours, nothing may be sent anywhere.
        guard asked["client_id"] == SandboxState.connectClient, asked["redirect_uri"] == callback
        else { return refusal("The application or its return address is not registered.") }
        let question = ConsentQuestion(
            platform: platform, redirectURI: callback,
            scopes: (asked["scope"] ?? "").split(separator: " ").map(String.init),
            state: asked["state"] ?? "", challenge: asked["code_challenge"])
        if asked["response_type"] != "code" {
            return .see(question.back([("error", "unsupported_response_type")]))
        }
        let hasGoodChallenge =
            asked["code_challenge_method"] == "S256"
            && (asked["code_challenge"] ?? "").utf8.count == 43
        if platform.usesPKCE || asked["code_challenge"] != nil, !hasGoodChallenge {
            return .see(question.back([("error", "invalid_request")]))
        }
        let ticket = Token.make()
        let now = state.now
        state.read { $0.browsers.ask(.consent(question), browser.id, ticket: ticket, at: now) }
        let cookie = browser.isNew ? [Browser.header(browser.id)] : []
        return .see("/platforms/\(platform.id)/consent?ticket=\(ticket)", headers: cookie)
    }

    private func consent() -> HTTPServerReply {
        guard let (question, ticket) = question(request.query) else { return stale() }
        let person = state.read { $0.browsers.person(browser.id, in: platform.id) }
        let name = HTML.escape(platform.label)
        guard let person else {
            return Page(
                title: "Sign in to \(platform.label)",
                body: """
                    <p>This is the sandbox's \(name); any name will do.</p>
                    <form method="post" action="/platforms/\(platform.id)/signin">
                    \(HTML.hidden("ticket", ticket))
                    <label>Name
                    <input name="person" value="streamer" maxlength="64" required></label>
                    <button type="submit">Sign in</button>
                    </form>
                    """, hasForm: true
            ).reply
        }
        let boxes = question.scopes.map { scope in
            let scope = HTML.escape(scope)
            return #"<label><input type="checkbox" name="scope" value="\#(scope)" checked> "#
                + "<code>\(scope)</code></label>"
        }
        return Page(
            title: "Allow TRaX to use \(platform.label)?",
            body: """
                <p>Signed in as <b>\(HTML.escape(person))</b>. TRaX asks for:</p>
                <form method="post" action="/platforms/\(platform.id)/decision">
                \(HTML.hidden("ticket", ticket))
                \(boxes.joined(separator: "\n"))
                <button type="submit" name="decision" value="allow">Allow what is checked</button>
                <button type="submit" name="decision" value="deny">Deny</button>
                <button type="submit" name="decision" value="wait">Decide later</button>
                <button type="submit" name="decision" value="switch">Use another account</button>
                </form>
                """, hasForm: true
        ).reply
    }

    // MARK: - Answering

    private func signIn() -> HTTPServerReply {
        let form = request.form
        guard let (_, ticket) = question(form) else { return stale() }
        let person = form.first { $0.name == "person" }?.value ?? ""
        guard (1...64).contains(person.unicodeScalars.count) else {
            return refusal("A name has 1 to 64 characters.")
        }
        let renamed = Token.make()
        state.read {
            $0.browsers.signIn(person, in: platform.id, browser.id, renamed: renamed)
        }
        return .see(
            "/platforms/\(platform.id)/consent?ticket=\(ticket)",
            headers: [Browser.header(renamed)])
    }

    private func decide() -> HTTPServerReply {
        let form = request.form
        guard let (question, ticket) = question(form) else { return stale() }
        let again = "/platforms/\(platform.id)/consent?ticket=\(ticket)"
        let person = state.read { $0.browsers.person(browser.id, in: platform.id) }
        guard let person else { return .see(again) }
        switch form.first(where: { $0.name == "decision" })?.value {
        case "allow":
            let checked = form.filter { $0.name == "scope" }.map(\.value)
            return .see(allow(question, ticket, checked, person))
        case "deny":
            state.read { $0.browsers.close(ticket) }
            return .see(question.back([("error", "access_denied")]))
        case "switch":
            state.read { $0.browsers.signOut(browser.id, of: platform.id) }
            return .see(again)
        case "wait":
            return Page(
                title: "Nothing is decided yet",
                body: "<p>TRaX waits for a while.</p>"
                    + #"<p><a class="control" href="\#(HTML.escape(again))">"#
                    + "Back to the question</a>"
                    + "</p>"
            ).reply
        default: return refusal("No decision was sent.")
        }
    }

    private func allow(
        _ question: ConsentQuestion, _ ticket: String, _ checked: [String], _ person: String
    ) -> String {
        let code = Token.make()
        let now = state.now
        let granted = question.scopes.filter {
            checked.contains($0) && platform.scopes.contains($0)
        }
        state.read { state in
            state.browsers.close(ticket)
            state.links.add(
                PlatformCode(
                    platform: platform.id, redirectURI: question.redirectURI,
                    challenge: question.challenge, state: question.state, granted: granted,
                    person: person, expires: now + Links.codeLifetime), code, at: now)
        }
        return question.back([("code", code)])
    }

    /// The platform's token endpoint, for whoever has got hold of a code.
    private func token() -> HTTPServerReply {
        let form = HTTPServerRequest.single(request.form) ?? [:]
        let now = state.now
        guard form["grant_type"] == "authorization_code",
            form["client_id"] == SandboxState.connectClient,
            form["client_secret"] == state.read({ $0.deployment.connectSecret }),
            let code = form["code"]
        else { return ControlAPI.json(["error": "invalid_client"], status: 401) }
        let grant = state.read {
            $0.redeem(
                code, platform: platform.id, redirectURI: form["redirect_uri"] ?? "",
                verifier: form["code_verifier"], state: nil, at: now)
        }
        guard let grant else { return ControlAPI.json(["error": "invalid_grant"], status: 400) }
        return ControlAPI.json([
            "access_token": .string(Token.make()), "token_type": "Bearer",
            "scope": .string(grant.granted.joined(separator: " ")),
        ])
    }

    // MARK: - Inner means

    private func question(
        _ pairs: [(name: String, value: String)]
    ) -> (ConsentQuestion, ticket: String)? {
        guard let ticket = pairs.first(where: { $0.name == "ticket" })?.value else { return nil }
        let now = state.now
        let question = state.read { $0.browsers.question(ticket, browser.id, at: now) }
        guard case .consent(let question)? = question, question.platform.id == platform.id else {
            return nil
        }
        return (question, ticket)
    }

    private func stale() -> HTTPServerReply {
        refusal("This question was answered, is too old, or was put to another browser.")
    }

    private func refusal(_ text: String, status: Int = 400) -> HTTPServerReply {
        Page(
            title: "\(platform.label) cannot go on", body: "<p>\(HTML.escape(text))</p>",
            status: status
        ).reply
    }

    /// Android's web view says `wv`; iOS's leaves Safari's name out.
    static func isWebView(_ agent: String) -> Bool {
        if agent.contains("; wv)") || agent.contains("WebView") { return true }
        let isApple = ["iPhone", "iPad", "iPod"].contains { agent.contains($0) }
        return isApple && agent.contains("AppleWebKit") && !agent.contains("Safari/")
    }
}
