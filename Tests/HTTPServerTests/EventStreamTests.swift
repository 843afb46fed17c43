import Glibc
import HTTPServer
import Testing
import Threading

@Suite struct EventStreamTests {
    /// A server that gives each client a stream, and the streams it gave.
    private func server(capacity: Int = 1 << 16) throws -> (HTTPServer, Lock<[EventStream]>) {
        let streams = Lock([EventStream]())
        let server = try HTTPServer(host: "127.0.0.1", port: 0) { _ in
            let stream = EventStream(capacity: capacity)
            stream.send(data: "hello")
            streams.signal { $0.append(stream) }
            return .stream(stream)
        }
        return (server, streams)
    }

    private func subscribe(_ server: HTTPServer) -> RawClient {
        RawClient(port: server.port).send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
    }

    @Test func `events arrive as they are sent, in order, until the stream is closed`() throws {
        let (server, streams) = try server()
        let client = subscribe(server)
        #expect(client.read(until: "data: hello\n\n").contains("Content-Type: text/event-stream"))
        let stream = try #require(streams.wait(timeout: .seconds(10)) { $0.first })
        for number in 0..<100 { stream.send(event: "tick", id: "\(number)", data: "a\nb") }
        stream.close()
        let text = client.read(until: "\r\n0\r\n")
        let ids = text.split(separator: "\n").filter { $0.hasPrefix("id: ") }
        #expect(ids == (0..<100).map { "id: \($0)" })
        #expect(text.contains("event: tick\nid: 99\ndata: a\ndata: b\n\n"))
        #expect(!stream.send(data: "late"))
        server.stop()
    }

    @Test func `a client that does not read is cut off, and the others go on`() throws {
        let (server, streams) = try server(capacity: 100_000)
        let slow = subscribe(server)
        _ = slow.read(until: "data: hello\n\n")
        let quick = subscribe(server)
        _ = quick.read(until: "data: hello\n\n")
        let both = try #require(
            streams.wait(timeout: .seconds(10)) { $0.count == 2 ? $0 : nil })
        let event = String(repeating: "x", count: 10_000)
        var sent = 0
        while both[0].send(data: event), sent < 10_000 { sent += 1 }
        #expect(!both[0].isOpen && sent < 10_000)
        #expect(both[1].send(data: "still here"))
        #expect(quick.read(until: "still here\n\n").contains("still here"))
        // The end of a chunked body would be an orderly one; this is none.
        #expect(!slow.read().hasSuffix("0\r\n\r\n"))
        server.stop()
    }

    @Test func `a client that reads late gets everything that fits`() throws {
        let (server, streams) = try server(capacity: 1 << 25)
        let late = subscribe(server)
        _ = late.read(until: "data: hello\n\n")
        let stream = try #require(streams.wait(timeout: .seconds(10)) { $0.first })
        let event = String(repeating: "x", count: 10_000)
        for _ in 0..<800 { #expect(stream.send(data: event)) }
        stream.close()
        let text = late.read(until: "\r\n0\r\n")
        #expect(text.utf8.count > 8_000_000)
        server.stop()
    }

    @Test func `a client that leaves closes its stream at the next event`() throws {
        let (server, streams) = try server()
        var client: RawClient? = subscribe(server)
        _ = client?.read(until: "data: hello\n\n")
        client = nil
        let stream = try #require(streams.wait(timeout: .seconds(10)) { $0.first })
        let closed = Lock(false)
        let sender = OSThread(name: "sender") {
            while stream.send(data: "anyone?") { sched_yield() }
            closed.signal { $0 = true }
        }
        #expect(closed.wait(timeout: .seconds(20)) { $0 ? true : nil } == true)
        sender.join()
        server.stop()
    }

    @Test func `a stream given to a second client is refused`() throws {
        let stream = EventStream()
        let server = try HTTPServer(host: "127.0.0.1", port: 0) { _ in .stream(stream) }
        let first = subscribe(server)
        stream.send(data: "one")
        _ = first.read(until: "data: one")
        #expect(RawClient.ask(server.port, "GET / HTTP/1.1").hasPrefix("HTTP/1.1 500 "))
        server.stop()
    }

    @Test func `stop ends open streams while others still send`() throws {
        let (server, streams) = try server()
        let clients = (0..<20).map { _ in subscribe(server) }
        let all = try #require(streams.wait(timeout: .seconds(10)) { $0.count == 20 ? $0 : nil })
        let sender = OSThread(name: "sender") {
            var isOpen = true
            while isOpen {
                isOpen = false
                for stream in all where stream.send(data: "x") { isOpen = true }
            }
        }
        for client in clients { _ = client.read(until: "data: x") }
        server.stop()
        #expect(sender.join(timeout: .seconds(20)))
        #expect(all.allSatisfy { !$0.isOpen })
    }
}
