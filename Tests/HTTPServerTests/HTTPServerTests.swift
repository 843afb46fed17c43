import HTTPServer
import Testing
import Threading

@Suite struct HTTPServerTests {
    private func server(
        limits: HTTPServerLimits = .init(),
        _ handler: @escaping @Sendable (HTTPServerRequest) -> HTTPServerReply
    ) throws -> HTTPServer {
        try HTTPServer(host: "127.0.0.1", port: 0, limits: limits, handler: handler)
    }

    @Test func `the handler sees method, raw path, decoded query, headers, body and peer`() throws {
        let server = try server { request in
            let query = request.query.map { "\($0.name)=\($0.value)" }.joined(separator: ";")
            let body = String(decoding: request.body, as: UTF8.self)
            return .text(
                "\(request.method) \(request.path) \(request.segments ?? []) \(query) "
                    + "\(request.header("x-THING") ?? "-") \(body) \(request.peer)")
        }
        let answer = RawClient.ask(
            server.port,
            "POST /a%2Fb/c%20d?x=1%202&y=a+b&z&w=%zz HTTP/1.1\r\nX-Thing: t\r\nContent-Length: 4",
            body: "body")
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(
            answer.hasSuffix(
                "POST /a%2Fb/c%20d [\"a/b\", \"c d\"] x=1 2;y=a b;z=;w=%zz t body 127.0.0.1"))
        server.stop()
    }

