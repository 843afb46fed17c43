import Glibc
import HTTPClient
import HTTPServer
import Testing
import Threading

@Suite struct HTTPClientTests {
    /// Performs one GET and gives the response or the error's kind.
    private func get(
        _ url: String, timeout: Duration = .seconds(10),
        _ configuration: HTTPLoopConfiguration = .init()
    ) throws -> Result<HTTPResponse, HTTPError> {
        let client = try HTTPClient(configuration)
        do throws(HTTPError) {
            return .success(try client.perform(HTTPRequest(url: url, timeout: timeout)))
        } catch {
            return .failure(error)
        }
    }

    private func kind(
        _ url: String, timeout: Duration = .seconds(10),
        _ configuration: HTTPLoopConfiguration = .init()
    ) throws -> HTTPError.Kind? {
        switch try get(url, timeout: timeout, configuration) {
        case .success: nil
        case .failure(let error): error.kind
        }
    }

    /// Serves the same bytes on each connection, then closes.
    private func saying(_ bytes: String) -> ScriptedServer {
        ScriptedServer { socket in
            guard socket.readHead() != nil else { return }
            socket.write(bytes)
        }
    }

    @Test func `a request that may not be done twice has a connection of its own`() throws {
        let server = try HTTPServer(host: "127.0.0.1", port: 0) { _ in .text("ok") }
        let client = try HTTPClient()
        func send(_ method: HTTPMethod, alone: Bool) throws -> Bool {
            try client.perform(
                HTTPRequest(
                    method, url: "http://127.0.0.1:\(server.port)/",
                    body: method == .post ? [1] : nil, timeout: .seconds(20),
                    onNewConnection: alone)
            ).connectionReused
        }
        #expect(try !send(.get, alone: false))
        #expect(try send(.post, alone: false))
        #expect(try !send(.post, alone: true))
        #expect(try send(.get, alone: false))
        server.stop()
    }

    @Test func `status, kept headers and body come as they were sent`() throws {
        let server = try HTTPServer(host: "127.0.0.1", port: 0) { request in
            HTTPServerReply(
                status: 429,
                headers: [("Retry-After", "7"), ("X-Request-Id", "req_1"), ("X-Other", "dropped")],
                body: Array((request.header("authorization") ?? "none").utf8))
        }
        let client = try HTTPClient()
        let request = HTTPRequest(
            url: "http://127.0.0.1:\(server.port)/v1/x", headers: [("Authorization", "Bearer k")],
            timeout: .seconds(5))
        let first = try client.perform(request)
        let second = try client.perform(request)
        #expect(first.status == 429)
        #expect(first.header("RETRY-after") == "7")
        #expect(first.header("x-request-id") == "req_1")
        #expect(first.header("x-other") == nil)
        #expect(String(decoding: first.body, as: UTF8.self) == "Bearer k")
        #expect(first.httpVersion == "1.1")
        #expect(!first.connectionReused && second.connectionReused)
        #expect(second.totalTime > .zero && second.totalTime < .seconds(5))
        server.stop()
    }

    @Test(arguments: HTTPMethod.allCases)
    func `each method arrives with its body and without headers of the library's own`(
        _ method: HTTPMethod
    ) throws {
        let server = try HTTPServer(host: "127.0.0.1", port: 0) { request in
            let names = request.headers.map { $0.name.lowercased() }.sorted()
            let text = "\(request.isHead ? "HEAD" : request.method) \(names) "
            return HTTPServerReply(status: 200, body: Array(text.utf8) + request.body)
        }
        let body: [UInt8]? = method == .get || method == .head ? nil : Array("{\"a\":1}".utf8)
        let client = try HTTPClient()
        // Twice, and with a GET before: what one request set must not stay for the next.
        for _ in 0..<2 {
            _ = try client.perform(
                HTTPRequest(url: "http://127.0.0.1:\(server.port)/", timeout: .seconds(5)))
            let response = try client.perform(
                HTTPRequest(
                    method, url: "http://127.0.0.1:\(server.port)/", body: body,
                    timeout: .seconds(5)))
            let text = String(decoding: response.body, as: UTF8.self)
            if method == .head {
                #expect(text.isEmpty)
            } else {
                #expect(text.hasPrefix(method.rawValue + " "))
                #expect(body == nil || text.hasSuffix("{\"a\":1}"))
                #expect(!text.contains("expect") && !text.contains("\"content-type\""))
                #expect(text.contains("user-agent"))
            }
        }
        server.stop()
    }

    @Test func `a redirect is returned and not followed`() throws {
        let server = saying(
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
        let response = try get(server.url).get()
        #expect(response.status == 302)
        #expect(response.header("location") == "http://127.0.0.1:1/")
        #expect(server.connections == 1)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"data\"",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Le",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
    ])
    func `an answer that is cut is an error, never a shorter body`(_ bytes: String) throws {
        let server = saying(bytes)
        #expect(try kind(server.url) == .truncated)
    }

    @Test func `an interim answer alone is none`() throws {
        let server = saying("HTTP/1.1 100 Continue\r\n\r\n")
        #expect(try kind(server.url) == .reset)
    }

    @Test func `a body that ends with the connection is whole`() throws {
        for version in ["1.0", "1.1"] {
            let server = saying("HTTP/\(version) 200 OK\r\n\r\nall of it")
            let response = try get(server.url).get()
            #expect(String(decoding: response.body, as: UTF8.self) == "all of it")
            #expect(response.httpVersion == version)
        }
    }

