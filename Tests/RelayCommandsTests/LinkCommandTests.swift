import ConnectionEvents
import HTTPServer
import JSON
import RelayCore
import RelayJournal
import Testing
import Threading

@testable import RelayCommands

/// `link`, against an API on loopback; the sandbox's is in the tests of the whole.
@Suite struct LinkCommandTests {
    /// An API whose list and whose answer to a link are scripted.
    private final class API: Sendable {
        let server: HTTPServer
        private let asked: Lock<[HTTPServerRequest]>

        /// - Parameter list: by whether a link was asked for already.
        init(
            link: HTTPServerReply, list: @escaping @Sendable (Bool) -> [String]
        ) throws {
            let asked = Lock<[HTTPServerRequest]>([])
            self.asked = asked
            server = try HTTPServer(host: "127.0.0.1", port: 0) { request in
                let hasLinked = asked.withLock { asked in
                    defer { asked.append(request) }
                    return asked.contains { $0.method == "POST" }
                }
                guard request.method == "GET" else { return link }
                return .text(
                    #"{"data":[\#(list(hasLinked).joined(separator: ","))],"nextCursor":null}"#)
            }
        }

        static func ticket(_ state: String) -> HTTPServerReply {
            .text(#"{"authorizationUrl":"https://kick.example/","state":"\#(state)"}"#)
        }

        var url: String { "http://127.0.0.1:\(server.port)" }
        var posts: [HTTPServerRequest] { asked.withLock { $0.filter { $0.method == "POST" } } }
    }

    private static func row(
        _ id: String, _ status: String, scopes: String = #""a","b""#, state: String? = nil
    ) -> String {
        let state = state.map { #","state":"\#($0)""# } ?? ""
        return #"{"id":"\#(id)","platform":"kick","status":"\#(status)","#
            + #""grantedScopes":[\#(scopes)]\#(state)}"#
    }

    private let ticket = HTTPServerReply.text(
        #"{"authorizationUrl":"https://kick.example/a?scope=a%20b+c","state":"CANARY"}"#)

    private func door(_ api: API) throws -> Door {
        let door = try Door(baseURL: api.url)
        _ = door.run("accounts", "add", "a", "@", secret: "sk_1")
        return door
    }

    @Test func `a new healthy row is linked, and the address is all of the secret`() throws {
        let api = try API(link: ticket) { hasLinked in
            hasLinked ? [Self.row("c1", "active")] : []
        }
        let ending = try door(api).run("link", "kick", "-a", "a", "@", "--wait", "1s")
        #expect(ending.code == .ok)
        #expect(
            ending.lines == [
                "https://kick.example/a?scope=a%20b+c",
                "linked: c1 on kick, active. Granted: a b.",
            ])
        #expect(ending.err.contains("less was granted"))
        #expect(ending.err.contains("missing: c."))
        #expect(ending.err.contains(AttemptHash(state: "CANARY").text))
        #expect(!(ending.out + ending.err).contains("CANARY"))
        #expect(!ending.err.contains("already"))
        #expect(try JSONValue(parsing: api.posts[0].body) == ["platform": "kick"])
    }

    @Test func `what would be orphaned is said before, with the line that repairs it`() throws {
        let api = try API(link: ticket) { _ in
            [Self.row("c 1", "expired"), Self.row("c2", "active")]
        }
        let door = try door(api)
        let ending = door.run("link", "kick", "-a", "a", "@", "--wait", "0")
        #expect(ending.code == .ok)
        #expect(ending.err.contains("c 1 (failing), c2 (healthy)"))
        #expect(
            ending.err.contains(
                "trax-relay link kick --account a --reconnect 'c 1' -c \(door.file)\n"))
        #expect(!ending.err.contains("--reconnect c2"), "what is well needs no repair")
        #expect(ending.lines.count == 1)
        let repair = door.run(
            "link", "kick", "-a", "a", "@", "--reconnect", "c2", "--wait", "0")
        #expect(!repair.err.contains("Warning"))
        #expect(
            try JSONValue(parsing: api.posts[1].body)
                == ["platform": "kick", "reconnectConnectionId": "c2"])
    }

