import Foundation
import HTTPClient
import Testing

/// `openssl s_server` with a certificate of its own for 127.0.0.1, until it is released.
private final class TLSServer {
    let folder: URL
    let port: Int
    private let process = Process()

    var certificate: String { folder.appendingPathComponent("cert.pem").path }

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let key = folder.appendingPathComponent("key.pem").path
        let certificate = folder.appendingPathComponent("cert.pem").path
        let make = Process()
        make.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        make.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=test",
            "-addext", "subjectAltName=IP:127.0.0.1",
        ]
        make.standardError = FileHandle.nullDevice
        try make.run()
        make.waitUntilExit()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = [
            "s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate, "-www",
        ]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        var text = ""
        while !(text.contains("ACCEPT") && text.hasSuffix("\n")) {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { break }
            text += String(decoding: data, as: UTF8.self)
        }
        let line = text.split(separator: "\n").last { $0.hasPrefix("ACCEPT") }
        port = try #require(line?.split(separator: ":").last.flatMap { Int($0) })
    }

    deinit {
        // Test threads block SIGTERM, and a process that they start inherits that.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }
}

@Suite struct TLSTests {
    private func get(_ url: String, caFile: String?) throws -> Result<HTTPResponse, HTTPError> {
        let client = try HTTPClient(HTTPLoopConfiguration(caFile: caFile))
        do throws(HTTPError) {
            return .success(try client.perform(HTTPRequest(url: url, timeout: .seconds(20))))
        } catch {
            return .failure(error)
        }
    }

    private func kind(_ result: Result<HTTPResponse, HTTPError>) -> HTTPError.Kind? {
        switch result {
        case .success: nil
        case .failure(let error): error.kind
        }
    }

    @Test func `a certificate is trusted by a file alone, and only for its own name`() throws {
        let server = try TLSServer()
        let url = "https://127.0.0.1:\(server.port)/"
        #expect(kind(try get(url, caFile: nil)) == .tls)
        let response = try get(url, caFile: server.certificate).get()
        #expect(response.status == 200)
        #expect(response.body.count > 100)
        let other = "https://localhost:\(server.port)/"
        #expect(kind(try get(other, caFile: server.certificate)) == .tls)
        withExtendedLifetime(server) {}
    }

    @Test func `a server that speaks no TLS is a TLS error`() throws {
        let server = ScriptedServer { socket in
            socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            socket.waitForClose()
        }
        #expect(kind(try get("https://127.0.0.1:\(server.port)/", caFile: nil)) == .tls)
    }
}
