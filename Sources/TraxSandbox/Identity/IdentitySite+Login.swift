internal import HTTPServer
internal import JSON

/// What a browser sees of the identity provider.
extension IdentitySite {
    private static let realm = "identity"

    func authorize() -> HTTPServerReply {
        guard let asked = HTTPServerRequest.single(request.query) else {
            return refusal("A parameter comes twice.")
        }
        let client = asked["client_id"] ?? ""
        let address = asked["redirect_uri"] ?? ""
        // Before these two are known to belong together, nothing may be sent anywhere.
        guard state.read({ $0.identity.allows(address, for: client) }) else {
            return refusal("The application or its return address is not registered.")
        }
        let scopes = (asked["scope"] ?? "").split(separator: " ").map(String.init)
        let question = SignInQuestion(
            client: client, redirectURI: address, scopes: scopes.filter(Self.scopes.contains),
            state: asked["state"], nonce: asked["nonce"], challenge: asked["code_challenge"] ?? "",
            hint: asked["login_hint"] ?? "")
        if let error = Self.problem(asked, scopes) { return back(question, [("error", error)]) }
        let person = state.read { $0.browsers.person(browser.id, in: Self.realm) }
        let prompt = asked["prompt"]?.split(separator: " ") ?? []
        if let person, !prompt.contains("login"), !prompt.contains("select_account") {
            return give(question, to: person)
        }
        if prompt.contains("none") { return back(question, [("error", "login_required")]) }
        let ticket = Token.make()
        let now = state.now
        state.read { $0.browsers.ask(.signIn(question), browser.id, ticket: ticket, at: now) }
        return .see(
            "/ui/login?ticket=\(ticket)", headers: browser.isNew ? [Browser.header(browser.id)] : []
        )
    }

    private static func problem(_ asked: [String: String], _ scopes: [String]) -> String? {
        if asked["request"] != nil { return "request_not_supported" }
        if asked["response_type"] != "code" { return "unsupported_response_type" }
        if let mode = asked["response_mode"], mode != "query" { return "invalid_request" }
        let challenge = asked["code_challenge"] ?? ""
        guard asked["code_challenge_method"] == "S256", challenge.utf8.count == 43,
            Identity.isVerifier(challenge)
        else { return "invalid_request" }
        return scopes.contains("openid") ? nil : "invalid_scope"
    }

    func loginPage(_ problem: String? = nil) -> HTTPServerReply {
        let pairs = problem == nil ? request.query : request.form
        guard let (question, ticket) = question(pairs) else { return stale() }
        let note = problem.map { "<p><b>\(HTML.escape($0))</b></p>" } ?? ""
        return Page(
            title: "Sign in to TRaX",
            body: """
                <p>This is the sandbox: the name of an account is enough.
                <code>\(HTML.escape(question.client))</code> wants to know who you are.</p>
                \(note)
                <form method="post" action="/ui/login">
                \(HTML.hidden("ticket", ticket))
                <label>Account
                <input name="account" value="\(HTML.escape(question.hint))" maxlength="128"></label>
                <button type="submit" name="decision" value="allow">Sign in</button>
                <button type="submit" name="decision" value="deny">Cancel</button>
                </form>
                """, status: problem == nil ? 200 : 400, hasForm: true
        ).reply
    }

    func signIn() -> HTTPServerReply {
        let form = request.form
        guard let (question, ticket) = question(form) else { return stale() }
        if form.first(where: { $0.name == "decision" })?.value == "deny" {
            state.read { $0.browsers.close(ticket) }
            return back(question, [("error", "access_denied")])
        }
        let account = form.first { $0.name == "account" }?.value ?? ""
        guard state.read({ $0.accounts[account] != nil }) else {
            return loginPage("There is no such account.")
        }
        let renamed = Token.make()
        state.read { state in
            state.browsers.close(ticket)
            state.browsers.signIn(account, in: Self.realm, browser.id, renamed: renamed)
        }
        var reply = give(question, to: account)
        reply.headers.append(Browser.header(renamed))
        return reply
    }

    /// Ends the browser's session, and that of the id token that is shown.
    func endSession(_ pairs: [(name: String, value: String)]) -> HTTPServerReply {
        guard let asked = HTTPServerRequest.single(pairs) else {
            return refusal("A parameter comes twice.")
        }
        var client = asked["client_id"]
        if let hint = asked["id_token_hint"] {
            // One that has run out still says which session is meant.
            guard let claims = state.signer.claims(of: hint, for: .identity),
                claims["aud"]?.stringValue == client ?? claims["aud"]?.stringValue
            else { return refusal("The id token is not of this provider and client.") }
            client = claims["aud"]?.stringValue
            let session = claims["sid"]?.stringValue
            state.read { state in
                state.identity.families.end { $0.session == session }
            }
        }
        state.read { $0.browsers.signOut(browser.id, of: Self.realm) }
        guard let address = asked["post_logout_redirect_uri"] else {
            return Page(title: "Signed out", body: "<p>You can close this window.</p>").reply
        }
        guard let client, state.read({ $0.identity.allows(address, for: client) }) else {
            return refusal("The address to return to is not registered.")
        }
        let pairs = asked["state"].map { [("state", $0)] } ?? []
        return .see(Self.address(address, adding: pairs))
    }

    // MARK: - Inner means

    private func give(_ question: SignInQuestion, to account: String) -> HTTPServerReply {
        let code = Token.make()
        let now = state.now
        state.read { state in
            state.identity.add(
                Identity.Code(
                    account: account, client: question.client, redirectURI: question.redirectURI,
                    challenge: question.challenge, scopes: question.scopes, nonce: question.nonce,
                    expires: now + Identity.codeLifetime), code, at: now)
        }
        return back(question, [("code", code)])
    }

    /// To the client, with its state and with who answers (RFC 9207).
    private func back(
        _ question: SignInQuestion, _ pairs: [(name: String, value: String)]
    ) -> HTTPServerReply {
        var all = pairs
        if let state = question.state { all.append(("state", state)) }
        all.append(("iss", state.read { $0.origin }))
        return .see(Self.address(question.redirectURI, adding: all))
    }

    private static func address(
        _ base: String, adding pairs: [(name: String, value: String)]
    ) -> String {
        guard !pairs.isEmpty else { return base }
        let query = pairs.map { "\($0.name)=\(PercentEncoding.encode($0.value))" }
        return base + (base.contains("?") ? "&" : "?") + query.joined(separator: "&")
    }

    private func question(
        _ pairs: [(name: String, value: String)]
    ) -> (SignInQuestion, ticket: String)? {
        guard let ticket = pairs.first(where: { $0.name == "ticket" })?.value else { return nil }
        let now = state.now
        let question = state.read { $0.browsers.question(ticket, browser.id, at: now) }
        guard case .signIn(let question)? = question else { return nil }
        return (question, ticket)
    }

    private func stale() -> HTTPServerReply {
        refusal("This question was answered, is too old, or was put to another browser.")
    }

    private func refusal(_ text: String) -> HTTPServerReply {
        Page(title: "Signing in cannot go on", body: "<p>\(HTML.escape(text))</p>", status: 400)
            .reply
    }
}
