internal import Crypto
internal import HTTPServer
internal import JSON

/// Linking, from the request for an address to the row.
extension SandboxState {
    /// Where a platform sends its browser back to.
    func callback(of platform: String) -> String { "\(origin)/oauth/\(platform)/callback" }

    /// `POST /v1/connections/link`: the address of the consent screen.
    ///
    /// - Parameters:
    ///   - state: fresh, unguessable.
    ///   - verifier: the same, for a platform with PKCE.
    mutating func beginLink(
        _ request: LinkRequest, of account: String, state: String, verifier: String,
        at now: Duration
    ) throws(APIFailure) -> String {
        if let id = request.reconnect {
            guard let row = accounts[account]?.connections.first(where: { $0.id == id }),
                row.fields["platform"]?.stringValue == request.platform.id
            else {
                throw APIFailure(
                    status: 404, code: "not_found",
                    message: "There is no connection of that id and platform.")
            }
        }
        let attempt = LinkAttempt(
            account: account, platform: request.platform, target: request.target,
            scopes: request.scopes ?? request.platform.scopes, reconnect: request.reconnect,
            verifier: request.platform.usesPKCE ? verifier : nil, expires: now + links.lifetime)
        links.add(attempt, state)
        let encode = { (text: String) in PercentEncoding.encode(text) }
        var url =
            "\(origin)/platforms/\(attempt.platform.id)/authorize?response_type=code"
            + "&client_id=\(Self.connectClient)"
            + "&redirect_uri=\(encode(callback(of: attempt.platform.id)))"
            + "&scope=\(encode(attempt.scopes.joined(separator: " ")))&state=\(encode(state))"
        if let verifier = attempt.verifier {
            url += "&code_challenge=\(Token.challenge(of: verifier))&code_challenge_method=S256"
        }
        return url
    }

    /// The one client that every platform knows.
    static let connectClient = "trax-connect"

    /// A platform's exchange of a code, which is over with the first try, right or wrong.
    ///
    /// - Parameter state: of the attempt that the code is to belong to; nil at the platform's own
    ///   endpoint, which knows no attempts.
    mutating func redeem(
        _ code: String, platform: String, redirectURI: String, verifier: String?, state: String?,
        at now: Duration
    ) -> PlatformCode? {
        guard let held = links.codes.removeValue(forKey: code), held.expires > now,
            held.platform == platform, held.redirectURI == redirectURI,
            state == nil || state == held.state
        else { return nil }
        switch (held.challenge, verifier) {
        case (nil, nil): return held
        case (let challenge?, let verifier?):
            let isRight = ConstantTime.equal(
                Array(Token.challenge(of: verifier).utf8), Array(challenge.utf8))
            return isRight ? held : nil
        // A verifier without a challenge is a code from an authorization whose PKCE was stripped.
        case (nil, _?), (_?, nil): return nil
        }
    }

    /// `/oauth/{platform}/callback`: ends the attempt of `state`, and makes or repairs its row.
    mutating func endLink(
        _ platform: String, state: String?, code: String?, error: String?, at now: Duration
    ) -> LinkOutcome {
        func failed(_ error: String, _ target: ReturnTarget? = nil) -> LinkOutcome {
            LinkOutcome(platform: platform, result: .failed(error), target: target)
        }
        guard let state, let attempt = links.attempts[state], attempt.platform.id == platform,
            !attempt.isUsed
        else { return failed("invalid_state") }
        links.attempts[state]?.isUsed = true
        guard attempt.expires > now else { return failed("expired_state") }
        let target = attempt.target
        if let error {
            return failed(Self.platformErrors.contains(error) ? error : "platform_error", target)
        }
        guard let code else { return failed("invalid_request", target) }
        guard
            let grant = redeem(
                code, platform: platform, redirectURI: callback(of: platform),
                verifier: attempt.verifier, state: state, at: now)
        else { return failed("exchange_failed", target) }
        do throws(SandboxError) {
            let id = try store(grant, attempt, state)
            return LinkOutcome(
                platform: platform, result: .connected(connection: id), target: target)
        } catch {
            return failed(error.kind == .notFound ? "connection_not_found" : "not_stored", target)
        }
    }

    /// What a platform may say (RFC 6749, 4.1.2.1); anything else is not repeated.
    private static let platformErrors: Set = [
        "access_denied", "invalid_request", "invalid_scope", "server_error",
        "temporarily_unavailable", "unauthorized_client", "unsupported_response_type",
    ]

    private mutating func store(
        _ grant: PlatformCode, _ attempt: LinkAttempt, _ state: String
    ) throws(SandboxError) -> String {
        let scopes = JSONValue.array(grant.granted.map(JSONValue.string))
        let shown: JSONValue? = links.showsState ? .string(state) : nil
        if let id = attempt.reconnect {
            try changeConnection(
                id, of: attempt.account,
                to: [("status", "active"), ("grantedScopes", scopes), ("state", shown)])
            try mark(id, of: attempt.account, person: grant.person, isOrphaned: false)
            return id
        }
        let id = try addConnection(
            to: attempt.account, platform: attempt.platform.id, grantedScopes: grant.granted,
            displayName: "\(grant.person) on \(attempt.platform.label)",
            extra: shown.map { ["state": $0] } ?? [:])
        try mark(id, of: attempt.account, person: grant.person, isOrphaned: false)
        try orphan(all: attempt.platform.id, of: grant.person, but: id, account: attempt.account)
        return id
    }

    /// A second row for what had one: the old row's destinations stay bound to it and fail.
    private mutating func orphan(
        all platform: String, of person: String, but id: String, account: String
    ) throws(SandboxError) {
        for row in try existing(account).connections where row.id != id {
            guard row.fields["platform"]?.stringValue == platform else { continue }
            let isBroken = row.fields["status"]?.stringValue != "active"
            guard isBroken || row.person == person else { continue }
            try mark(row.id, of: account, person: row.person, isOrphaned: true)
        }
    }
}