    @Test func `interim answers before the final one are passed over`() throws {
        let server = saying(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let response = try get(server.url).get()
        #expect(response.status == 200)
        #expect(response.body == Array("ok".utf8))
    }

    @Test(arguments: [
        "", "SSH-2.0-OpenSSH_9\r\n", "<html>hello</html>",
        "HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n0123456789",
    ])
    func `what is no HTTP is an error`(_ bytes: String) throws {
        let server = saying(bytes)
        let kind = try kind(server.url)
        #expect(kind == (bytes.isEmpty ? .reset : .protocolError))
    }

    @Test func `a reset before and within the body is an error`() throws {
        for head in ["", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"] {
            let server = ScriptedServer { socket in
                guard socket.readHead() != nil else { return }
                socket.write(head)
                socket.armReset()
            }
            let kind = try kind(server.url)
            #expect(kind == .reset || (kind == .truncated && !head.isEmpty))
        }
    }

    @Test func `a body beyond the maximum ends the transfer, announced or not`() throws {
        let configuration = HTTPLoopConfiguration(maximumBody: 1000)
        let announced = saying("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n")
        #expect(try kind(announced.url, configuration) == .tooLarge)
        let endless = ScriptedServer { socket in
            guard socket.readHead() != nil else { return }
            socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while socket.write("64\r\n" + String(repeating: "x", count: 100) + "\r\n") {}
        }
        #expect(try kind(endless.url, configuration) == .tooLarge)
        let fitting = saying(
            "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + String(repeating: "x", count: 1000))
        #expect(try get(fitting.url, configuration).get().body.count == 1000)
    }

    @Test func `no compression is asked for, and what comes compressed is not guessed at`() throws {
        let server = try HTTPServer(host: "127.0.0.1", port: 0) { request in
            HTTPServerReply(
                status: 200, headers: [("Content-Encoding", "gzip")],
                body: Array((request.header("accept-encoding") ?? "none").utf8))
        }
        let response = try get("http://127.0.0.1:\(server.port)/").get()
        #expect(String(decoding: response.body, as: UTF8.self) == "identity")
        server.stop()
    }

    @Test func `headers without end are an error, many or one`() throws {
        let many = ScriptedServer { socket in
            guard socket.readHead() != nil else { return }
            socket.write("HTTP/1.1 200 OK\r\n")
            let line = "X-Line: " + String(repeating: "x", count: 1000) + "\r\n"
            while socket.write(line) {}
        }
        #expect(try kind(many.url) != nil)
        let one = ScriptedServer { socket in
            guard socket.readHead() != nil else { return }
            socket.write("HTTP/1.1 200 OK\r\nX-Line: ")
            while socket.write(String(repeating: "x", count: 1000)) {}
        }
        #expect(try kind(one.url) != nil)
    }

    @Test func `a drip of bytes does not move the deadline`() throws {
        let server = ScriptedServer { socket in
            guard socket.readHead() != nil else { return }
            socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while socket.write("x") { usleep(20_000) }
        }
        #expect(try kind(server.url, timeout: .milliseconds(300)) == .timedOut)
    }

    @Test func `a server that says nothing, and one that accepts nobody, time out or refuse`()
        throws
    {
        let silent = ScriptedServer { $0.waitForClose() }
        #expect(try kind(silent.url, timeout: .milliseconds(200)) == .timedOut)
        #expect(try kind("http://127.0.0.1:\(deadPort())/") == .unreachable)
    }

    @Test func `a name without an address is an error of its own`() throws {
        #expect(try kind("http://no-such-host.invalid/", timeout: .seconds(5)) == .resolve)
    }

    @Test(arguments: [
        "ftp://127.0.0.1/", "file:///etc/passwd", "127.0.0.1", "", "http://", "http://a b/",
        "http://user:secret@127.0.0.1/", "https://127.0.0.1:99999/",
    ])
    func `a URL that is not plain http or https is refused unsent`(_ url: String) throws {
        #expect(try kind(url) == .unsupportedURL)
    }

    @Test func `a header that would break the request is refused unsent`() throws {
        let client = try HTTPClient()
        for header in [("X-A", "b\r\nX-B: c"), ("X A", "b"), ("", "b"), ("X:A", "b")] {
            let request = HTTPRequest(
                url: "http://127.0.0.1:\(deadPort())/", headers: [header], timeout: .seconds(1))
            #expect(throws: HTTPError.self) { try client.perform(request) }
            do {
                _ = try client.perform(request)
            } catch {
                #expect(error.kind == .invalidRequest)
            }
        }
    }

    @Test func `no description shows a header, a path or a query`() throws {
        let request = HTTPRequest(
            .post, url: "http://u:s3cret@127.0.0.1:1/s3cret?token=s3cret",
            headers: [("Authorization", "Bearer s3cret")], body: Array("s3cret".utf8),
            timeout: .milliseconds(1))
        var dumped = ""
        dump(request, to: &dumped)
        #expect(!"\(request)\(dumped)\(String(reflecting: request))".contains("s3cret"))
        for url in [request.url, "http://127.0.0.1:1/s3cret?token=s3cret", "ht tp://s3cret"] {
            guard case .failure(let error) = try get(url) else {
                Issue.record("an answer from nowhere")
                return
            }
            #expect(!"\(error)\(String(reflecting: error))".contains("s3cret"))
        }
    }

    @Test func `certificates that cannot be read are an error at once`() {
        #expect(throws: HTTPError.self) {
            try HTTPClient(HTTPLoopConfiguration(caFile: "/nonexistent/ca.pem"))
        }
    }
}
