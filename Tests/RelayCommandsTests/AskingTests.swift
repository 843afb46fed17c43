import HTTPServer
import JSON
import Testing

@testable import RelayCommands

/// `check`, `poll` and `connections list`, against an API on loopback.
@Suite struct AskingTests {
    private final class API {
        let server: HTTPServer

        init(_ list: HTTPServerReply) throws {
            server = try HTTPServer(host: "127.0.0.1", port: 0) { request in
                request.path == "/v1/connections" ? list : .text("{}")
            }
        }

        var url: String { "http://127.0.0.1:\(server.port)" }
    }

    private func api(_ rows: [String: String]) throws -> API {
        let texts = rows.sorted { $0.key < $1.key }.map { id, status in
            #"{"id":"\#(id)","platform":"youtube","status":"\#(status)","grantedScopes":["a"]}"#
        }
        return try API(.text(#"{"data":[\#(texts.joined(separator: ","))],"nextCursor":null}"#))
    }

    private let refused = HTTPServerReply.text(
        #"{"error":{"code":"invalid_key","message":"no"}}"#, status: 401)

    @Test func `the live list is a table, or JSON`() throws {
        let api = try api(["c1": "active", "c2": "what\u{7F}"])
        let door = try Door(baseURL: api.url)
        _ = door.run("accounts", "add", "a", "@", secret: "sk_1")
        let table = door.run("connections", "list", "-a", "a", "@")
        #expect(table.code == .ok)
        #expect(table.lines[0] == "ID  PLATFORM  STATUS  HEALTH   SCOPES")
        #expect(table.lines[1] == "c1  youtube   active  healthy  a")
        #expect(table.lines[2] == "c2  youtube   what?   failing  a")
        let json = door.run("connections", "list", "--account=a", "@", "--json")
        let rows = try JSONValue(parsing: Array(json.out.utf8)).arrayValue ?? []
        #expect(rows.map { $0["health"]?.stringValue } == ["healthy", "failing"])
    }

    @Test func `a poll tells what would be published, and changes nothing`() throws {
        let api = try api(["c1": "expired", "c3": "active"])
        let door = try Door(baseURL: api.url)
        _ = door.run("accounts", "add", "a", "@", secret: "sk_1")
        let first = door.run("poll", "a", "@")
        #expect(first.code == .ok)
        #expect(first.out.contains("baseline"))
        #expect(!first.out.contains("would publish"))
        try door.believe("a", [["c1": "active", "c2": "active"]])
        for _ in 0..<2 {
            let told = door.run("poll", "a", "@")
            #expect(told.lines.count == 4)
            #expect(told.lines[0] == "a: 2 connections, the list is complete.")
            #expect(told.lines[1].contains("would publish: "))
            #expect(told.lines[1].contains("connection.failing  c1"))
            #expect(told.lines[2].contains("connection.linked  c3"))
            #expect(told.lines[3] == "missing: c2, 1 of 2 confirmations")
        }
        let json = door.run("poll", "a", "@", "--json").lines
        #expect(json.count == 2)
        for line in json { _ = try JSONValue(parsing: Array(line.utf8)) }
        #expect(door.run("events", "@").lines.isEmpty)
    }

    @Test func `a list that cannot be read is 69, and says why`() throws {
        let api = try API(refused)
        let door = try Door(baseURL: api.url)
        _ = door.run("accounts", "add", "a", "@", secret: "sk_CANARY")
        for words in [["poll", "a"], ["connections", "list", "-a", "a"]] {
            let ending = Door.run(words + ["-c", door.file])
            #expect(ending.code == .unavailable)
            #expect(ending.err.contains("invalid_key"))
            #expect(!ending.err.contains("CANARY"))
        }
        #expect(door.run("poll", "nobody", "@").code == .failure)
        #expect(door.run("poll", "no body", "@").code == .usage)
    }

    @Test func `check offline proves what is here, and makes nothing`() throws {
        let door = try Door()
        let ending = door.run("check", door.file, "--offline")
        #expect(ending.code == .ok)
        #expect(ending.err.isEmpty)
        #expect(ending.lines.allSatisfy { $0.hasPrefix("ok     ") || $0.hasPrefix("note   ") })
        #expect(ending.out.contains("accounts add"))
        #expect(try door.files() == ["relay.yaml"])
    }

    @Test func `check tells all that is wrong at once`() throws {
        let door = try Door()
        try door.write(
            Door.pipeline("http://127.0.0.1:9")
                .replacing(
                    "  requestTimeout: 20s",
                    with: "  requestTimeout: 20s\n  accounts: a.csv\n  budget: 1/s\n"
                        + "  interval: { fastest: 1s, slowest: 1s }")
                + "http: { listen: 127.0.0.1:0, token: \"env:NOBODY_SET_THIS\" }\n",
            to: "relay.yaml")
        try door.write(
            "account,credential\n" + (0..<5).map { "a\($0),sk_\($0)\n" }.joined(), to: "a.csv")
        let ending = door.run("check", door.file, "--offline")
        #expect(ending.code == .configuration)
        #expect(ending.err.hasPrefix("Error: 2 problems:\n"))
        #expect(ending.err.contains("NOBODY_SET_THIS"))
        #expect(ending.err.contains("budget"))
        try door.write("account,credential\na b,sk_1\nc,\n", to: "a.csv")
        let lines = door.run("check", door.file, "--offline").err.split(separator: "\n")
        #expect(lines.count { $0.contains("a.csv:") } == 2)
    }

    @Test func `check asks the API, with a key of an account`() throws {
        let good = try api(["c1": "active"])
        let door = try Door(baseURL: good.url)
        _ = door.run("accounts", "add", "a", "@", secret: "sk_CANARY")
        let fine = door.run("check", door.file)
        #expect(fine.code == .ok)
        #expect(fine.out.contains("a can be read: 1 connections"))
        let bad = try API(refused)
        try door.write(Door.pipeline(bad.url), to: "relay.yaml")
        let refusal = door.run("check", door.file)
        #expect(refusal.code == .configuration)
        #expect(refusal.err.contains("the key of a is refused"))
        #expect(!refusal.err.contains("CANARY"))
        try door.write(Door.pipeline("http://127.0.0.1:9"), to: "relay.yaml")
        #expect(door.run("check", door.file).code == .unavailable)
    }
}
