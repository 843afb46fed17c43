public import ConnectionEvents
public import Hashing
internal import JSON

/// One complete reading of an account's list: a machine fed with answers, page by page.
///
/// It ends read, unchanged or failed, once. A read walk is sealed only when its rows decode
/// (``WalkReading/seal(at:)``); until then it is nothing that could change a belief.
public struct Walk: Sendable {
    /// The walk; its time is its start.
    public let id: WalkID
    private let limits: WalkLimits
    /// What the pages together hashed to last time, where nothing waits for this walk.
    private let expected: Fingerprint?
    private var fingerprints: [Fingerprint] = []
    private var traces: [PageTrace] = []
    private var rows: [JSONValue] = []
    private var cursors: Set<String> = []
    /// Bytes of the bodies that were read.
    public private(set) var bytes = 0

    /// The most bytes that are kept of an answer's `X-Request-Id`.
    static let requestIDLimit = 256

    /// What to do after an answer.
    public enum Step: Sendable {
        /// Ask for the next page.
        case page(cursor: String)
        /// The list is, byte for byte, what it was: sealed, and nothing to judge.
        case unchanged
        /// All pages are there.
        case read(WalkReading)
        /// The walk is over and says nothing about rows.
        case failed(WalkFailure)
    }

    /// A walk that begins.
    ///
    /// - Parameter expected: the fingerprint of the last sealed walk; nil to be read in any case.
    public init(id: WalkID, limits: WalkLimits, expected: Fingerprint?) {
        self.id = id
        self.limits = limits
        self.expected = expected
    }

    /// The number of the page that is asked for next, from 1.
    public var nextPage: Int { traces.count + 1 }

    /// Takes an answer, whatever its status.
    ///
    /// - Parameter now: the wall clock, against which an HTTP date in `Retry-After` is measured
    ///   where the answer itself has no date.
    public mutating func answered(_ answer: PageAnswer, now: Timestamp) -> Step {
        let requestID =
            answer.requestID?.cut(to: Self.requestIDLimit) ?? id.requestID(page: nextPage)
        if var failure = AnswerReading.failure(of: answer, now: now) {
            failure.requestID = requestID
            return .failed(failure)
        }
        let fingerprint = unsafe Fingerprint.of(answer.body)
        if traces.isEmpty, let expected, fingerprint == expected { return .unchanged }
        bytes += unsafe answer.body.count
        guard bytes <= limits.bytes else {
            return .failed(
                WalkFailure(
                    code: "walk_too_large",
                    reason: "the list's pages together are larger than eight times limits.body"))
        }
        let page: ListPage
        switch unsafe ListPage.read(answer.body) {
        case .success(let read): page = read
        case .failure(let failure): return .failed(failure)
        }
        rows += page.rows
        guard rows.count <= limits.rows else {
            return .failed(
                WalkFailure(
                    code: "too_many_rows", reason: "the list has more rows than limits.rows allows"
                ))
        }
        fingerprints.append(fingerprint)
        traces.append(
            PageTrace(
                status: answer.status, requestID: requestID, bytes: unsafe answer.body.count))
        guard let cursor = page.nextCursor else { return end() }
        guard cursors.insert(cursor).inserted else {
            return .failed(
                WalkFailure(code: "cursor_repeated", reason: "a cursor came a second time"))
        }
        guard traces.count < limits.pages else {
            return .failed(
                WalkFailure(
                    code: "too_many_pages",
                    reason: "the list has more pages than limits.pages allows"))
        }
        return .page(cursor: cursor)
    }

    private func end() -> Step {
        let fingerprint = Fingerprint.combining(fingerprints)
        if let expected, fingerprint == expected { return .unchanged }
        return .read(
            WalkReading(id: id, fingerprint: fingerprint, rows: rows, pages: traces))
    }
}

/// All pages of a walk, read but not yet decoded.
public struct WalkReading: Sendable {
    /// The walk.
    public let id: WalkID
    /// Of all pages together.
    public let fingerprint: Fingerprint
    let rows: [JSONValue]
    let pages: [PageTrace]

    /// Bytes of all pages' bodies.
    public var bytes: Int { pages.reduce(0) { $0 + $1.bytes } }

    /// Decodes the rows: seals the walk, or says why it cannot be.
    ///
    /// - Parameter at: when the last page was there.
    public func seal(at: Timestamp) -> Result<SealedWalk, WalkFailure> {
        var listed: [ListedRow] = []
        listed.reserveCapacity(rows.count)
        var ids: Set<ConnectionID> = []
        for (index, row) in rows.enumerated() {
            switch ListedRow.decode(row, number: index + 1) {
            case .failure(let failure): return .failure(failure)
            case .success(let decoded):
                guard ids.insert(decoded.id).inserted else {
                    return .failure(
                        WalkFailure(code: "duplicate_id", reason: "an id stands in two rows"))
                }
                listed.append(decoded)
            }
        }
        return .success(SealedWalk(id: id, sealedAt: at, rows: listed, pages: pages))
    }
}
