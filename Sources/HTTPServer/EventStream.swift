internal import CMicrohttpd
internal import Glibc
internal import Threading

/// The body of one endless reply, fed from any thread: server-sent events for one client.
///
/// The queue is bounded: a client that does not read until it is full is cut off, and resumes with
/// `Last-Event-ID`. A comment goes out every 15 s, because a peer that left is noticed only when
/// something is sent. The format is that of the HTML standard, 9.2.
public final class EventStream: Suspended {
    /// How often a stream without traffic gets a comment.
    public static let beat = Duration.seconds(15)

    private struct State {
        var queue: [UInt8] = []
        /// How much of the queue has been sent.
        var sent = 0
        /// The connection, once the server has it, until the request is over.
        var connection: Wire?
        var isSuspended = false
        var wasAttached = false
        var isClosed = false
        /// Closed because the client was too slow: the end is shown as an error.
        var isCut = false
    }

    private let state = Lock(State())
    private let capacity: Int

    /// Makes a stream whose queue holds at most `capacity` bytes.
    public init(capacity: Int = 256 * 1024) {
        precondition(capacity > 0, "a queue of at least one byte")
        self.capacity = capacity
    }

    /// Whether events can still reach the client, as far as is known.
    public var isOpen: Bool { state.withLock { !$0.isClosed } }

    /// Queues bytes as they are; false when the stream is closed, or is closed now as it is full.
    @discardableResult
    public func send(_ bytes: [UInt8]) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            guard state.queue.count - state.sent + bytes.count <= capacity else {
                state.isCut = true
                Self.close(&state)
                return false
            }
            state.queue += bytes
            Self.resume(&state)
            return true
        }
    }

    /// Queues one event; a line break in `data` becomes a second data line, in the others is fatal.
    @discardableResult
    public func send(event: String? = nil, id: String? = nil, data: String) -> Bool {
        var text = ""
        for (name, value) in [("event", event), ("id", id)] {
            guard let value else { continue }
            precondition(!value.contains { $0.isNewline }, "\(name) must be one line")
            text += "\(name): \(value)\n"
        }
        for line in data.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            text += "data: \(line)\n"
        }
        return send(Array((text + "\n").utf8))
    }

    /// Ends the stream after what is queued.
    public func close() {
        state.withLock { Self.close(&$0) }
    }

    /// Sends a comment unless something waits to be sent anyway.
    func beat() {
        state.withLock { state in
            guard !state.isClosed, state.queue.isEmpty else { return }
            state.queue = [UInt8(ascii: ":"), 10, 10]
            Self.resume(&state)
        }
    }

    func release() { close() }

    private static func close(_ state: inout State) {
        state.isClosed = true
        if state.isCut { state.queue = [] }
        resume(&state)
    }

    private static func resume(_ state: inout State) {
        guard state.isSuspended, let connection = state.connection else { return }
        state.isSuspended = false
        connection.resume()
    }

    // MARK: - On MHD's thread

    /// Makes the response that reads from this stream; nil when it has been given away before.
    func response(for connection: Wire) -> OpaquePointer? {
        let isFirst = state.withLock { state in
            guard !state.wasAttached else { return false }
            state.wasAttached = true
            state.connection = connection
            return true
        }
        guard isFirst else { return nil }
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        let made = unsafe MHD_create_response_from_callback(
            UInt64.max, 4096,
            { context, _, buffer, room in
                guard let context = unsafe context, let buffer = unsafe buffer else { return -2 }
                let stream = unsafe Unmanaged<EventStream>.fromOpaque(context).takeUnretainedValue()
                return unsafe stream.read(buffer, room)
            }, context,
            { context in
                guard let context = unsafe context else { return }
                unsafe Unmanaged<EventStream>.fromOpaque(context).takeRetainedValue().end()
            })
        if unsafe made == nil {
            unsafe Unmanaged<EventStream>.fromOpaque(context).release()
        }
        return unsafe made
    }

    /// `MHD_ContentReaderCallback`: -1 ends the body, -2 breaks it off; 0 wants a suspension.
    private func read(_ buffer: UnsafeMutablePointer<CChar>, _ room: Int) -> Int {
        state.withLock { state in
            let waiting = state.queue.count - state.sent
            if waiting > 0 {
                let count = min(waiting, room)
                unsafe state.queue.withUnsafeBytes { bytes in
                    guard let start = bytes.baseAddress else { return }
                    unsafe memcpy(buffer, start + state.sent, count)
                }
                state.sent += count
                if count == waiting {
                    state.queue.removeAll(keepingCapacity: state.queue.count <= 4096)
                    state.sent = 0
                }
                return count
            }
            guard let connection = state.connection else { return -2 }
            if state.isCut { connection.end() }
            if state.isClosed { return state.isCut ? -2 : -1 }
            state.isSuspended = true
            connection.suspend()
            return 0
        }
    }

    /// The response is freed: the connection must not be touched again.
    private func end() {
        state.withLock { state in
            state.isClosed = true
            state.isSuspended = false
            state.connection = nil
            state.queue = []
        }
    }
}
