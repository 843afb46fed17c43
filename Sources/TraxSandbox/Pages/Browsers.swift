internal import HTTPServer

/// Browsers that were here: who is signed in with them, and what they are being asked.
struct Browsers: Sendable {
    /// Who is signed in, by realm: a platform's name, or the identity provider.
    typealias SignIns = [String: String]

    /// A question put to one browser.
    struct Ticket: Sendable {
        var browser: String
        let question: Question
        let expires: Duration
    }

    enum Question: Sendable {
        case consent(ConsentQuestion)
        case signIn(SignInQuestion)
    }

    private(set) var signIns: [String: SignIns] = [:]
    private var tickets: [String: Ticket] = [:]

    static let cookie = "trax_sandbox_browser"
    static let maximum = 10_000
    static let patience = Duration.seconds(900)

    /// Who is signed in, nil for nobody.
    func person(_ browser: String, in realm: String) -> String? { signIns[browser]?[realm] }

    /// Signs in and gives the browser its new name, so that a name planted before is worth nothing.
    mutating func signIn(_ person: String, in realm: String, _ browser: String, renamed: String) {
        var known = signIns.removeValue(forKey: browser) ?? [:]
        known[realm] = person
        if signIns.count >= Self.maximum { signIns = [:] }
        signIns[renamed] = known
        for (id, ticket) in tickets where ticket.browser == browser {
            tickets[id]?.browser = renamed
        }
    }

    mutating func signOut(_ browser: String, of realm: String) {
        signIns[browser]?[realm] = nil
    }

    /// Remembers what a browser is asked.
    mutating func ask(_ question: Question, _ browser: String, ticket: String, at now: Duration) {
        if tickets.count >= Self.maximum { tickets = tickets.filter { $0.value.expires > now } }
        if tickets.count >= Self.maximum { tickets = [:] }
        tickets[ticket] = Ticket(
            browser: browser, question: question, expires: now + Self.patience)
    }

    /// What this browser, and no other, was asked.
    func question(_ ticket: String, _ browser: String, at now: Duration) -> Question? {
        guard let held = tickets[ticket], held.browser == browser, held.expires > now else {
            return nil
        }
        return held.question
    }

    /// The question is answered.
    mutating func close(_ ticket: String) { tickets[ticket] = nil }
}

/// The browser behind a request, by its cookie.
struct Browser {
    let id: String
    /// Whether it has no cookie yet.
    let isNew: Bool

    init(_ request: HTTPServerRequest) {
        for (name, value) in request.headers where name.lowercased() == "cookie" {
            for pair in value.split(separator: ";") {
                let parts = pair.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, parts[0].split(separator: " ") == [Browsers.cookie[...]]
                else { continue }
                id = String(parts[1].prefix(64))
                isNew = false
                return
            }
        }
        id = Token.make()
        isNew = true
    }

    /// The header that names it.
    static func header(_ id: String) -> (name: String, value: String) {
        ("Set-Cookie", "\(Browsers.cookie)=\(id); Path=/; HttpOnly; SameSite=Lax")
    }
}
