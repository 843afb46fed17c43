internal import ConnectionEvents
internal import RelayCore
internal import Threading

/// What waits for the judge, in the order in which it came.
///
/// Threads: any.
final class JudgeQueue: Sendable {
    private struct Content {
        var jobs: [JudgeJob] = []
        var marks: [AccountID: SealMark] = [:]
        var isClosed = false
    }

    private let content = Lock(Content())

    func add(_ job: JudgeJob) {
        content.signal { $0.jobs.append(job) }
    }

    /// Hands over marks of sealed walks, to be saved with the next group.
    func add(_ marks: [AccountID: SealMark]) {
        content.signal { $0.marks.merge(marks) { _, later in later } }
    }

    /// Takes the marks that wait.
    func takeMarks() -> [AccountID: SealMark] {
        content.withLock { content in
            defer { content.marks = [:] }
            return content.marks
        }
    }

    /// Takes up to `limit` jobs, of about that many bytes, waiting for the first; nil when closed
    /// and empty.
    func take(limit: Int, bytes: Int, patience: Duration) -> [JudgeJob]? {
        let taken = content.wait(timeout: patience) { content -> [JudgeJob]?? in
            if content.jobs.isEmpty { return content.isClosed ? .some(nil) : nil }
            var (count, size) = (0, 0)
            for job in content.jobs.prefix(limit) {
                size += job.bytes
                if count > 0, size > bytes { break }
                count += 1
            }
            let taken = Array(content.jobs.prefix(count))
            content.jobs.removeFirst(count)
            return .some(taken)
        }
        guard let taken else { return [] }
        return taken
    }

    /// How many jobs wait.
    var count: Int { content.withLock { $0.jobs.count } }

    /// Whether marks wait to be saved.
    var hasMarks: Bool { content.withLock { !$0.marks.isEmpty } }

    /// Says that no more jobs come; what is there is still judged.
    func close() {
        content.signal { $0.isClosed = true }
    }
}
