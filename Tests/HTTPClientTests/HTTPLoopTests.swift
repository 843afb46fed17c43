import HTTPClient
import HTTPServer
import Testing
import Threading

/// A driver that a test scripts, and what it has seen.
///
/// On the loop's thread but for `seen`.
private final class Driver: HTTPLoopDriver, @unchecked Sendable {
    // @unchecked: `queue` is filled before `run`, then touched by the loop's thread alone.
    struct Seen: Sendable, Equatable {
        var token: Int
        var status: Int
        var kind: HTTPError.Kind?
        var body: String
    }

    var queue: [(request: HTTPRequest, token: Int)]
    var onTurn: ((HTTPLoop) -> Void)?
    var onCompleted: ((HTTPLoop, Int) -> Void)?
    let seen = Lock([Seen]())
    let expected: Int
    private(set) var mostInFlight = 0

    init(_ queue: [(request: HTTPRequest, token: Int)], expected: Int? = nil) {
        self.queue = queue
        self.expected = expected ?? queue.count
    }

    func turn(_ loop: HTTPLoop) -> Duration? {
        onTurn?(loop)
        while loop.free > 0, let next = queue.popLast() {
            loop.start(next.request, token: next.token)
        }
        mostInFlight = max(mostInFlight, 4 - loop.free)
        if seen.withLock({ $0.count }) >= expected { loop.stop() }
        return nil
    }

    func completed(_ loop: HTTPLoop, token: Int, result: borrowing HTTPResult) {
        let body = result.withBody { span in
            String(decoding: (0..<span.byteCount).map { span.unsafeByte($0) }, as: UTF8.self)
        }
        let seen = Seen(
            token: token, status: result.status, kind: result.error?.kind, body: body)
        self.seen.signal { $0.append(seen) }
        onCompleted?(loop, token)
    }
}

extension RawSpan {
    fileprivate func unsafeByte(_ offset: Int) -> UInt8 {
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }
}

@Suite struct HTTPLoopTests {
    private func echo() throws -> HTTPServer {
        try HTTPServer(host: "127.0.0.1", port: 0) { request in
            HTTPServerReply(status: 200, body: Array(request.path.utf8))
        }
    }

    private func run(_ loop: HTTPLoop, _ driver: Driver) -> Bool {
        let thread = OSThread(name: "loop") { loop.run(driver) }
        return thread.join(timeout: .seconds(20))
    }

