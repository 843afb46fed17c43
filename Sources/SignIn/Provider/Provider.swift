internal import ConnectionEvents
internal import Crypto
internal import HTTPClient
internal import HTTPServer
internal import JSON
internal import RelayCore
internal import Threading

/// How providers are spoken to.
public struct ProviderManners: Sendable {
    /// Product and version.
    public var userAgent: String
    /// A file of further trusted certificates; nil: the system's alone.
    public var caFile: String?
    /// A request must end within it.
    public var timeout: Duration

    /// Manners, field by field.
    public init(userAgent: String, caFile: String? = nil, timeout: Duration = .seconds(10)) {
        self.userAgent = userAgent
        self.caFile = caFile
        self.timeout = timeout
    }
}

/// What providers said of themselves, kept for all threads; an hour, or until a key is missing.
public final class ProviderDirectory: Sendable {
    private struct Entry: Sendable {
        var document: ProviderDocument
        var documentAt: Timestamp
        var keys: KeySet?
    }

    private let entries = Lock<[Issuer: Entry]>([:])

    /// How long a document is believed.
    static let age = Duration.seconds(3600)
    /// Issuers that are remembered; beyond, all are forgotten.
    static let limit = 64

    /// Knows nobody yet.
    public init() {}

    func document(of issuer: Issuer, now: Timestamp) -> ProviderDocument? {
        guard let entry = entries.withLock({ $0[issuer] }) else { return nil }
        let age = now.since(entry.documentAt)
        return age >= .zero && age < Self.age ? entry.document : nil
    }

    func keep(_ document: ProviderDocument, now: Timestamp) {
        entries.withLock { entries in
            if entries.count >= Self.limit { entries = [:] }
            entries[document.issuer] = Entry(document: document, documentAt: now)
        }
    }

    func keys(of issuer: Issuer) -> KeySet? { entries.withLock { $0[issuer]?.keys } }

    func keep(_ keys: KeySet, of issuer: Issuer) {
        entries.withLock { $0[issuer]?.keys = keys }
    }
}

/// An OpenID provider, asked by one thread.
///
/// Bodies are capped at 256 KiB, no redirect is followed, and no answer is in an error.
final class Provider {
    let issuer: Issuer
    private let directory: ProviderDirectory
    private let client: HTTPClient
    private let timeout: Duration

    static let bodyLimit = 256 << 10

    init(
        _ issuer: Issuer, _ directory: ProviderDirectory, _ manners: ProviderManners
    ) throws(SignInError) {
        self.issuer = issuer
        self.directory = directory
        timeout = manners.timeout
        do throws(HTTPError) {
            client = try HTTPClient(
                HTTPLoopConfiguration(
                    maxConnections: 2, userAgent: manners.userAgent, maximumBody: Self.bodyLimit,
                    caFile: manners.caFile))
        } catch {
            throw SignInError(.invalid, code: error.code, reason: error.reason)
        }
    }

    /// What the provider says of itself.
    func document() throws(SignInError) -> ProviderDocument {
        let now = WallClock.now()
        if let known = directory.document(of: issuer, now: now) { return known }
        let json = try get(issuer.documentAddress, "discovery document")
        let document = try ProviderDocument(json, of: issuer)
        directory.keep(document, now: now)
        return document
    }

    /// Gives a code back for tokens (RFC 6749, 4.1.3; RFC 7636, 4.5).
    func redeem(
        _ code: Secret, verifier: Secret, redirect: String, client: String
    ) throws(SignInError) -> TokenAnswer {
        try token([
            ("grant_type", "authorization_code"), ("client_id", client), ("code", code.reveal()),
            ("redirect_uri", redirect), ("code_verifier", verifier.reveal()),
        ])
    }

    /// Gives a refresh token back for tokens (RFC 6749, 6).
    ///
    /// - Parameter exchange: the same whenever this token is given back, so that a provider can
    ///   tell a repeat after a lost answer from a thief's (`Idempotency-Key`, an IETF draft).
    func refresh(
        _ token: Secret, client: String, exchange: String
    ) throws(SignInError) -> TokenAnswer {
        try self.token(
            [
                ("grant_type", "refresh_token"), ("client_id", client),
                ("refresh_token", token.reveal()),
            ], headers: [("Idempotency-Key", "\"\(exchange)\"")])
    }

    /// Checks an id token with the provider's keys, which are asked for anew where one is missing.
    func verify(_ token: Secret, _ demand: IDToken.Demand) throws(SignInError) -> IDToken {
        guard let known = directory.keys(of: issuer) else {
            return try IDToken(token, keys: try keys(), demand: demand)
        }
        do throws(SignInError) {
            return try IDToken(token, keys: known, demand: demand)
        } catch {
            guard error.code == "unknown_key" else { throw error }
            return try IDToken(token, keys: try keys(), demand: demand)
        }
    }

