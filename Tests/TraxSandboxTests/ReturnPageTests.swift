import JSON
import Testing
import TraxSandbox

@Suite struct ReturnPageTests {
    private static let iPhone =
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Safari/604.1"
    private static let android =
        "Mozilla/5.0 (Linux; Android 14; Pixel 8) Chrome/150 Mobile Safari/537.36"

    private func page(
        _ query: String, _ client: SandboxClient, agent: String = "curl/8", accept: String = "*/*"
    ) throws -> Answer {
        try client.plain(
            "GET", "/oauth/return" + query, headers: [("User-Agent", agent), ("Accept", accept)])
    }

    @Test func `it is always HTML, names what was connected, and loads nothing`() throws {
        let client = try SandboxClient()
        for accept in ["*/*", "application/json", "text/html", ""] {
            let page = try page("?connected=youtube", client, accept: accept)
            #expect(page.status == 200)
            #expect(page.header("content-type") == "text/html; charset=utf-8")
            #expect(page.text.contains("<h1>YouTube connected</h1>"))
            #expect(page.text.contains("Cancel") && page.text.contains("undoes nothing"))
            for word in [
                "<script", "http:", "https:", "src=", "<a ", "<img", "<link", "<form", "url(",
            ] {
                #expect(!page.text.contains(word), "\(word)")
            }
            let policy = page.header("content-security-policy") ?? ""
            #expect(policy.contains("default-src 'none'") && policy.contains("form-action 'none'"))
            #expect(!policy.contains("unsafe") && !policy.contains("script-src"))
            #expect(page.header("x-content-type-options") == "nosniff")
            #expect(page.header("referrer-policy") == "no-referrer")
        }
    }

    @Test(arguments: [
        "?connected=%3Cscript%3Ealert(1)%3C/script%3E", "?connected=%22onload=alert(1)",
        "?error=%3Cimg%20src=x%20onerror=alert(1)%3E&error_provider=%3Csvg%3E",
        "?error=javascript:alert(1)&error_provider=kick", "?error=a%0d%0aSet-Cookie:x=1",
        "?error_provider=%27%3E%3Cb%3E", "?connected=youtube&connected=%3Cb%3E", "",
        "?connected=youtube&error=%26%23x3c%3bscript%3e", "?error=access_denied%00%3Cb%3E",
        "?connected=unknown-platform", "?error=some_unknown_word",
    ])
    func `nothing of the address is shown but words the page knows`(_ query: String) throws {
        let client = try SandboxClient(schemes: ["OAUTH_RETURN_APP_SCHEME": "live.app"])
        for agent in [Self.iPhone, "x"] {
            let page = try page(query, client, agent: agent)
            #expect(page.status == 200)
            for word in [
                "alert", "onerror", "<b>&", "<svg", "javascript", "unknown-", "some_", "Set-Cookie",
            ] {
                #expect(!page.text.contains(word), "\(word)")
            }
            #expect(page.text.contains("not connected") || query.contains("connected=youtube&conn"))
            #expect(page.header("set-cookie") == nil)
        }
    }

    @Test func `an app's control is for the device whose scheme is set`() throws {
        let one = try SandboxClient(schemes: [
            "OAUTH_RETURN_APP_SCHEME_IOS": "live.traxstreaming.ios"
        ])
        let link = #"href="live.traxstreaming.ios://oauth/linked?connected=kick""#
        #expect(try page("?connected=kick", one, agent: Self.iPhone).text.contains(link))
        #expect(try !page("?connected=kick", one, agent: Self.android).text.contains("href"))
        #expect(try !page("?connected=kick", one).text.contains("href"))
        let failed = try page("?error=access_denied&error_provider=kick", one, agent: Self.iPhone)
        #expect(
            failed.text.contains(
                "live.traxstreaming.ios://oauth/linked?error=access_denied&amp;error_provider=kick")
        )
        let legacy = try SandboxClient(
            schemes: [
                "OAUTH_RETURN_APP_SCHEME": "live.both",
                "OAUTH_RETURN_APP_SCHEME_ANDROID": "live.traxstreaming.android",
            ])
        #expect(
            try page("?connected=kick", legacy, agent: Self.iPhone).text.contains("live.both://"))
        #expect(
            try page("?connected=kick", legacy, agent: Self.android).text.contains(
                "live.traxstreaming.android://"))
    }

    @Test(arguments: ["javascript", "https", "data", "a\"b", "a b", "1a", "", "a:b", "é", "intent"])
    func `a scheme that is no app's counts as not set`(_ scheme: String) throws {
        let client = try SandboxClient(schemes: ["OAUTH_RETURN_APP_SCHEME": scheme])
        #expect(try !page("?connected=kick", client, agent: Self.iPhone).text.contains("href"))
    }
}
