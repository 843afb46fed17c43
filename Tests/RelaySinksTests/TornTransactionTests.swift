import Kafka
import RelayCore
import Testing

@testable import RelaySinks

/// What is published again of a transaction that was committed in some partitions only.
@Suite struct TornTransactionTests {
    static let sink = SinkName("events")
    /// A key of each of two partitions.
    let here: String
    let there: String

    init() throws {
        let keys = (0..<20).map { "acct_\($0)" }
        func key(of partition: Int32) throws -> String {
            try #require(
                keys.first { KafkaPartition.of(key: Array($0.utf8), count: 2) == partition })
        }
        (here, there) = (try key(of: 0), try key(of: 1))
    }

    /// Torn up to position 9; these records of it are committed.
    private func torn(_ seen: [OutboundMessage]) -> TornTransaction {
        TornTransaction(
            places: [Self.sink: JournalPosition(9)],
            seen: Set(
                seen.map {
                    TornTransaction.Seen(
                        topic: Self.sink.text, key: Array($0.key.utf8), value: $0.value)
                }))
    }

    private func message(_ position: Int64, _ key: String, _ value: String?) -> OutboundMessage {
        OutboundMessage(
            position: JournalPosition(position), key: key, value: value.map { Array($0.utf8) },
            headers: [])
    }

    private func run(_ messages: [OutboundMessage], to place: Int64) -> Run {
        Run(parts: [
            Run.Part(
                sink: Self.sink, messages: messages, place: JournalPosition(place), eventID: nil)
        ])
    }

    private func left(
        _ torn: inout TornTransaction, _ messages: [OutboundMessage], to place: Int64
    ) -> [Int64] {
        var run = run(messages, to: place)
        torn.leaveOut(of: &run)
        torn.published(run)
        return run.parts[0].messages.map(\.position.number)
    }

    @Test func `what is committed is left out up to its place, wherever it is, and no more`() {
        let messages = [
            message(5, here, "a"), message(6, there, "b"), message(7, there, nil),
            message(8, here, "c"), message(9, there, "d"), message(10, there, "e"),
        ]
        // Two of them were torn: of one a record of either key came through, of the other none.
        var torn = torn([messages[0], messages[1], messages[5]])
        #expect(left(&torn, messages, to: 10) == [7, 8, 9, 10])
        #expect(torn.isOver)
    }

    @Test func `what is committed is left out of the runs that follow, too`() {
        let first = message(6, there, "b")
        var torn = torn([first, message(8, there, "d")])
        #expect(left(&torn, [message(5, here, "a")], to: 5) == [5])
        #expect(left(&torn, [first], to: 6) == [])
        #expect(left(&torn, [message(7, there, nil), message(8, there, "d")], to: 8) == [7])
        #expect(!torn.isOver)
        #expect(left(&torn, [message(9, here, "e")], to: 9) == [9])
        #expect(torn.isOver)
    }

    @Test func `what was aborted everywhere comes again whole`() {
        let messages = [message(5, here, "a"), message(6, there, "b")]
        var torn = torn([message(2, there, "older")])
        #expect(left(&torn, messages, to: 9) == [5, 6])
        #expect(torn.isOver)
    }

    @Test func `tombstones show nothing, and come again`() {
        // An older tombstone of the key would pass for this one.
        var torn = torn([message(1, there, nil)])
        #expect(left(&torn, [message(5, there, nil)], to: 5) == [5])
    }

    @Test func `other sinks lose nothing`() {
        var torn = torn([message(5, there, "a")])
        var run = Run(parts: [
            Run.Part(
                sink: SinkName("other"), messages: [message(5, there, "a")],
                place: JournalPosition(9), eventID: nil)
        ])
        torn.leaveOut(of: &run)
        torn.published(run)
        #expect(run.parts[0].messages.count == 1)
        #expect(!torn.isOver)
    }
}
