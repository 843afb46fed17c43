import ConnectionEvents
import RelayRuntime
import Testing
import Threading

@Suite struct RelayLogTests {
    private func log() -> (RelayLog, Lock<[String]>) {
        let lines = Lock<[String]>([])
        return (RelayLog { line in lines.withLock { $0.append(line) } }, lines)
    }

    @Test func `a line has time, level, message and fields`() throws {
        let (log, lines) = log()
        log.note(
            .warning, "x", "something happened", ["account": "a", "why": "two words", "e": ""])
        let line = try #require(lines.withLock { $0.first })
        let (time, rest) = (line.prefix(24), line.dropFirst(24))
        #expect(Timestamp(String(time)) != nil)
        #expect(rest == #" warning something happened account=a why="two words" e="""#)
    }

    @Test func `lines of one sort are limited, of others not`() {
        let (log, lines) = log()
        for _ in 0..<100 { log.note(.info, "one", "again") }
        log.note(.info, "other", "first")
        let count = lines.withLock { $0.count { $0.hasSuffix("again") } }
        // The minute may turn once meanwhile.
        #expect((RelayLog.linesPerMinute...2 * RelayLog.linesPerMinute).contains(count))
        #expect(lines.withLock { $0.last?.hasSuffix("first") } == true)
    }

    @Test func `sorts without end share one count`() {
        let (log, lines) = log()
        for sort in 0..<1000 { log.note(.info, "sort-\(sort)", "line") }
        let count = lines.withLock { $0.count { $0.hasSuffix("line") } }
        #expect((256 + RelayLog.linesPerMinute...300 + RelayLog.linesPerMinute).contains(count))
    }

    @Test func `hostile text stays one line of bounded length`() throws {
        let (log, lines) = log()
        let text = "a\r\nb\u{1B}[31m\"c\"\u{85}\u{2028}" + String(repeating: "x", count: 5000)
        log.note(.error, "x", text, ["value": text])
        let line = try #require(lines.withLock { $0.first })
        #expect(lines.withLock { $0.count } == 1)
        #expect(!line.unicodeScalars.contains { $0.properties.generalCategory == .control })
        #expect(!line.unicodeScalars.contains("\u{2028}"))
        #expect(line.count < 2100)
        #expect(line.contains("value=\"a  b [31m'c'"))
    }
}
