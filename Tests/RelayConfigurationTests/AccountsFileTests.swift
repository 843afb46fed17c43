import ConnectionEvents
import Crypto
import Foundation
import RelayConfiguration
import RelayCore
import Testing

@Suite struct AccountsFileTests {
    static func read(
        _ text: String, file: String = "a.csv", _ environment: [String: String] = [:],
        signIn: Pipeline.SignIn? = nil
    ) throws -> [AccountLine] {
        try AccountsFile(
            parsing: Array(text.utf8), file: file, signIn: signIn,
            environment: EnvironmentVariables(environment)
        ).lines
    }

    @Test func `people of JSON lines have an issuer and a client, or the pipeline's`() throws {
        let issuer = try #require(Issuer("https://auth.example"))
        let lines = try Self.read(
            """
            {"account":"a","oidc":{"issuer":"http://127.0.0.1:7","clientID":"c",\
            "refreshToken":"r1"}}
            {"account":"b","oidc":{"refreshToken":"env:TOKEN"},"interval":"5m","team":"x"}
            {"account":"c","apiKey":"k"}
            """, file: "a.jsonl", ["TOKEN": "r2"],
            signIn: Pipeline.SignIn(issuer: issuer, clientID: "relay"))
        #expect(
            lines.map { $0.person?.issuer.text } == [
                "http://127.0.0.1:7", "https://auth.example", nil,
            ])
        #expect(lines.map { $0.person?.clientID } == ["c", "relay", nil])
        #expect(lines.map { $0.person?.refreshToken.reveal() } == ["r1", "r2", nil])
        #expect(lines[1].interval == .seconds(300))
        #expect(lines[1].labels == ["team": "x"])
    }

    @Test func `columns go by name, others are labels, and empty cells say nothing`() throws {
        let lines = try Self.read(
            """
            team,credential,account,paused,interval
            core,key-1,acct_1,,
            ,env:KEY,acct_2,true,5m
            x,key-3,acct_3,false,500ms

            y,key-4,acct_4,YES
            """, ["KEY": "key-2"])
        #expect(lines.map(\.account.text) == ["acct_1", "acct_2", "acct_3", "acct_4"])
        #expect(lines.map(\.line) == [2, 3, 4, 6])
        #expect(lines.map { $0.credential.reveal() } == ["key-1", "key-2", "key-3", "key-4"])
        #expect(lines.map(\.isPaused) == [nil, true, false, true])
        #expect(lines.map(\.interval) == [nil, .seconds(300), .milliseconds(500), nil])
        #expect(lines.map(\.labels) == [["team": "core"], [:], ["team": "x"], ["team": "y"]])
    }

    @Test func `quotes, quoted line ends, CRLF and a byte order mark are RFC 4180's`() throws {
        let lines = try Self.read(
            "\u{FEFF}account,credential,\"the \"\"note\"\"\"\r\n"
                + "\"a\",\"k,1\",\"x\r\ny\"\"z\"\r\nb, k2 ,\" z \"\r\n\r\nc,\"k\"\"3\",")
        #expect(lines.map(\.account.text) == ["a", "b", "c"])
        #expect(lines.map { $0.credential.reveal() } == ["k,1", "k2", "k\"3"])
        #expect(
            lines.map(\.labels) == [["the \"note\"": "x\r\ny\"z"], ["the \"note\"": " z "], [:]])
        #expect(lines.map(\.line) == [2, 4, 6])
    }

    @Test("JSON lines hold the same", arguments: ["a.jsonl", "a.txt"])
    func jsonLines(file: String) throws {
        let lines = try Self.read(
            """
            {"account":"a","apiKey":"k1","team":"core","n":1.10}

            {"account":"b","apiKey":"env:KEY","interval":"5m","paused":true}\r
            {"account":"c","apiKey":"k3","interval":null,"paused":"no"}
            """, file: file, ["KEY": "k2"])
        #expect(lines.map(\.account.text) == ["a", "b", "c"])
        #expect(lines.map(\.line) == [1, 3, 4])
        #expect(lines.map { $0.credential.reveal() } == ["k1", "k2", "k3"])
        #expect(lines.map(\.labels) == [["team": "core", "n": "1.10"], [:], [:]])
        #expect(lines.map(\.isPaused) == [nil, true, false])
        #expect(lines.map(\.interval) == [nil, .seconds(300), nil])
    }

    @Test(
        "A file without accounts has none",
        arguments: ["account,credential\n", "credential,account"])
    func headerOnly(text: String) throws {
        #expect(try Self.read(text).isEmpty)
        #expect(try Self.read("", file: "a.jsonl").isEmpty)
    }

    @Test func `credentials in files are found beside the accounts file`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try "secret-1\n".write(to: folder.appending(path: "one"), atomically: true, encoding: .utf8)
        let file = folder.appending(path: "accounts.csv").path
        try "account,credential\na,file:one\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        let lines = try AccountsFile(file: file).lines
        #expect(lines.map { $0.credential.reveal() } == ["secret-1"])
    }

    @Test func `many lines are read, and progress is told`() throws {
        let count = 30_000
        var text = "account,credential,team\n"
        for index in 0..<count { text += "acct_\(index),key-\(index),team-\(index % 7)\n" }
        var told: [Int] = []
        let lines = try AccountsFile(parsing: Array(text.utf8), file: "a") { told.append($0) }.lines
        #expect(lines.count == count)
        #expect(lines.last?.account.text == "acct_\(count - 1)")
        #expect(told == [10_000, 20_000, 30_000])
    }
}
