internal import Glibc

/// Why a file cannot be read: the system's words, or a limit.
struct FileFailure: Error {
    let reason: String

    static func system() -> FileFailure {
        FileFailure(reason: unsafe String(cString: strerror(errno)))
    }
}

/// Files read whole, and paths relative to the file that names them.
enum Files {
    /// Reads a file of at most `limit` bytes.
    ///
    /// `open(2)`, `read(2)`.
    static func contents(of path: String, limit: Int) throws(FileFailure) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system() }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .system() }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw FileFailure(reason: "is a folder") }
        var bytes: [UInt8] = []
        var room = max(Int(status.st_size) + 1, 4096)
        while true {
            guard bytes.count <= limit else {
                throw FileFailure(reason: "more than \(SizeText.format(limit))")
            }
            let length = bytes.count
            bytes.reserveCapacity(length + room)
            let count = try append(descriptor, room, to: &bytes)
            if count == 0 { return bytes }
            room = max(4096, min(room - count, limit), bytes.count / 2)
        }
    }

    private static func append(
        _ descriptor: Int32, _ room: Int, to bytes: inout [UInt8]
    ) throws(FileFailure) -> Int {
        let length = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: room))
        var count = 0
        repeat {
            count = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe read(descriptor, buffer.baseAddress?.advanced(by: length), room)
            }
        } while count < 0 && errno == EINTR
        bytes.removeLast(room - max(count, 0))
        guard count >= 0 else { throw .system() }
        return count
    }

    /// Overwrites what held credentials, so that it does not stay in freed memory.
    ///
    /// `bzero(3)`.
    static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress else { return }
            unsafe explicit_bzero(start, buffer.count)
        }
    }

    /// A path as seen from the folder of `file`; absolute ones stay.
    static func resolve(_ path: String, besides file: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return file[...slash] + path
    }
}
