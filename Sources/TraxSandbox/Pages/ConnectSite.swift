internal import HTTPServer
internal import JSON

/// trax-connect's own addresses, under `/oauth`: the callbacks and the page at the end.
struct ConnectSite {
    let request: HTTPServerRequest
    let state: SharedState

    /// The reply.
    func answer() -> HTTPServerReply {
        let path = request.segments ?? []
        if path == ["oauth", "return"] {
            guard request.method == "GET" else { return .methodNotAllowed("GET", "HEAD") }
            return returned()
        }
        if path.count == 3, path[2] == "callback", Platform.named(path[1]) != nil {
            // A HEAD, as link previews send, must not use the code up.
            guard request.method == "GET", !request.isHead else { return .methodNotAllowed("GET") }
            return callback(path[1])
        }
        return Page(title: "Not found", body: "<p>There is no such page.</p>", status: 404).reply
    }

    // MARK: - The callback

    private func callback(_ platform: String) -> HTTPServerReply {
        let now = state.now
        // Of a parameter that comes twice nothing is believed.
        let asked = HTTPServerRequest.single(request.query) ?? [:]
        let outcome = state.read {
            $0.endLink(
                platform, state: asked["state"], code: asked["code"], error: asked["error"],
                at: now)
        }
        guard wantsPage else { return json(outcome) }
        let origin = state.read { $0.origin }
        let location =
            outcome.target?.adding(outcome.pairs) ?? "\(origin)/oauth/return?\(outcome.pairs)"
        return HTTPServerReply(
            status: 302,
            headers: [
                ("Location", location), ("Cache-Control", "no-store"),
                ("Referrer-Policy", "no-referrer"), ("Vary", "Accept"),
            ])
    }

    /// Only who names `text/html` is a browser.
    private var wantsPage: Bool {
        request.headers.contains {
            $0.name.lowercased() == "accept" && $0.value.lowercased().contains("text/html")
        }
    }

    private func json(_ outcome: LinkOutcome) -> HTTPServerReply {
        var reply =
            switch outcome.result {
            case .connected(let id):
                ControlAPI.json([
                    "status": "ok", "platform": .string(outcome.platform),
                    "connectionId": .string(id),
                ])
            case .failed(let error):
                ControlAPI.json(
                    [
                        "status": "error", "error": .string(error),
                        "error_provider": .string(outcome.platform),
                    ], status: 400)
            }
        reply.headers += [("Cache-Control", "no-store"), ("Vary", "Accept")]
        return reply
    }

    // MARK: - The page at the end

    private func returned() -> HTTPServerReply {
        let connected = request.parameter("connected").flatMap(Platform.named)
        let provider = request.parameter("error_provider").flatMap(Platform.named)
        let error = request.parameter("error")
        let title: String
        let text: String
        var pairs: String
        if let connected, error == nil {
            title = "\(connected.label) connected"
            text = "<p>\(HTML.escape(connected.label)) is linked to your TRaX account.</p>"
            pairs = "connected=\(connected.id)"
        } else {
            let word = Self.words[error ?? ""] == nil ? "unknown_error" : error ?? ""
            title = "\(provider?.label ?? "The account") was not connected"
            let reason = Self.words[word] ?? "Something went wrong."
            text = "<p>\(HTML.escape(reason)) <code>\(HTML.escape(word))</code></p>"
            pairs = "error=\(word)"
            if let provider { pairs += "&error_provider=\(provider.id)" }
        }
        let exit =
            "<p><b>Close this window with Cancel, Done or Back.</b> "
            + "That undoes nothing: what is linked stays linked.</p>"
        var control = ""
        let agent = request.header("User-Agent") ?? ""
        if let scheme = state.read({ $0.deployment.appSchemes.scheme(for: agent) }) {
            let address = HTML.escape("\(scheme)://oauth/linked?\(pairs)")
            control = #"<p><a class="control" href="\#(address)">Return to the app</a></p>"#
        }
        return Page(
            title: title, body: [text, exit, control].joined(separator: "\n"),
            headers: [("Vary", "User-Agent")]
        ).reply
    }

    /// What can have gone wrong; any other word is not shown.
    private static let words = [
        "access_denied": "You did not allow it.",
        "invalid_request": "The platform sent an answer that says nothing.",
        "invalid_scope": "The platform does not know what was asked for.",
        "server_error": "The platform had a fault.",
        "temporarily_unavailable": "The platform is busy; try again later.",
        "unauthorized_client": "The platform does not let TRaX ask.",
        "unsupported_response_type": "The platform does not know what was asked for.",
        "platform_error": "The platform refused, without a reason that is known.",
        "invalid_state": "This link was used before, or was never begun.",
        "expired_state": "It took too long; start again.",
        "exchange_failed": "The platform did not confirm it.",
        "connection_not_found": "The connection to repair is gone.",
        "not_stored": "The account holds no more connections.",
        "unknown_error": "Something went wrong.",
    ]
}

/// The schemes of the apps to which the page at the end offers to return.
public struct AppSchemes: Sendable, Equatable {
    /// For an iPhone or iPad.
    public let ios: String?
    /// For Android.
    public let android: String?

    /// Reads `OAUTH_RETURN_APP_SCHEME_IOS` and `_ANDROID`, and `OAUTH_RETURN_APP_SCHEME` for both.
    ///
    /// What is no scheme of an app (RFC 3986, 3.1; or one that browsers run or open themselves)
    /// counts as not set.
    ///
    /// - Parameter variable: the value of a variable of the environment.
    public init(variable: (String) -> String?) {
        let both = variable("OAUTH_RETURN_APP_SCHEME")
        ios = Self.valid(variable("OAUTH_RETURN_APP_SCHEME_IOS") ?? both)
        android = Self.valid(variable("OAUTH_RETURN_APP_SCHEME_ANDROID") ?? both)
    }

    /// No app at all.
    public static let none = AppSchemes { _ in nil }

    /// The one for a device, by what its browser calls itself.
    func scheme(for agent: String) -> String? {
        if ["iPhone", "iPad", "iPod"].contains(where: { agent.contains($0) }) { return ios }
        return agent.contains("Android") ? android : nil
    }

    private static let refused: Set = [
        "about", "blob", "data", "file", "ftp", "http", "https", "intent", "javascript", "mailto",
        "tel", "vbscript", "view-source", "ws", "wss",
    ]

    private static func valid(_ text: String?) -> String? {
        guard let text = text?.lowercased(), let first = text.utf8.first,
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first), text.utf8.count <= 128,
            !refused.contains(text)
        else { return nil }
        let isScheme = text.utf8.allSatisfy {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
        }
        return isScheme ? text : nil
    }
}