    /// Whom an access token stands for (OpenID Connect Core 1.0, 5.3); nil where the provider has
    /// no such place or does not tell.
    func person(_ access: Secret, subject: String) throws(SignInError) -> JSONValue? {
        guard let address = try document().userInfo else { return nil }
        let response = try send(
            HTTPRequest(
                .get, url: address,
                headers: [
                    ("Authorization", "Bearer \(access.reveal())"), ("Accept", "application/json"),
                ], timeout: timeout))
        guard response.status == 200, let json = Self.json(response),
            json["sub"]?.stringValue == subject
        else { return nil }
        return json
    }

    /// Makes a refresh token good no more (RFC 7009); false where the provider has no such place.
    func revoke(_ token: Secret, client: String) throws(SignInError) -> Bool {
        guard let address = try document().revocation else { return false }
        let response = try post(
            address,
            [
                ("token", token.reveal()), ("token_type_hint", "refresh_token"),
                ("client_id", client),
            ])
        guard (200...299).contains(response.status) else {
            throw .refusal(
                status: response.status, body: Self.json(response), by: "revocation endpoint")
        }
        return true
    }

    /// Ends the session that an id token is of (OpenID Connect RP-Initiated Logout 1.0, 2).
    func endSession(_ identity: Secret, client: String) throws(SignInError) {
        guard let address = try document().endSession else { return }
        let response = try post(
            address, [("id_token_hint", identity.reveal()), ("client_id", client)])
        // A page for people, or a redirect to one: both are an end.
        guard (200...399).contains(response.status) else {
            throw .refusal(status: response.status, body: nil, by: "end of sessions")
        }
    }

    private func keys() throws(SignInError) -> KeySet {
        let keys = try KeySet(try get(try document().keys, "JWK set"))
        directory.keep(keys, of: issuer)
        return keys
    }

    private func token(
        _ fields: [(name: String, value: String)], headers: [(String, String)] = []
    ) throws(SignInError) -> TokenAnswer {
        let response = try post(try document().token, fields, headers: headers)
        guard response.status == 200 else {
            var error = SignInError.refusal(status: response.status, body: Self.json(response))
            if error.kind == .unavailable { error.retryAfter = Self.retryAfter(response) }
            throw error
        }
        guard let json = Self.json(response) else {
            throw .malformed("the provider's token endpoint gave no JSON")
        }
        return try TokenAnswer(json)
    }

    private func get(_ address: String, _ what: String) throws(SignInError) -> JSONValue {
        let response = try send(
            HTTPRequest(
                .get, url: address, headers: [("Accept", "application/json")], timeout: timeout))
        guard response.status == 200 else {
            let isOurs = (300...499).contains(response.status) && response.status != 429
            var error = SignInError(
                isOurs ? .invalid : .unavailable, code: "http_\(response.status / 100)xx",
                reason: "the \(what) of \(issuer) cannot be had: HTTP \(response.status)")
            error.retryAfter = isOurs ? nil : Self.retryAfter(response)
            throw error
        }
        guard let json = Self.json(response) else {
            throw .malformed("the \(what) of \(issuer) is no JSON object")
        }
        return json
    }

    private func post(
        _ address: String, _ fields: [(name: String, value: String)],
        headers: [(String, String)] = []
    ) throws(SignInError) -> HTTPResponse {
        let form = fields.map { "\($0.name)=\(PercentEncoding.encode($0.value))" }
            .joined(separator: "&")
        return try send(
            HTTPRequest(
                .post, url: address,
                headers: [
                    ("Content-Type", "application/x-www-form-urlencoded"),
                    ("Accept", "application/json"),
                ] + headers, body: Array(form.utf8), timeout: timeout))
    }

    private func send(_ request: HTTPRequest) throws(SignInError) -> HTTPResponse {
        do throws(HTTPError) {
            return try client.perform(request)
        } catch {
            throw SignInError(error, from: request.url)
        }
    }

    private static func json(_ response: HTTPResponse) -> JSONValue? {
        do throws(JSONError) {
            let value = try JSONValue(parsing: response.body)
            return value.objectValue == nil ? nil : value
        } catch {
            return nil
        }
    }

    private static func retryAfter(_ response: HTTPResponse) -> Duration? {
        response.header("Retry-After").flatMap { Int64($0) }
            .map { .seconds(min(max($0, 1), 900)) }
    }
}