    @Test func `an address can be tried, and is taken while somebody listens`() throws {
        let server = try server { _ in .text("") }
        let failure = #expect(throws: HTTPServerError.self) {
            try HTTPServer.tryAddress(host: "127.0.0.1", port: server.port)
        }
        #expect(failure?.kind == .addressInUse)
        server.stop()
        try HTTPServer.tryAddress(host: "127.0.0.1", port: server.port)
    }

    @Test func `a malformed escape in the path has no segments`() throws {
        let server = try server { .text($0.segments == nil ? "none" : "some") }
        for path in ["/a%2", "/%", "/%zz", "/%ff"] {
            #expect(RawClient.ask(server.port, "GET \(path) HTTP/1.1").hasSuffix("none"))
        }
        server.stop()
    }

    @Test func `HEAD is a GET whose body is left out`() throws {
        let server = try server { .text("\($0.method)\($0.isHead)") }
        let answer = RawClient.ask(server.port, "HEAD / HTTP/1.1")
        #expect(answer.contains("Content-Length: 7\r\n"))
        #expect(answer.hasSuffix("\r\n\r\n"))
        server.stop()
    }

    @Test func `a connection serves one request after another`() throws {
        let server = try server { .text($0.path + "!") }
        let client = RawClient(port: server.port)
        for number in 0..<5 {
            client.send("GET /\(number) HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(client.read(until: "!").hasSuffix("/\(number)!"))
        }
        server.stop()
    }

    @Test func `a body over the limit is 413, announced or chunked`() throws {
        let calls = Lock(0)
        let server = try server(limits: HTTPServerLimits(body: 100)) { request in
            calls.withLock { $0 += 1 }
            return .text("\(request.body.count)")
        }
        let big = String(repeating: "x", count: 101)
        let refused = RawClient.ask(
            server.port, "POST / HTTP/1.1\r\nContent-Length: 101", body: big)
        #expect(refused.hasPrefix("HTTP/1.1 413 "))
        #expect(refused.contains(#"{"error":{"code":"too_large","message":"#))
        #expect(refused.contains(#""requestId":"req_"#))
        #expect(
            RawClient.ask(
                server.port, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked",
                body: "65\r\n\(big)\r\n0\r\n\r\n"
            ).hasPrefix("HTTP/1.1 413 "))
        #expect(calls.withLock { $0 } == 0)
        #expect(
            RawClient.ask(
                server.port, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked",
                body: "64\r\n\(big.dropLast())\r\n0\r\n\r\n"
            ).hasSuffix("100"))
        server.stop()
    }

    @Test func `malformed requests are 400 and too long heads 431, without a call`() throws {
        let calls = Lock(0)
        let server = try server(limits: HTTPServerLimits(head: 4096)) { _ in
            calls.withLock { $0 += 1 }
            return .text("")
        }
        let noHost = RawClient(port: server.port).send("GET / HTTP/1.1\r\n\r\n").read()
        #expect(noHost.hasPrefix("HTTP/1.1 400 "))
        let long = RawClient.ask(
            server.port, "GET / HTTP/1.1\r\nX-Long: \(String(repeating: "x", count: 8192))")
        #expect(long.hasPrefix("HTTP/1.1 431 "))
        #expect(calls.withLock { $0 } == 0)
        server.stop()
    }

    @Test func `405 names what is allowed`() throws {
        let server = try server {
            $0.method == "GET" ? .text("") : .methodNotAllowed("GET", "HEAD")
        }
        let answer = RawClient.ask(server.port, "DELETE / HTTP/1.1")
        #expect(answer.hasPrefix("HTTP/1.1 405 "))
        #expect(answer.contains("Allow: GET, HEAD\r\n"))
        server.stop()
    }

    @Test func `a header that HTTP does not allow is left out`() throws {
        let server = try server { _ in
            HTTPServerReply(status: 200, headers: [("X-A", "a\r\nX-B: b"), ("X-C", "c")])
        }
        let answer = RawClient.ask(server.port, "GET / HTTP/1.1")
        #expect(!answer.contains("X-B") && answer.contains("X-C: c\r\n"))
        server.stop()
    }

    @Test func `a taken port is an error with a remedy, and a host must be an address`() throws {
        let server = try server { _ in .text("") }
        do {
            _ = try HTTPServer(host: "127.0.0.1", port: server.port) { _ in .text("") }
            Issue.record("two servers on one port")
        } catch {
            #expect(error.kind == .addressInUse)
            #expect(error.reason.contains("127.0.0.1:\(server.port). Choose another port"))
        }
        for host in ["example.com", "", "127.0.0.1.1", "203.0.113.7"] {
            do {
                _ = try HTTPServer(host: host, port: 0) { _ in .text("") }
                Issue.record("listens on \(host)")
            } catch {
                #expect(error.kind == .badAddress)
            }
        }
        for host in ["localhost", "::1", "[::1]"] {
            let other = try HTTPServer(host: host, port: 0) { _ in .text("") }
            #expect(other.port > 0)
        }
        server.stop()
        let again = try HTTPServer(host: "127.0.0.1", port: server.port) { _ in .text("") }
        again.stop()
    }

    @Test func `a delayed reply holds no other request up`() throws {
        let server = try server { request in
            let reply = HTTPServerReply.text(request.path)
            return request.path == "/slow" ? reply.delayed(by: .milliseconds(200)) : reply
        }
        let slow = RawClient(port: server.port)
        slow.send("GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(RawClient.ask(server.port, "GET /quick HTTP/1.1").hasSuffix("/quick"))
        #expect(slow.read().hasSuffix("/slow"))
        server.stop()
    }

    @Test func `another thread may reply, before or after it is waited for`() throws {
        let waiting = Lock<PendingReply?>(nil)
        let server = try server { request in
            let pending = PendingReply()
            if request.path == "/early" {
                pending.send(.text("early"))
            } else {
                waiting.signal { $0 = pending }
            }
            return .later(pending)
        }
        #expect(RawClient.ask(server.port, "GET /early HTTP/1.1").hasSuffix("early"))
        let late = RawClient(port: server.port)
        late.send("GET /late HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        let pending = try #require(waiting.wait(timeout: .seconds(10)) { $0 })
        pending.send(.text("late"))
        pending.send(.text("twice"))
        #expect(late.read().hasSuffix("late"))
        server.stop()
    }

    @Test func `faults on demand: no answer, a reset, a cut body`() throws {
        let server = try server { request in
            switch request.path {
            case "/drop": .dropped()
            case "/reset": .dropped(reset: true)
            default: HTTPServerReply.text("0123456789").truncated(after: 4)
            }
        }
        #expect(RawClient.ask(server.port, "GET /drop HTTP/1.1").isEmpty)
        #expect(RawClient.ask(server.port, "GET /reset HTTP/1.1").isEmpty)
        let cut = RawClient.ask(server.port, "GET /cut HTTP/1.1")
        #expect(cut.contains("Content-Length: 10\r\n") && cut.hasSuffix("\r\n\r\n0123"))
        server.stop()
    }

    @Test func `stop ends waiting requests with 503`() throws {
        let waiting = Lock(false)
        let server = try server { _ in
            waiting.signal { $0 = true }
            return .later(PendingReply())
        }
        let client = RawClient(port: server.port)
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(waiting.wait(timeout: .seconds(10)) { $0 ? true : nil } == true)
        server.stop()
        let answer = client.read()
        // Stopped before the answer could be written, the connection is just closed.
        #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 503 "))
    }
}
