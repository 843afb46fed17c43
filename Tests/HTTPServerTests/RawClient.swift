import Glibc

/// A socket to loopback that sends and reads bytes as they are.
final class RawClient {
    private let descriptor: Int32

    init(port: UInt16) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, size)
            }
        }
        precondition(code == 0, "cannot connect")
    }

    deinit {
        close(descriptor)
    }

    @discardableResult
    func send(_ text: String) -> RawClient {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes[sent...].withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { break }
            sent += count
        }
        return self
    }

    /// Reads until `end` is the last that has come, or the peer closes or resets.
    func read(until end: String? = nil) -> String {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe recv(descriptor, &piece, piece.count, 0)
            guard count > 0 else { break }
            bytes += piece.prefix(count)
            // A chunk's own line break may follow, no more: nothing else is under way then.
            if let end, String(decoding: bytes.suffix(64), as: UTF8.self).contains(end) { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Sends a whole request and reads the answer until the server closes.
    static func ask(_ port: UInt16, _ head: String, body: String = "") -> String {
        RawClient(port: port).send("\(head)\r\nHost: x\r\nConnection: close\r\n\r\n\(body)").read()
    }
}
