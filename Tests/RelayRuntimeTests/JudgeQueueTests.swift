import ConnectionEvents
import RelayCore
import Testing

@testable import RelayRuntime

/// One commit follows from at most so many accounts, and from about so many bytes of lists.
@Suite struct JudgeQueueTests {
    /// A reading of so many bytes.
    private func job(_ number: Int, bytes: Int) throws -> JudgeJob {
        let start = Timestamp(milliseconds: 1_796_040_000_000)
        var walk = Walk(
            id: WalkID(start: start, random: (0, UInt64(number))),
            limits: WalkLimits(body: 64 << 20), expected: nil)
        let text = "{\"data\":[]" + String(repeating: " ", count: bytes - 11) + "}"
        let step = unsafe Array(text.utf8).withUnsafeBytes { bytes in
            walk.answered(unsafe PageAnswer(status: 200, body: bytes), now: start)
        }
        guard case .read(let reading) = step else { throw NoReading() }
        #expect(reading.bytes == bytes)
        return JudgeJob(
            slot: number, account: try account("a\(number)"), incarnation: 1, credentialTag: [],
            matter: .reading(
                reading, sealedAt: start, lastSealed: nil,
                fleet: FleetSight(others: 0, answers: [:])))
    }

    private struct NoReading: Error {}

    private func take(_ queue: JudgeQueue) -> [Int] {
        queue.take(limit: Judge.groupLimit, bytes: Judge.groupBytes, patience: .zero)?
            .compactMap(\.slot) ?? []
    }

    @Test func `one commit takes lists of eight MiB together, and in their order`() throws {
        let queue = JudgeQueue()
        for number in 1...5 { queue.add(try job(number, bytes: 3 << 20)) }
        #expect(take(queue) == [1, 2])
        #expect(take(queue) == [3, 4])
        #expect(take(queue) == [5])
        #expect(take(queue) == [])
    }

    @Test func `one account may have more, and goes alone`() throws {
        let queue = JudgeQueue()
        queue.add(try job(1, bytes: 100))
        queue.add(try job(2, bytes: 9 << 20))
        queue.add(try job(3, bytes: 100))
        #expect(take(queue) == [1])
        #expect(take(queue) == [2])
        #expect(take(queue) == [3])
    }

    @Test func `one commit takes five hundred accounts`() throws {
        let queue = JudgeQueue()
        for number in 0..<501 { queue.add(try job(number, bytes: 100)) }
        #expect(take(queue).count == 500)
        #expect(take(queue) == [500])
    }
}
