internal import CCurl
internal import Glibc

/// The header list of one easy handle, rebuilt in place for each request.
///
/// libcurl only reads the list (`CURLOPT_HTTPHEADER(3)`), so its nodes and text may be ours and be
/// used again, which spares two allocations a header.
@safe struct HeaderLines: ~Copyable {
    static let maximumLines = 32
    static let maximumText = 32 * 1024

    private let nodes: UnsafeMutablePointer<curl_slist>
    private let text: UnsafeMutablePointer<CChar>
    private var count = 0
    private var used = 0

    init() {
        unsafe nodes = .allocate(capacity: Self.maximumLines + 2)
        unsafe text = .allocate(capacity: Self.maximumText)
    }

    deinit {
        unsafe explicit_bzero(text, Self.maximumText)
        unsafe text.deallocate()
        unsafe nodes.deallocate()
    }

    /// The first node, or nil without a line.
    var list: UnsafeMutablePointer<curl_slist>? { unsafe count == 0 ? nil : nodes }

    /// Writes the request's lines; a header of libcurl's own that the request lacks is taken off.
    mutating func rebuild(_ request: HTTPRequest) throws(HTTPError) {
        count = 0
        used = 0
        guard request.headers.count <= Self.maximumLines else {
            throw HTTPError(.invalidRequest, "The request has more than 32 headers.")
        }
        var hasType = false
        for (name, value) in request.headers {
            try add(name, value)
            if request.body != nil, name.lowercased() == "content-type" { hasType = true }
        }
        if request.body != nil {
            // Without this libcurl holds a large body back for a "100 Continue" that may not come.
            try take(off: "Expect")
            if !hasType { try take(off: "Content-Type") }
        }
    }

    private mutating func add(_ name: String, _ value: String) throws(HTTPError) {
        let length = name.utf8.count + value.utf8.count + 3
        guard !name.isEmpty, used + length <= Self.maximumText else {
            throw HTTPError(.invalidRequest, "A header has no name, or all are over 32 KiB.")
        }
        open()
        for byte in name.utf8 {
            guard byte > 0x20, byte < 0x7F, byte != UInt8(ascii: ":") else {
                throw HTTPError(.invalidRequest, "A header's name holds a byte that none may.")
            }
            push(byte)
        }
        // A colon and nothing after it would take the header off; a semicolon sends it empty.
        push(UInt8(ascii: value.isEmpty ? ";" : ":"))
        if !value.isEmpty { push(UInt8(ascii: " ")) }
        for byte in value.utf8 {
            guard byte >= 0x20 || byte == 0x09, byte != 0x7F else {
                throw HTTPError(
                    .invalidRequest, "The value of header \(name) holds a control byte.")
            }
            push(byte)
        }
        push(0)
    }

    private mutating func take(off name: String) throws(HTTPError) {
        guard used + name.utf8.count + 2 <= Self.maximumText else {
            throw HTTPError(.invalidRequest, "The headers are over 32 KiB.")
        }
        open()
        for byte in name.utf8 { push(byte) }
        push(UInt8(ascii: ":"))
        push(0)
    }

    private mutating func open() {
        unsafe nodes[count] = curl_slist(data: text + used, next: nil)
        if count > 0 { unsafe nodes[count - 1].next = nodes + count }
        count += 1
    }

    private mutating func push(_ byte: UInt8) {
        unsafe text[used] = CChar(bitPattern: byte)
        used += 1
    }
}
