import Glibc
import Threading

/// One accepted connection of a `ScriptedServer`, on a thread of its own.
struct ScriptedSocket: Sendable {
    let descriptor: Int32

    /// Reads up to the empty line; nil when the peer has closed.
    func readHead() -> String? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while unsafe recv(descriptor, &byte, 1, 0) == 1 {
            bytes.append(byte)
            if bytes.suffix(4) == [13, 10, 13, 10] {
                return String(decoding: bytes, as: UTF8.self)
            }
        }
        return nil
    }

    /// Writes all of it; false when the peer has gone.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes[sent...].withUnsafeBytes {
                unsafe send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// Has the close that follows send a reset.
    func armReset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Waits until the peer closes.
    func waitForClose() {
        var byte: UInt8 = 0
        while unsafe recv(descriptor, &byte, 1, 0) > 0 {}
    }
}

/// A TCP server on loopback that says exactly what the script says, until the process ends.
///
/// Its socket stays open: the last use in a test is often before the connection is accepted.
final class ScriptedServer: Sendable {
    let port: UInt16
    private let accepted = Lock(0)

    /// Runs `script` for each connection, which is closed when it returns.
    init(_ script: @escaping @Sendable (ScriptedSocket) -> Void) {
        let (made, port) = listeningSocket()
        self.port = port
        let accepted = self.accepted
        _ = OSThread(name: "scripted") {
            while true {
                let connection = accept(made, nil, nil)
                guard connection >= 0 else { return }
                accepted.withLock { $0 += 1 }
                _ = OSThread(name: "scripted-one") {
                    script(ScriptedSocket(descriptor: connection))
                    close(connection)
                }
            }
        }
    }

    var url: String { "http://127.0.0.1:\(port)" }

    /// How many connections were accepted so far.
    var connections: Int { accepted.withLock { $0 } }
}

/// A socket that listens on a free port of loopback.
private func listeningSocket() -> (descriptor: Int32, port: UInt16) {
    let made = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            precondition(unsafe bind(made, $0, size) == 0 && listen(made, 64) == 0)
            unsafe getsockname(made, $0, &size)
        }
    }
    return (made, UInt16(bigEndian: address.sin_port))
}

/// A port on loopback where nobody listens.
func deadPort() -> UInt16 {
    let (descriptor, port) = listeningSocket()
    close(descriptor)
    return port
}