    @Test func `many requests share few connections, and each gets its own answer`() throws {
        let server = try echo()
        let loop = try HTTPLoop(HTTPLoopConfiguration(maxConnections: 4))
        let driver = Driver(
            (0..<200).map { number in
                (
                    HTTPRequest(
                        url: "http://127.0.0.1:\(server.port)/\(number)", timeout: .seconds(10)),
                    number
                )
            })
        #expect(run(loop, driver))
        let seen = driver.seen.withLock { $0 }.sorted { $0.token < $1.token }
        #expect(
            seen
                == (0..<200).map { Driver.Seen(token: $0, status: 200, kind: nil, body: "/\($0)") })
        #expect(driver.mostInFlight == 4)
        #expect(loop.free == 4)
        server.stop()
    }

    @Test func `a request that cannot be sent is told by completed, not within start`() throws {
        let loop = try HTTPLoop(HTTPLoopConfiguration(maxConnections: 4))
        let bad = HTTPRequest(url: "gopher://x/", timeout: .seconds(1))
        let driver = Driver([(bad, 7)])
        #expect(run(loop, driver))
        #expect(
            driver.seen.withLock { $0 } == [
                Driver.Seen(token: 7, status: 0, kind: .unsupportedURL, body: "")
            ])
    }

    @Test func `a slow answer holds no other up`() throws {
        let server = try HTTPServer(host: "127.0.0.1", port: 0) { request in
            let reply = HTTPServerReply(status: 200, body: Array(request.path.utf8))
            return request.path == "/0" ? reply.delayed(by: .seconds(30)) : reply
        }
        let loop = try HTTPLoop(HTTPLoopConfiguration(maxConnections: 4))
        let driver = Driver(
            (0..<20).reversed().map { number in
                (
                    HTTPRequest(
                        url: "http://127.0.0.1:\(server.port)/\(number)",
                        timeout: number == 0 ? .milliseconds(400) : .seconds(10)), number
                )
            })
        #expect(run(loop, driver))
        let seen = driver.seen.withLock { $0 }
        #expect(seen.last?.token == 0 && seen.last?.kind == .timedOut)
        #expect(seen.count { $0.status == 200 } == 19)
        server.stop()
    }

    @Test func `a cancelled request is heard of no more and its handle is free`() throws {
        let silent = ScriptedServer { $0.waitForClose() }
        let loop = try HTTPLoop(HTTPLoopConfiguration(maxConnections: 4))
        let request = HTTPRequest(url: silent.url, timeout: .seconds(60))
        let driver = Driver([(request, 1), (request, 2)], expected: 1)
        nonisolated(unsafe) var turns = 0
        driver.onTurn = { loop in
            unsafe turns += 1
            guard unsafe turns == 2 else { return }
            loop.cancel(token: 1)
            loop.cancel(token: 2)
            #expect(loop.free == 4)
            loop.stop()
        }
        #expect(run(loop, driver))
        #expect(driver.seen.withLock { $0.isEmpty })
    }

    @Test func `stop ends the wait from another thread and cancels what is in flight`() throws {
        let silent = ScriptedServer { $0.waitForClose() }
        let loop = try HTTPLoop(HTTPLoopConfiguration(maxConnections: 4))
        let driver = Driver([(HTTPRequest(url: silent.url, timeout: .seconds(60)), 1)])
        let started = Lock(false)
        driver.onTurn = { _ in started.signal { $0 = true } }
        let thread = OSThread(name: "loop") { loop.run(driver) }
        #expect(started.wait(timeout: .seconds(10)) { $0 ? true : nil } == true)
        loop.stop()
        #expect(thread.join(timeout: .seconds(10)))
        #expect(driver.seen.withLock { $0.isEmpty })
        #expect(loop.free == 4)
    }

    @Test func `wake has the driver asked again`() throws {
        let loop = try HTTPLoop(HTTPLoopConfiguration(maxConnections: 1))
        let driver = Driver([], expected: 1)
        let turns = Lock(0)
        driver.onTurn = { _ in turns.signal { $0 += 1 } }
        let thread = OSThread(name: "loop") { loop.run(driver) }
        #expect(turns.wait(timeout: .seconds(10)) { $0 >= 1 ? true : nil } == true)
        loop.wake()
        #expect(turns.wait(timeout: .seconds(10)) { $0 >= 2 ? true : nil } == true)
        loop.stop()
        #expect(thread.join(timeout: .seconds(10)))
    }

    @Test func `a kept connection that the server closed is replaced without an error`() throws {
        let server = ScriptedServer { socket in
            guard socket.readHead() != nil else { return }
            socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let loop = try HTTPLoop(HTTPLoopConfiguration(maxConnections: 1))
        let request = HTTPRequest(url: server.url, timeout: .seconds(10))
        let driver = Driver((0..<20).map { (request, $0) })
        #expect(run(loop, driver))
        #expect(driver.seen.withLock { $0.filter { $0.kind != nil || $0.body != "ok" } } == [])
        #expect(server.connections == 20)
    }

    @Test func `a request may be started while another is told of, and the body stays`() throws {
        let server = try echo()
        let loop = try HTTPLoop(HTTPLoopConfiguration(maxConnections: 4))
        let url = "http://127.0.0.1:\(server.port)/"
        let driver = Driver([(HTTPRequest(url: url + "0", timeout: .seconds(10)), 0)], expected: 10)
        driver.onCompleted = { loop, token in
            guard token < 9 else { return }
            loop.start(
                HTTPRequest(url: url + "\(token + 1)", timeout: .seconds(10)), token: token + 1)
        }
        #expect(run(loop, driver))
        #expect(driver.seen.withLock { $0.map(\.body) } == (0..<10).map { "/\($0)" })
        server.stop()
    }

    @Test func `starting without a free handle traps`() async {
        await #expect(processExitsWith: .failure) {
            let loop = try HTTPLoop(HTTPLoopConfiguration(maxConnections: 1))
            let request = HTTPRequest(url: "http://127.0.0.1:1/", timeout: .seconds(1))
            loop.start(request, token: 1)
            loop.start(request, token: 2)
        }
    }
}
