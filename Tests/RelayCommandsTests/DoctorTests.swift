import Foundation
import HTTPServer
import Testing

@testable import RelayCommands

@Suite struct DoctorTests {
    /// A folder with a secret in every place where one can be.
    private func door(
        baseURL: String = "http://127.0.0.1:9", listen: String = "127.0.0.1:9"
    ) throws -> (Door, [String]) {
        let door = try Door()
        let secrets = (0..<6).map { "Canary\($0)-\(UUID().uuidString)" } + ["sk_live_canary123456"]
        unsafe setenv("DOCTOR_CANARY", secrets[0], 1)
        try door.write(secrets[1], to: "kafka.secret")
        try door.write(secrets[2] + "\n", to: "token.secret")
        try door.write(secrets[3], to: "key.secret")
        try door.write(
            "account,credential,label\na,\(secrets[4]),x\nb,file:key.secret,y\n",
            to: "accounts.csv")
        try door.write(
            """
            version: 1
            source:
              baseURL: \(baseURL)
              accounts: accounts.csv
              requestTimeout: 2s
            journal: { sqlite: relay.db, keyFile: relay.key }
            kafka:
              brokers: "127.0.0.1:9"
              properties:
                security.protocol: SASL_PLAINTEXT
                sasl.mechanism: PLAIN
                sasl.username: env:DOCTOR_CANARY
                sasl.password: file:kafka.secret
            sinks:
              - kafka: { topic: events }
              - log: { when: { types: [failing] } }
            http: { listen: "\(listen)", token: file:token.secret }

            """, to: "relay.yaml")
        _ = door.run("accounts", "add", "c", "@", secret: secrets[5])
        return (door, secrets)
    }

    private func part(_ title: String, of text: String) -> String {
        let parts = text.components(separatedBy: "\n== ")
        return parts.first { $0.hasPrefix(title) } ?? ""
    }

    @Test func `the file is new, its owner's alone, and holds no secret`() throws {
        let (door, secrets) = try door()
        let file = "\(door.path)/report.txt"
        let ending = door.run("doctor", "@", "--offline", "-o", file)
        #expect(ending.code == .ok)
        #expect(ending.out.contains(file))
        #expect(ending.out.contains("Look through it before you send it"))
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        for secret in secrets { #expect(!text.contains(secret)) }
        #expect(text.contains("http.token: file:token.secret"))
        #expect(text.contains("kafka.properties.sasl.password: file:kafka.secret"))
        #expect(text.contains("kafka.properties.sasl.mechanism: PLAIN"))
        #expect(text.contains("sinks[1].log.when.types: [failing]"))
        #expect(text.contains("source.interval.slowest: 1m  (default)"))
        for word in ["librdkafka", "libcurl", "SQLite", "OpenSSL", "libmicrohttpd", "kernel"] {
            #expect(part("versions", of: text).contains(word))
            #expect(!part("versions", of: text).contains("\(word) unknown"))
        }
        #expect(part("check --offline", of: text).contains("exit code 0"))
        #expect(part("journal", of: text).contains("table accounts: 1 rows"))
        let again = door.run("doctor", "@", "--offline", "-o", file)
        #expect(again.code == .failure)
        #expect(again.err.contains("exists already"))
    }

    @Test func `everything is down: each part says so, and the rest goes on`() throws {
        let (door, secrets) = try door()
        let ending = door.run("doctor", "@", "-o", "-")
        #expect(ending.code == .ok)
        for secret in secrets { #expect(!ending.out.contains(secret)) }
        #expect(part("API", of: ending.out).contains("DNS of 127.0.0.1: 127.0.0.1"))
        #expect(part("API", of: ending.out).contains("(unreachable)"))
        #expect(part("running relay", of: ending.out).contains("perhaps no relay runs"))
        #expect(part("check", of: ending.out).contains("exit code 69"))
    }

    @Test func `a running relay, the API and the clock beside it are shown`() throws {
        let server = try HTTPServer(host: "127.0.0.1", port: 0) { request in
            .text("page of \(request.path)")
        }
        let (door, _) = try door(
            baseURL: "http://127.0.0.1:\(server.port)", listen: "127.0.0.1:\(server.port)")
        let text = door.run("doctor", "@", "-o", "-").out
        #expect(part("API", of: text).contains("GET /v1/health: HTTP 200"))
        #expect(part("API", of: text).contains("clock: agrees with the API's to a second"))
        #expect(text.contains("page of /readyz"))
        #expect(text.contains("page of /metrics"))
    }

    @Test func `a broken pipeline, none, and a journal that is none`() throws {
        let (door, secrets) = try door()
        try door.write("no journal", to: "relay.db")
        let journal = door.run("doctor", "@", "--offline", "-o", "-")
        #expect(part("journal", of: journal.out).contains("cannot be had"))
        #expect(try door.files().contains("relay.db"))
        try door.write("version: 1\nhttp: { token: \(secrets[6]) }\nx: 1\n", to: "relay.yaml")
        let broken = door.run("doctor", "@", "-o", "-")
        #expect(broken.code == .ok)
        #expect(part("configuration", of: broken.out).contains("relay.yaml:3:1: unknown key `x`"))
        #expect(!broken.out.contains(secrets[6]))
        try door.write("version: 1\nhttp: { token: env:\(secrets[6]) }\n", to: "relay.yaml")
        #expect(!door.run("doctor", "@", "--offline", "-o", "-").out.contains(secrets[6]))
        let none = Door.run(["doctor", "-o", "-"])
        #expect(none.code == .ok)
        #expect(none.out.contains("no pipeline file was named"))
        let missing = Door.run(["doctor", "-o", "-", "-c", "\(door.path)/none.yaml"])
        #expect(missing.code == .ok)
        #expect(part("configuration", of: missing.out).contains("cannot be read"))
    }
}
