internal import CCurl
internal import Threading

/// What a loop asks and tells; every call is on the loop's thread.
public protocol HTTPLoopDriver: AnyObject {
    /// Before each wait: starts requests, and says how long the loop may sleep at most.
    ///
    /// nil sleeps until a request ends or `wake` is called (or a minute has passed).
    func turn(_ loop: HTTPLoop) -> Duration?

    /// A request ended. What `result` lends is valid only during the call.
    ///
    /// The request's handle is free again after the call returns; others may be started within it.
    func completed(_ loop: HTTPLoop, token: Int, result: borrowing HTTPResult)
}

/// One thread that keeps many requests in flight on `curl_multi`, with plain callbacks.
///
/// A fixed set of handles is used again and again, connections are kept, and HTTP/2 is spoken where
/// TLS agrees on it. Nothing is queued inside libcurl, where waiting costs three to five times as
/// much: `start` wants a free handle. A request that meets a kept connection which the server has
/// just closed is sent again on another one within its time, as long as no byte of an answer came.
///
/// Memory: per handle about 18 KiB plain, 110 KiB with TLS, and at most `maximumBody` while an
/// answer comes; buffers above 256 KiB are given back. C page: `libcurl-multi(3)`.
@safe public final class HTTPLoop: @unchecked Sendable {
    // @unchecked: a multi handle belongs to one thread (libcurl-thread(3)), the one inside `run`;
    // only `wake` and `stop` come from others, and curl_multi_wakeup(3) may be called from any.
    private let multi: UnsafeMutableRawPointer
    private let exchanges: [Exchange]
    private var idle: [Int]
    private var refused: [(token: Int, error: HTTPError)] = []
    private var hasStarted = false
    private let isStopping = Lock(false)

    /// Makes the handles; throws when the certificates cannot be read or memory is short.
    public init(_ configuration: HTTPLoopConfiguration) throws(HTTPError) {
        try configuration.validate()
        var exchanges: [Exchange] = []
        for index in 0..<configuration.maxConnections {
            exchanges.append(try Exchange(configuration, index: index))
        }
        self.exchanges = exchanges
        idle = Array(exchanges.indices.reversed())
        guard let multi = unsafe curl_multi_init() else {
            throw HTTPError(.other, "libcurl made no multi handle; memory is short.")
        }
        unsafe self.multi = unsafe multi
        // Unset it grows and shrinks with the handles in use, and connections are made anew.
        unsafe trax_curl_multi_set_long(
            multi, CURLMOPT_MAXCONNECTS, configuration.maxConnections)
        unsafe trax_curl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
    }

    deinit {
        removeAll()
        unsafe curl_multi_cleanup(multi)
    }

    /// Works on the calling thread until `stop`; once only.
    ///
    /// Requests still in flight then are cancelled, and `completed` does not hear of them.
    public func run(_ driver: any HTTPLoopDriver) {
        while !isStopping.withLock({ $0 }) {
            hasStarted = false
            let sleep = driver.turn(self)
            report(to: driver)
            if !hasStarted {
                let limit = sleep?.milliseconds(upTo: 60_000) ?? 60_000
                unsafe curl_multi_poll(multi, nil, 0, Int32(limit), nil)
            }
            var running: Int32 = 0
            unsafe curl_multi_perform(multi, &running)
            collect(for: driver)
        }
        removeAll()
    }

    /// Ends the sleep; from any thread.
    public func wake() { unsafe curl_multi_wakeup(multi) }

    /// Ends `run`; from any thread, even before it began.
    public func stop() {
        isStopping.withLock { $0 = true }
        wake()
    }

    /// How many more requests can be started; on the loop's thread.
    public var free: Int { idle.count }

    /// Starts a request; on the loop's thread, with `free` above 0.
    ///
    /// What is wrong with the request itself is told by `completed` too, never within this call.
    public func start(_ request: HTTPRequest, token: Int) {
        precondition(!idle.isEmpty, "no free handle: the queue is the driver's")
        hasStarted = true
        let index = idle.removeLast()
        let exchange = exchanges[index]
        exchange.token = token
        do throws(HTTPError) {
            try exchange.prepare(request)
        } catch {
            idle.append(index)
            refused.append((token, error))
            return
        }
        guard add(exchange) else {
            idle.append(index)
            refused.append((token, HTTPError(.other, "libcurl took no more requests.")))
            return
        }
    }

    /// Ends a request without a word to `completed`, and closes its connection.
    ///
    /// On the loop's thread; its handle is free at once.
    public func cancel(token: Int) {
        refused.removeAll { $0.token == token }
        for index in exchanges.indices
        where exchanges[index].isBusy && exchanges[index].token == token {
            remove(exchanges[index])
            idle.append(index)
        }
    }

    /// Keeps up to 64 MiB of freed memory in the process: 7 % less CPU with TLS.
    ///
    /// Concerns the whole process; call it once, early. C page: `mallopt(3)`.
    public static func keepFreedMemory() { Curl.keepHeap() }

    private func report(to driver: any HTTPLoopDriver) {
        while !refused.isEmpty {
            let (token, error) = refused.removeFirst()
            driver.completed(self, token: token, result: HTTPResult(nil, error: error))
        }
    }

    private func collect(for driver: any HTTPLoopDriver) {
        var left: Int32 = 0
        while let message = unsafe curl_multi_info_read(multi, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE,
                let handle = unsafe message.pointee.easy_handle
            else { continue }
            let code = unsafe message.pointee.data.result
            var context: UnsafeMutableRawPointer?
            unsafe trax_curl_get_pointer(handle, CURLINFO_PRIVATE, &context)
            guard let context = unsafe context else { continue }
            let exchange = unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
            remove(exchange)
            if exchange.prepareAgain(code), add(exchange) { continue }
            driver.completed(
                self, token: exchange.token,
                result: HTTPResult(exchange, error: exchange.failure(code)))
            idle.append(exchange.index)
        }
    }

    private func add(_ exchange: Exchange) -> Bool {
        exchange.isBusy = unsafe curl_multi_add_handle(multi, exchange.handle) == CURLM_OK
        return exchange.isBusy
    }

    private func remove(_ exchange: Exchange) {
        unsafe curl_multi_remove_handle(multi, exchange.handle)
        exchange.isBusy = false
    }

    private func removeAll() {
        for index in exchanges.indices where exchanges[index].isBusy {
            remove(exchanges[index])
            idle.append(index)
        }
    }
}
