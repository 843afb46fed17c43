import JSON
import TraxSandbox

/// A browser as far as the sandbox can tell: it keeps a cookie, names `text/html` and sends forms.
///
/// It follows no redirect by itself, so that a test sees each.
final class BrowserSession {
    let client: SandboxClient
    var cookie: String?
    var agent = "Mozilla/5.0 (X11; Linux x86_64) Chrome/150 Safari/537.36"

    init(_ client: SandboxClient) {
        self.client = client
    }

    /// Loads a page; `path` may be a whole address of the sandbox's.
    func get(_ path: String, accept: String = "text/html,*/*;q=0.8") throws -> Answer {
        try keep(client.plain("GET", local(path), headers: headers(accept)))
    }

    /// Sends a form.
    func post(
        _ path: String, _ fields: [(String, String)],
        headers more: [(name: String, value: String)] = []
    ) throws -> Answer {
        let body = fields.map { "\(Self.encode($0.0))=\(Self.encode($0.1))" }.joined(separator: "&")
        let type = (name: "Content-Type", value: "application/x-www-form-urlencoded")
        return try keep(
            client.plain(
                "POST", local(path), headers: headers("text/html") + [type] + more, body: body))
    }

    /// Opens a consent screen and signs in where it asks; returns the ticket in its form.
    func consent(_ url: String, as person: String = "streamer") throws -> String {
        let page = try get(try Self.location(try get(url)))
        let ticket = try Self.ticket(page)
        guard page.text.contains("Sign in to") else { return ticket }
        let platform = local(url).split(separator: "/")[1]
        _ = try post("/platforms/\(platform)/signin", [("ticket", ticket), ("person", person)])
        return ticket
    }

    /// Answers a consent screen; what the callback then says.
    func decide(
        _ url: String, _ decision: String = "allow", scopes: [String],
        as person: String = "streamer",
        accept: String = "text/html"
    ) throws -> Answer {
        let ticket = try consent(url, as: person)
        let platform = local(url).split(separator: "/")[1]
        let answer = try post(
            "/platforms/\(platform)/decision",
            [("ticket", ticket), ("decision", decision)] + scopes.map { ("scope", $0) })
        return try get(try Self.location(answer), accept: accept)
    }

    static func location(_ response: Answer) throws -> String {
        guard let location = response.header("location") else {
            throw Missing(what: "a redirect instead of \(response.status) \(response.text)")
        }
        return location
    }

    static func ticket(_ page: Answer) throws -> String {
        guard let found = page.text.firstMatch(of: /name="ticket" value="([^"]+)"/) else {
            throw Missing(what: "a ticket in \(page.text)")
        }
        return String(found.1)
    }

    /// A parameter in an address's query, still encoded.
    static func parameter(_ name: String, of url: String) -> String? {
        let query = url.split(separator: "?", maxSplits: 1).last ?? ""
        for pair in query.split(separator: "&") where pair.hasPrefix(name + "=") {
            return String(pair.dropFirst(name.count + 1))
        }
        return nil
    }

    static func encode(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain =
                (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
            return isPlain
                ? String(UnicodeScalar(byte))
                : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }

    /// As the sandbox itself encodes, which leaves unreserved characters as they are.
    static func encodeURL(_ text: String) -> String {
        encode(text).replacing("%2E", with: ".").replacing("%2D", with: "-")
    }

    struct Missing: Error {
        let what: String
    }

    private func local(_ url: String) -> String {
        url.hasPrefix(client.sandbox.url) ? String(url.dropFirst(client.sandbox.url.count)) : url
    }

    private func headers(_ accept: String) -> [(name: String, value: String)] {
        [("Accept", accept), ("User-Agent", agent)] + (cookie.map { [("Cookie", $0)] } ?? [])
    }

    private func keep(_ response: Answer) -> Answer {
        if let set = response.header("set-cookie") {
            cookie = String(set.prefix { $0 != ";" })
        }
        return response
    }
}
