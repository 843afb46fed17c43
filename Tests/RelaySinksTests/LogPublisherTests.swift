import Foundation
import RelayCore
import RelaySinks
import Testing

@Suite struct LogPublisherTests {
    private struct Pipe {
        let read: Int32
        let write: Int32

        init(nonBlocking: Bool = false) {
            var ends: [Int32] = [0, 0]
            _ = unsafe pipe(&ends)
            (read, write) = (ends[0], ends[1])
            if nonBlocking { _ = fcntl(write, F_SETFL, O_NONBLOCK) }
        }

        /// Reads what is there, at most `limit` bytes.
        func take(_ limit: Int = 1 << 20) -> String {
            var bytes = [UInt8](repeating: 0, count: limit)
            let count = unsafe Foundation.read(read, &bytes, limit)
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        }
    }

    private func run(_ lines: [String?]) -> Run {
        Run(parts: [
            .init(
                sink: SinkName("log"),
                messages: lines.enumerated().map { index, line in
                    OutboundMessage(
                        position: JournalPosition(Int64(index + 1)), key: "a",
                        value: line.map { Array($0.utf8) })
                }, place: JournalPosition(Int64(lines.count)), eventID: nil)
        ])
    }

    @Test func `each event is a line, and a tombstone none`() throws {
        let pipe = Pipe()
        let publisher = LogPublisher(descriptor: pipe.write)
        #expect(try publisher.open().isEmpty)
        try publisher.publish(run([#"{"a":1}"#, nil, #"{"b":"ü"}"#]))
        try publisher.probe()
        #expect(pipe.take() == "{\"a\":1}\n{\"b\":\"ü\"}\n")
    }

    @Test(arguments: [false, true])
    func `a slow reader gets every byte, in order`(nonBlocking: Bool) throws {
        let pipe = Pipe(nonBlocking: nonBlocking)
        let publisher = LogPublisher(descriptor: pipe.write)
        _ = try publisher.open()
        let lines = (0..<3000).map { "\($0) \(noise(90))" }
        let expected = lines.map { $0 + "\n" }.joined()
        let written = Thread {
            #expect(failure { try publisher.publish(run(lines)) } == nil)
        }
        written.start()
        var got = ""
        while got.utf8.count < expected.utf8.count { got += pipe.take(1000) }
        #expect(got == expected)
    }

    @Test func `closing ends the wait for a reader, and a line that was begun is finished`() throws
    {
        let pipe = Pipe(nonBlocking: true)
        let publisher = LogPublisher(descriptor: pipe.write)
        _ = try publisher.open()
        let line = String(repeating: "x", count: 200_000)
        let closer = Thread {
            Thread.sleep(forTimeInterval: 0.2)
            publisher.close(within: .seconds(1))
        }
        closer.start()
        let error = failure { try publisher.publish(run([line])) }
        #expect(error?.kind == .unavailable)
        #expect(error?.code == "ECANCELED")
        #expect(pipe.take() == String(line.prefix(65536)))
    }

    @Test func `a reader that left is gone for good, not the end of the process by a signal`()
        throws
    {
        let pipe = Pipe()
        let publisher = LogPublisher(descriptor: pipe.write)
        _ = try publisher.open()
        close(pipe.read)
        #expect(failure { try publisher.probe() }?.code == "EPIPE")
        let error = failure { try publisher.publish(run(["{}"])) }
        #expect(error?.kind == .gone)
        #expect(error?.code == "EPIPE")
    }
}
