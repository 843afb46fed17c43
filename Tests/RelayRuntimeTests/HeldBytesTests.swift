import RelayCore
import Testing
import Threading

@testable import RelayRuntime

@Suite("what walks under way hold together")
struct HeldBytesTests {
    @Test func `Beyond it a walk gives way, the others go on, and nothing stays counted`() throws {
        let page =
            #"{"data":[{"id":"a","note":"\#(String(repeating: "x", count: 150))"}],"#
            + #""nextCursor":"c"}"#
        let size = page.utf8.count
        let bench = Bench(places: 64, limits: WalkLimits(body: size))
        for index in 0..<64 {
            bench.world.put("key \(index)", [:])
            bench.register.add(try account("a\(index)"), key: "key \(index)", paused: false)
        }
        try bench.start()
        _ = bench.loop.turn()
        let tokens = Array(bench.transport.asking.keys)
        #expect(tokens.count == 64)
        for token in tokens {
            _ = bench.transport.take(token)
            bench.loop.answer(token, 200, page)
            #expect(bench.loop.heldBytes <= PollLoop.heldBodies * size)
        }
        #expect(bench.loop.heldBytes == PollLoop.heldBodies * size)
        #expect(bench.loop.figures.walks["walks_too_large"] == 64 - PollLoop.heldBodies)
        #expect(bench.lines.withLock { $0.contains { $0.contains("larger than all walks") } })
        _ = bench.loop.turn()
        for token in Array(bench.transport.asking.keys) {
            _ = bench.transport.take(token)
            bench.loop.failed(token, PageFailure(code: "reset", reason: "scripted"))
        }
        #expect(bench.loop.heldBytes == 0)
    }
}
