internal import ConnectionEvents
internal import Crypto
internal import HTTPClient
internal import Threading

/// The thread on which calls are carried out, many at once; shared by the clients of an endpoint.
///
/// Threads: any. At most ``waitingLimit`` calls wait; more are refused at once.
final class TraxLine: Sendable {
    typealias Ending = Result<TraxAnswer, TraxError>

    /// Calls that may wait or be under way.
    static let waitingLimit = 1024

    /// One call under way.
    struct Order: Sendable {
        let number: Int
        let request: HTTPRequest
        let requestID: String
        let rules: RetryRules
        let ended: @Sendable (Ending) -> Void
        var attempt = 0
        var mayHaveBeenDone = false
    }

    struct Desk: Sendable {
        var lastNumber = 0
        var live: Set<Int> = []
        var cancelled: Set<Int> = []
        var arrived: [Order] = []
        var isOver = false
    }

    let endpoint: TraxEndpoint
    private let loop: HTTPLoop
    private let desk = Lock(Desk())
    private let clock: @Sendable () -> Timestamp

    /// A line to an endpoint.
    ///
    /// - Parameter clock: the wall clock, against which a date in `Retry-After` is measured where
    ///   the answer has none.
    /// - Throws: where the certificates cannot be read or memory is short.
    init(
        _ endpoint: TraxEndpoint, clock: @escaping @Sendable () -> Timestamp
    ) throws(TraxError) {
        self.endpoint = endpoint
        self.clock = clock
        do throws(HTTPError) {
            loop = try HTTPLoop(endpoint.loopConfiguration)
        } catch {
            throw TraxError(error)
        }
        let (loop, desk) = (loop, desk)
        // The thread keeps the loop, never the line, whose end is what stops it.
        _ = OSThread(name: "trax-api") {
            let driver = LineDriver(desk, clock: clock)
            loop.run(driver)
            driver.end()
        }
    }

    deinit { loop.stop() }

    /// Takes a number for a call to come, under which it can be cancelled at any time.
    func reserve() -> Int {
        desk.withLock { desk in
            desk.lastNumber += 1
            desk.live.insert(desk.lastNumber)
            return desk.lastNumber
        }
    }

    /// Starts a call; `ended` is called once, on the line's thread or on this one.
    func start(
        _ number: Int, _ request: HTTPRequest, requestID: String, rules: RetryRules,
        ended: @escaping @Sendable (Ending) -> Void
    ) {
        let refusal = desk.withLock { desk -> TraxError? in
            let isFull =
                desk.arrived.count >= Self.waitingLimit || desk.live.count > Self.waitingLimit
            guard !desk.isOver, !isFull else {
                desk.live.remove(number)
                desk.cancelled.remove(number)
                return isFull
                    ? TraxError(
                        kind: .throttled, code: "busy",
                        reason: "More than \(Self.waitingLimit) calls are under way.") : .cancelled
            }
            desk.arrived.append(
                Order(
                    number: number, request: request, requestID: requestID, rules: rules,
                    ended: ended))
            return nil
        }
        if let refusal { return ended(.failure(refusal)) }
        loop.wake()
    }

    /// Ends a call, wherever it is: its `ended` hears `cancelled`.
    func cancel(_ number: Int) {
        desk.withLock { desk in
            if desk.live.contains(number) { desk.cancelled.insert(number) }
        }
        loop.wake()
    }
}

/// Drives the calls of a line; on its thread alone.
private final class LineDriver: HTTPLoopDriver {
    private let desk: Lock<TraxLine.Desk>
    private let clock: @Sendable () -> Timestamp
    private var waiting: [(order: TraxLine.Order, due: ContinuousClock.Instant)] = []
    private var flying: [Int: TraxLine.Order] = [:]

    init(_ desk: Lock<TraxLine.Desk>, clock: @escaping @Sendable () -> Timestamp) {
        self.desk = desk
        self.clock = clock
    }

    func turn(_ loop: HTTPLoop) -> Duration? {
        let (arrived, cancelled) = desk.withLock { desk in
            defer { desk.arrived = [] }
            return (desk.arrived, desk.cancelled)
        }
        let now = ContinuousClock.now
        waiting += arrived.map { ($0, now) }
        for number in cancelled {
            if let order = flying[number] {
                loop.cancel(token: number)
                var error = TraxError.cancelled
                error.mayHaveBeenDone = order.request.method != .get
                finish(order, .failure(error))
            } else if let place = waiting.firstIndex(where: { $0.order.number == number }) {
                finish(waiting.remove(at: place).order, .failure(.cancelled))
            }
        }
        while loop.free > 0, let place = waiting.firstIndex(where: { $0.due <= now }) {
            var order = waiting.remove(at: place).order
            order.attempt += 1
            flying[order.number] = order
            loop.start(order.request, token: order.number)
        }
        guard loop.free > 0 else { return nil }
        return waiting.map(\.due).min().map { max(.zero, ContinuousClock.now.duration(to: $0)) }
    }

    func completed(_ loop: HTTPLoop, token: Int, result: borrowing HTTPResult) {
        guard var order = flying.removeValue(forKey: token) else { return }
        if let error = result.error {
            if !RetryRules.isUnsent(error.kind) { order.mayHaveBeenDone = true }
            return fail(
                order, TraxError(error, requestID: order.requestID), .failed(error))
        }
        let response = result.response()
        if let error = TraxError(response, sent: order.requestID, now: clock()) {
            if error.status ?? 0 >= 500, error.retryAfter == nil { order.mayHaveBeenDone = true }
            return fail(order, error, .answered(error))
        }
        finish(
            order,
            .success(
                TraxAnswer(
                    status: response.status, body: response.body,
                    requestID: response.header("X-Request-Id") ?? order.requestID)))
    }

    /// The loop is over: whoever still waits hears so.
    func end() {
        let arrived = desk.withLock { desk in
            defer { desk.arrived = [] }
            desk.isOver = true
            return desk.arrived
        }
        for order in arrived + waiting.map(\.order) + flying.values {
            finish(order, .failure(.cancelled))
        }
    }

    private func fail(
        _ order: TraxLine.Order, _ error: TraxError, _ ending: RetryRules.Ending
    ) {
        var random = SystemRandomNumberGenerator()
        if let pause = order.rules.pause(
            after: order.attempt, ending, method: order.request.method,
            chance: Double.random(in: 0..<1, using: &random))
        {
            waiting.append((order, ContinuousClock.now + pause))
            return
        }
        var error = error
        error.mayHaveBeenDone = order.mayHaveBeenDone && order.request.method != .get
        finish(order, .failure(error))
    }

    private func finish(_ order: TraxLine.Order, _ ending: TraxLine.Ending) {
        flying[order.number] = nil
        desk.withLock { desk in
            desk.live.remove(order.number)
            desk.cancelled.remove(order.number)
        }
        order.ended(ending)
    }
}
