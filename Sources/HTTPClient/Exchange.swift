internal import CCurl
internal import Glibc

/// One easy handle of libcurl with what belongs to it, used for one request after another.
///
/// Threads: one at a time. It must outlive its stay in a multi handle, which the loop guarantees by
/// removing it first. C page: `libcurl-easy(3)`.
@safe final class Exchange {
    /// libcurl's own handle.
    let handle: UnsafeMutableRawPointer
    /// Its place among the loop's.
    let index: Int
    /// The caller's number for the request under way.
    var token = 0
    /// Whether a request is under way.
    var isBusy = false

    private(set) var buffer = ReceiveBuffer()
    private var lines = HeaderLines()
    private let errorText: UnsafeMutablePointer<CChar>
    private let maximumBody: Int
    private var isPlainGet = false
    private var isSafe = false
    /// Whether the request asked for a connection of its own.
    private var isFresh = false
    private var timeout: Duration?
    private(set) var origin = ""
    /// What the first attempt took, when this is the second.
    private var earlier: Duration?
    /// Whether the empty line after the final answer's headers has come.
    private(set) var headEnded = false
    /// Whether `maximumBody` was passed.
    private(set) var isTooLarge = false

    init(_ configuration: HTTPLoopConfiguration, index: Int = 0) throws(HTTPError) {
        try Curl.start()
        guard let handle = unsafe curl_easy_init() else {
            throw HTTPError(.other, "libcurl made no handle; memory is short.")
        }
        unsafe self.handle = unsafe handle
        unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        maximumBody = configuration.maximumBody
        self.index = index
        try setUp(configuration)
    }

    deinit {
        unsafe curl_easy_cleanup(handle)
        unsafe errorText.deallocate()
    }

    /// Readies the handle for a request; nothing is sent yet.
    func prepare(_ request: HTTPRequest) throws(HTTPError) {
        buffer.clear()
        headEnded = false
        isTooLarge = false
        if earlier != nil || isFresh != request.onNewConnection {
            try set(CURLOPT_FRESH_CONNECT, request.onNewConnection ? 1 : 0)
            isFresh = request.onNewConnection
        }
        earlier = nil
        unsafe errorText.pointee = 0
        origin = request.url
        let isSecure = request.url.utf8.starts(with: "https://".utf8)
        guard isSecure || request.url.utf8.starts(with: "http://".utf8), !request.url.contains("\0")
        else {
            throw HTTPError(.unsupportedURL, "A URL must begin with https:// or http://.")
        }
        try lines.rebuild(request)
        try set(CURLOPT_URL, text: request.url)
        // Without TLS there is no ALPN, and waiting for a multiplexed connection would be in vain.
        try set(
            CURLOPT_HTTP_VERSION,
            Int(isSecure ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1))
        try check(unsafe trax_curl_set_headers(handle, lines.list))
        if timeout != request.timeout {
            // 0 would mean no limit at all.
            let limit = max(1, request.timeout.milliseconds(upTo: 86_400_000))
            try set(CURLOPT_TIMEOUT_MS, limit)
            timeout = request.timeout
        }
        try prepareMethod(request)
    }