    @Test func `a repair is told as JSON, with the scopes that were lost`() throws {
        let api = try API(link: ticket) { hasLinked in
            [
                Self.row(
                    "c1", hasLinked ? "active" : "expired",
                    scopes: hasLinked ? #""a""# : #""a","x""#)
            ]
        }
        let ending = try door(api).run(
            "link", "kick", "-a", "a", "@", "--reconnect", "c1", "--wait", "1s", "--json")
        #expect(ending.code == .ok)
        let lines = try ending.lines.map { try JSONValue(parsing: Array($0.utf8)) }
        #expect(lines.count == 2)
        #expect(lines[0]["authorizationUrl"] == "https://kick.example/a?scope=a%20b+c")
        #expect(lines[0]["attempt"]?.stringValue == AttemptHash(state: "CANARY").text)
        #expect(lines[0]["orphans"] == [])
        #expect(lines[1]["outcome"] == "repaired")
        #expect(lines[1]["matchedBy"] == "reconnect")
        #expect(lines[1]["missingScopes"] == ["b", "c", "x"])
        #expect(lines[1]["connection"]?["id"] == "c1")
    }

    @Test func `the last line of JSON does not repeat the attempt's own state`() throws {
        let api = try API(link: ticket) { $0 ? [Self.row("c1", "active", state: "CANARY")] : [] }
        let ending = try door(api).run("link", "kick", "-a", "a", "@", "--wait", "1s", "--json")
        #expect(ending.lines.last?.contains(#""matchedBy":"state""#) == true)
        #expect(!(ending.out + ending.err).contains("CANARY"))
    }

    @Test func `granted nothing of what was asked for is warned of, other names are not`() throws {
        for (scopes, isTold) in [("", true), (#""user:write:chat""#, false)] {
            let api = try API(link: ticket) {
                $0 ? [Self.row("c1", "active", scopes: scopes)] : []
            }
            let ending = try door(api).run("link", "kick", "-a", "a", "@", "--wait", "1s")
            #expect(ending.code == .ok)
            #expect(ending.err.contains("missing: a b c.") == isTold, "\(ending.err)")
        }
    }

    @Test func `an attempt that was given up does not stand in the way of the next`() throws {
        let api = try API(link: ticket) { _ in [] }
        let door = try door(api)
        let first = door.run("link", "kick", "-a", "a", "@", "--wait", "1s")
        #expect(first.code == .failure)
        #expect(first.err.contains("nothing watches for it any more"))
        #expect(try watches(door).isEmpty)
        let other = try API(link: API.ticket("two")) { $0 ? [Self.row("c1", "active")] : [] }
        try door.write(Door.pipeline(other.url), to: "relay.yaml")
        let ending = door.run("link", "kick", "-a", "a", "@", "--wait", "1s")
        #expect(ending.code == .ok, "\(ending.err)")
        // What is left to a relay stays open.
        let left = try API(link: API.ticket("three")) { _ in [] }
        try door.write(Door.pipeline(left.url), to: "relay.yaml")
        _ = door.run("link", "twitch", "-a", "a", "@", "--wait", "0")
        #expect(try watches(door).map(\.platform) == ["kick", "twitch"])
    }

    @Test func `that no event will come of it is said where no relay has read the account`() throws
    {
        let api = try API(link: ticket) { _ in [] }
        let door = try door(api)
        let unread = "no relay has read this account yet"
        let new = door.run("link", "kick", "-a", "a", "@", "--wait", "0")
        #expect(new.code == .ok)
        #expect(new.err.contains(unread))
        try door.believe("a", [[:]])
        #expect(!door.run("link", "kick", "-a", "a", "@", "--wait", "0").err.contains(unread))
        _ = door.run("accounts", "pause", "a", "@")
        let paused = door.run("link", "kick", "-a", "a", "@", "--wait", "0").err
        #expect(paused.contains("a is paused: no relay watches it"))
    }

    @Test func `an account that is removed meanwhile ends it at once`() throws {
        let file = Lock("")
        let api = try API(link: ticket) { hasLinked in
            if hasLinked {
                let words = ["accounts", "remove", "a", "-c", file.withLock { $0 }]
                let ending = Door.run(words)
                #expect(ending.code == .ok, "\(ending.err)")
            }
            return []
        }
        let made = try door(api)
        file.withLock { $0 = made.file }
        let ending = made.run("link", "kick", "-a", "a", "@", "--wait", "1h")
        #expect(ending.code == .failure)
        #expect(ending.err.contains("a was removed from the register"))
        #expect(try watches(made).isEmpty)
    }

    private func watches(_ door: Door) throws -> [LinkWatch] {
        let file = try JournalFile(
            path: "\(door.path)/relay.db", keyFile: "\(door.path)/relay.key", access: .existing)
        return try LinkBook(file).openWatches(after: 0)
    }

    @Test func `nothing that came is abandoned, a pending row too`() throws {
        let nothing = try API(link: ticket) { _ in [] }
        let ending = try door(nothing).run("link", "kick", "-a", "a", "@", "--wait", "1s")
        #expect(ending.code == .failure)
        #expect(ending.err.contains("abandoned"))
        let pending = try API(link: ticket) { $0 ? [Self.row("c1", "pending")] : [] }
        let door = try door(pending)
        let waited = door.run("link", "kick", "-a", "a", "@", "--wait", "1s", "--json")
        #expect(waited.code == .failure)
        #expect(waited.err.contains("c1 came and is pending"))
        #expect(waited.lines.last?.contains(#""outcome":"abandoned""#) == true)
    }

    @Test func `a healthy row that was to be repaired and stays as it was tells nothing`() throws {
        let api = try API(link: ticket) { _ in [Self.row("c1", "active")] }
        let ending = try door(api).run(
            "link", "kick", "-a", "a", "@", "--reconnect", "c1", "--wait", "1s", "--json")
        #expect(ending.code == .failure)
        #expect(ending.err.contains("unchanged"))
        #expect(ending.lines.last?.contains(#""outcome":"unchanged""#) == true)
    }

    @Test func `where several attempts are open it says that it cannot tell`() throws {
        let api = try API(link: ticket) { $0 ? [Self.row("c1", "active")] : [] }
        let door = try door(api)
        let file = try JournalFile(
            path: "\(door.path)/relay.db", keyFile: "\(door.path)/relay.key", access: .existing)
        let account = try #require(AccountID("a"))
        let other = LinkOpening(
            account: account, attempt: AttemptHash(state: "other"), platform: "kick",
            reconnecting: nil)
        let watch = try LinkBook(file).open(other)
        let ending = door.run("link", "kick", "-a", "a", "@", "--wait", "1s")
        #expect(ending.code == .failure)
        #expect(ending.err.contains("does not tell which of them made c1 (healthy)"))
        // The other one has its row: now there is one that is meant.
        try LinkBook(file).claim(watch, connection: try #require(ConnectionID("c9")))
        let told = try API(
            link: .text(#"{"authorizationUrl":"https://kick.example/","state":"two"}"#)
        ) { $0 ? [Self.row("c1", "active", state: "two")] : [] }
        try door.write(Door.pipeline(told.url), to: "relay.yaml")
        #expect(door.run("link", "kick", "-a", "a", "@", "--wait", "1s").code == .ok)
    }

    @Test func `a watch is opened for a relay, and says which row it was`() throws {
        let api = try API(link: ticket) { $0 ? [Self.row("c1", "active")] : [] }
        let door = try door(api)
        _ = door.run("link", "kick", "-a", "a", "@", "--wait", "1s")
        let file = try JournalFile(
            path: "\(door.path)/relay.db", keyFile: "\(door.path)/relay.key", access: .existing)
        let watches = try LinkBook(file).openWatches(after: 0)
        #expect(watches.map(\.attempt) == [AttemptHash(state: "CANARY")])
        #expect(watches.map(\.connection) == [ConnectionID("c1")])
        #expect(watches.map(\.rule) == [.platform])
    }

    @Test func `what the API refuses is told with its remedy`() throws {
        func envelope(_ status: Int, _ code: String, _ more: String = "") -> HTTPServerReply {
            .text(
                #"{"error":{"code":"\#(code)","message":"No.","requestId":"req_7"\#(more)}}"#,
                status: status)
        }
        let cases: [(String, HTTPServerReply, ExitCode, String)] = [
            ("trovo", envelope(400, "invalid_request"), .usage, "trovo cannot be linked"),
            ("youtub", envelope(400, "invalid_request"), .usage, "Did you mean 'youtube'?"),
            (
                "kick", envelope(403, "insufficient_scope", #","requiredScope":"x:write""#),
                .failure, "a key with the scope x:write"
            ),
            ("kick", envelope(401, "invalid_key"), .failure, "req_7"),
            ("kick", envelope(503, "write_disabled"), .unavailable, "Writing is switched off"),
            ("kick", envelope(503, "write_disabled"), .unavailable, "write_disabled: No. Writing"),
            ("kick", .text("oops", status: 502), .unavailable, "http_5xx"),
            ("kick", .text("{}"), .unavailable, "bad_ticket"),
        ]
        for (platform, reply, code, words) in cases {
            let api = try API(link: reply) { _ in [] }
            let ending = try door(api).run("link", platform, "-a", "a", "@")
            #expect(ending.code == code, "\(words)")
            #expect(ending.err.contains(words), "\(ending.err)")
            #expect(ending.out.isEmpty)
        }
    }

    @Test func `a wrong wish asks nobody`() throws {
        let api = try API(link: ticket) { _ in [Self.row("c1", "active")] }
        let door = try door(api)
        for (words, code, message) in [
            (["rumble"], ExitCode.usage, "takes a stream key"),
            (["You Tube"], .usage, "is no platform"),
            (["kick", "--return-to", "http://app.traxstreaming.live/"], .usage, "https"),
            (["kick", "--wait", "soon"], .usage, "duration"),
            (["kick", "--reconnect", ""], .usage, "connection's id"),
            (["kick", "--reconnect", "c9"], .failure, "Those of kick: c1."),
            (["twitch", "--reconnect", "c9"], .failure, "none of twitch"),
            (["twitch", "--reconnect", "c1"], .usage, "of kick, not of twitch"),
        ] {
            let ending = Door.run(["link", "-a", "a", "-c", door.file] + words)
            #expect(ending.code == code, "\(words)")
            #expect(ending.err.contains(message), "\(ending.err)")
        }
        #expect(Door.run(["link", "kick", "-a", "b", "-c", door.file]).code == .failure)
        #expect(api.posts.isEmpty)
        let nobody = try Door()
        _ = nobody.run("accounts", "add", "a", "@", secret: "sk_1")
        #expect(nobody.run("link", "kick", "-a", "a", "@").code == .unavailable)
    }
}
