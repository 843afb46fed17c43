import Glibc
import JSON

/// What has a body that a test looks into.
protocol Answered {
    var status: Int { get }
    var body: [UInt8] { get }
}

/// An answer with all its headers.
///
/// The product's own client drops those it has no use for, cookies above all.
struct Answer: Answered {
    let status: Int
    let headers: [(name: String, value: String)]
    let body: [UInt8]

    /// The first value of a header; any spelling of the name.
    func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// HTTP/1.1 by hand, one connection for each request.
enum PlainHTTP {
    struct Failure: Error {
        let what: String
    }

    static func send(
        _ method: String, port: UInt16, _ path: String,
        headers: [(name: String, value: String)] = [], body: String? = nil
    ) throws -> Answer {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if let body { head += "Content-Length: \(body.utf8.count)\r\n" }
        return try parse(exchange(Array((head + "\r\n" + (body ?? "")).utf8), port))
    }

    private static func exchange(_ request: [UInt8], _ port: UInt16) throws -> [UInt8] {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw Failure(what: "no socket") }
        defer { close(socket) }
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        unsafe setsockopt(
            socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { throw Failure(what: "not connected") }
        guard
            unsafe Glibc.send(socket, request, request.count, Int32(MSG_NOSIGNAL))
                == request.count
        else { throw Failure(what: "not sent") }
        var answer: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe recv(socket, &piece, piece.count, 0)
            guard count >= 0 else { throw Failure(what: "nothing came") }
            if count == 0 { return answer }
            answer += piece[..<count]
        }
    }

    private static func parse(_ bytes: [UInt8]) throws -> Answer {
        let mark = Array("\r\n\r\n".utf8)
        guard
            let end = bytes.indices.first(where: { bytes[$0...].starts(with: mark) })
        else { throw Failure(what: "no head in \(bytes.count) bytes") }
        // By bytes: Swift takes a carriage return and a line feed for one character.
        let lines = bytes[..<end].split(separator: 10).map { line in
            String(decoding: line.filter { $0 != 13 }, as: UTF8.self)
        }
        let words = lines[0].split(separator: " ")
        guard words.count > 1, let status = Int(words[1]) else {
            throw Failure(what: "no status in \(lines[0])")
        }
        let headers = lines.dropFirst().map { line -> (name: String, value: String) in
            let parts = line.split(separator: ":", maxSplits: 1)
            let value = parts.count > 1 ? parts[1].drop { $0 == " " } : ""
            return (String(parts[0]), String(value))
        }
        return Answer(
            status: status, headers: headers, body: Array(bytes[(end + mark.count)...]))
    }
}