    private func prepareMethod(_ request: HTTPRequest) throws(HTTPError) {
        isSafe = request.method == .get || request.method == .head
        if request.method == .get, request.body == nil {
            if !isPlainGet {
                try set(CURLOPT_CUSTOMREQUEST, text: nil)
                try set(CURLOPT_HTTPGET, 1)
                isPlainGet = true
            }
            return
        }
        isPlainGet = false
        try set(CURLOPT_HTTPGET, 1)
        if let body = request.body {
            try set(CURLOPT_POST, 1)
            try check(
                unsafe trax_curl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, Int(body.count)))
            let code = unsafe body.withUnsafeBytes { bytes in
                // An empty array has no address, and a null one would mean "ask a callback".
                unsafe withUnsafeBytes(of: UInt8(0)) { nothing in
                    let start = unsafe UnsafeMutableRawPointer(
                        mutating: bytes.baseAddress ?? nothing.baseAddress)
                    return unsafe trax_curl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, start)
                }
            }
            try check(code)
        } else if request.method == .head {
            try set(CURLOPT_NOBODY, 1)
        }
        try set(
            CURLOPT_CUSTOMREQUEST, text: request.method == .head ? nil : request.method.rawValue)
    }

    /// Readies the same request for a new connection, when the kept one proved closed.
    ///
    /// That is so when not a byte of an answer came on it. libcurl does so itself, but counts its
    /// attempts over the whole life of a handle (7.88) and gives up at every sixth. A server that
    /// ends an HTTP/2 connection may have seen the request: only what is safe is sent again then.
    func prepareAgain(_ code: CURLcode) -> Bool {
        let isClosed =
            code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING
        guard isClosed || (code == CURLE_HTTP2 && isSafe), earlier == nil,
            info(CURLINFO_NUM_CONNECTS) == 0, info(CURLINFO_HEADER_SIZE) == 0,
            let timeout, timeout > totalTime
        else { return false }
        let spent = totalTime
        do throws(HTTPError) {
            // An HTTP/2 connection that ended is gone; others may have room for this stream.
            if isClosed { try set(CURLOPT_FRESH_CONNECT, 1) }
            try set(CURLOPT_TIMEOUT_MS, max(1, (timeout - spent).milliseconds(upTo: 86_400_000)))
        } catch {
            // The first attempt's failure is then what the caller hears of.
            return false
        }
        earlier = spent
        self.timeout = nil
        return true
    }

    /// The error of a transfer that ended with `code`, or nil when the answer is whole.
    func failure(_ code: CURLcode) -> HTTPError? {
        if code == CURLE_OK {
            // libcurl 7.88 calls an answer that was cut inside its headers a success.
            if headEnded, info(CURLINFO_RESPONSE_CODE) >= 200 { return nil }
            return HTTPError(.truncated, "\(Origin.of(origin)) closed within the headers.")
        }
        return TransferFailure(
            code: code, origin: Origin.of(origin),
            detail: unsafe String(cString: errorText),
            systemError: Int32(truncatingIfNeeded: info(CURLINFO_OS_ERRNO)),
            headEnded: headEnded, isTooLarge: isTooLarge
        ).error
    }

    /// A number that libcurl knows about the last transfer; 0 when it does not.
    func info(_ key: CURLINFO) -> Int {
        var value = 0
        return unsafe trax_curl_get_long(handle, key, &value) == CURLE_OK ? value : 0
    }

    /// How long the last transfer took, in whole microseconds.
    var totalTime: Duration {
        var value: curl_off_t = 0
        let code = unsafe trax_curl_get_size(handle, CURLINFO_TOTAL_TIME_T, &value)
        return (earlier ?? .zero) + (code == CURLE_OK ? .microseconds(Int64(value)) : .zero)
    }

    /// The first value of a header of the final answer, cut to 4 KiB.
    func header(_ name: String) -> String? {
        var found: UnsafeMutablePointer<curl_header>?
        let code = unsafe curl_easy_header(handle, name, 0, UInt32(CURLH_HEADER), -1, &found)
        guard code == CURLHE_OK, let header = unsafe found, let value = unsafe header.pointee.value
        else { return nil }
        let bytes = unsafe UnsafeRawBufferPointer(start: value, count: min(strlen(value), 4096))
        return unsafe String(decoding: bytes, as: UTF8.self)
    }

    // MARK: - Set-up

    private func setUp(_ configuration: HTTPLoopConfiguration) throws(HTTPError) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        try check(unsafe trax_curl_set_pointer(handle, CURLOPT_PRIVATE, context))
        try check(unsafe trax_curl_set_pointer(handle, CURLOPT_WRITEDATA, context))
        try check(unsafe trax_curl_set_pointer(handle, CURLOPT_HEADERDATA, context))
        try check(unsafe trax_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText))
        try check(unsafe trax_curl_set_callback(handle, CURLOPT_WRITEFUNCTION, Self.body))
        try check(unsafe trax_curl_set_callback(handle, CURLOPT_HEADERFUNCTION, Self.head))
        // Signals are the process's; a timeout while resolving must not raise SIGALRM.
        try set(CURLOPT_NOSIGNAL, 1)
        // Else the end of a request waits for a resolver thread that hangs, and the loop with it.
        try set(CURLOPT_QUICK_EXIT, 1)
        try set(CURLOPT_PROTOCOLS_STR, text: "http,https")
        try set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_PIPEWAIT, 1)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        // libcurl 7.88 takes a compressed stream that is cut for a whole, shorter body: none is
        // asked for, and one that comes all the same is passed on as it is.
        try set(CURLOPT_ACCEPT_ENCODING, text: "identity")
        try set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        try set(CURLOPT_USERAGENT, text: configuration.userAgent)
        try set(CURLOPT_BUFFERSIZE, configuration.bufferSize)
        try set(CURLOPT_NOPROXY, text: HTTPLoopConfiguration.withoutProxy())
        try set(
            CURLOPT_CONNECTTIMEOUT_MS,
            max(1, configuration.connectTimeout.milliseconds(upTo: 86_400_000)))
        try set(
            CURLOPT_MAXAGE_CONN,
            max(1, configuration.idleTimeout.milliseconds(upTo: 86_400_000) / 1000))
        // A name that moves to another address is followed within ten minutes.
        try set(CURLOPT_MAXLIFETIME_CONN, 600)
        try check(
            unsafe trax_curl_set_size(
                handle, CURLOPT_MAXFILESIZE_LARGE, configuration.maximumBody))
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let caFile = configuration.caFile {
            // The file takes the place of the bundle; the directory keeps the system's trust.
            try set(CURLOPT_CAINFO, text: caFile)
            try set(CURLOPT_CAPATH, text: "/etc/ssl/certs")
        }
    }

    private func set(_ option: CURLoption, _ value: Int) throws(HTTPError) {
        try check(unsafe trax_curl_set_long(handle, option, value))
    }

    private func set(_ option: CURLoption, text: String?) throws(HTTPError) {
        try check(unsafe trax_curl_set_text(handle, option, text))
    }

    private func check(_ code: CURLcode) throws(HTTPError) {
        guard code != CURLE_OK else { return }
        throw HTTPError(
            .other,
            "libcurl refused an option: \(unsafe String(cString: curl_easy_strerror(code))).")
    }

    // MARK: - Callbacks

    private typealias Callback =
        @convention(c) (
            UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?
        ) -> Int

    /// `CURLOPT_WRITEFUNCTION(3)`: any other answer than the count ends the transfer.
    private static var body: Callback {
        { bytes, _, count, context in
            guard let context = unsafe context, let bytes = unsafe bytes else { return 0 }
            let exchange = unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
            guard exchange.buffer.count + count <= exchange.maximumBody else {
                exchange.isTooLarge = true
                return 0
            }
            return unsafe exchange.buffer.append(bytes, count: count) ? count : 0
        }
    }

    /// `CURLOPT_HEADERFUNCTION(3)`: one line a call, the empty one and trailers included.
    private static var head: Callback {
        { bytes, _, count, context in
            guard let context = unsafe context, let bytes = unsafe bytes else { return 0 }
            let exchange = unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
            // Only the empty line is as short; a line after it is a trailer's, or begins the next
            // answer when the last was an interim one.
            if count <= 2 {
                exchange.headEnded = true
            } else if unsafe count > 5 && memcmp(bytes, "HTTP/", 5) == 0 {
                exchange.headEnded = false
            }
            return count
        }
    }
}
