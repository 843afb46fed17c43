/// How much of a list is read before it counts as endless.
public struct TraxListLimits: Hashable, Sendable {
    /// Pages of one reading.
    public var pages: Int
    /// Rows of one reading.
    public var rows: Int

    /// Limits; by default those of the relay's own walks: 100 pages, 20,000 rows.
    public init(pages: Int = 100, rows: Int = 20_000) {
        self.pages = pages
        self.rows = rows
    }
}

/// A list of the API, page by page; ``rows`` has the rows one by one.
///
/// Each iteration begins at the start of the list. Only one that ends without an error has seen the
/// whole list: after an error nothing may be concluded from what is missing. A cursor that comes a
/// second time, and more than the limits allow, are errors.
public struct TraxPages<Row: Sendable>: AsyncSequence, Sendable {
    let client: TraxClient
    let limits: TraxListLimits
    let call: @Sendable (String?) -> TraxCall<TraxPage<Row>>

    /// Asks for one page after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let pages: TraxPages<Row>
        private var cursor: String?
        private var seen: Set<String> = []
        private var count = (pages: 0, rows: 0)
        private var isOver = false

        init(_ pages: TraxPages<Row>) { self.pages = pages }

        /// The next page; nil after the last.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(TraxError) -> TraxPage<Row>? {
            guard !isOver else { return nil }
            // Whatever happens, an iteration that failed does not go on.
            isOver = true
            guard count.pages < pages.limits.pages else {
                throw Self.endless("too_many_pages", "the list has more pages than allowed")
            }
            let page = try await pages.client.send(pages.call(cursor))
            count.pages += 1
            count.rows += page.rows.count
            guard count.rows <= pages.limits.rows else {
                throw Self.endless("too_many_rows", "the list has more rows than allowed")
            }
            if let next = page.nextCursor {
                guard seen.insert(next).inserted else {
                    throw Self.endless("cursor_repeated", "a cursor came a second time")
                }
                cursor = next
                isOver = false
            }
            return page
        }

        private static func endless(_ code: String, _ reason: String) -> TraxError {
            TraxError(kind: .unavailable, code: code, reason: "The list was not read: \(reason).")
        }
    }

    /// Begins at the start of the list.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// The rows one by one.
    public var rows: TraxRows<Row> { TraxRows(pages: self) }

    /// All rows, or an error.
    public func all() async throws(TraxError) -> [Row] {
        var rows: [Row] = []
        var iterator = makeAsyncIterator()
        while let page = try await iterator.next() { rows += page.rows }
        return rows
    }
}

/// A list of the API, row by row; ends and fails as ``TraxPages``.
public struct TraxRows<Row: Sendable>: AsyncSequence, Sendable {
    let pages: TraxPages<Row>

    /// Hands out the rows of one page after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var pages: TraxPages<Row>.AsyncIterator
        private var rows: ArraySlice<Row> = []

        init(_ pages: TraxPages<Row>) { self.pages = pages.makeAsyncIterator() }

        /// The next row; nil after the last.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(TraxError) -> Row? {
            while true {
                if let row = rows.popFirst() { return row }
                guard let page = try await pages.next(isolation: actor) else { return nil }
                rows = page.rows[...]
            }
        }
    }

    /// Begins at the start of the list.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pages) }
}
