internal import Glibc
internal import RelayCore

/// The few calls of POSIX that a journal needs beside SQLite.
enum SystemFile {
    /// What happened to a file that was to be made.
    enum Creation {
        /// It was not there and is now.
        case made
        /// It was there; nothing was changed.
        case existed
    }

    /// What reading a small file gave.
    struct Content {
        let bytes: [UInt8]
        /// Permission bits, as `0o600`.
        let mode: UInt32
    }

    /// Makes an empty file that only its owner may read, unless there is one (`open(2)`).
    static func makeEmpty(_ path: String) throws(JournalFailure) -> Creation {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor < 0 {
            guard errno == EEXIST else { throw .system("\(path) cannot be made: \(lastError())") }
            return .existed
        }
        close(descriptor)
        try syncFolder(of: path)
        return .made
    }

    /// Whether something is there; a file that is empty is not (`stat(2)`).
    static func hasContent(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT != S_IFREG || status.st_size > 0
    }

    /// Bytes of a file; 0 where there is none (`stat(2)`).
    static func size(of path: String) -> Int {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Which file a path names now; nil where there is none (`stat(2)`).
    static func identity(of path: String) -> FileIdentity? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return FileIdentity(device: UInt64(status.st_dev), number: UInt64(status.st_ino))
    }

    /// Bytes of the disk that a path lies on, and those free to us (`statvfs(3)`).
    static func disk(of path: String) -> (size: Int, free: Int)? {
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0 else { return nil }
        let block = Int(status.f_frsize)
        return (Int(status.f_blocks) * block, Int(status.f_bavail) * block)
    }

    /// A path without symbolic links, so that one file has one name.
    ///
    /// Of a file that is not there yet, its folder's (`realpath(3)`).
    static func resolved(_ path: String) -> String {
        if let whole = unsafe realpath(path, nil) {
            defer { unsafe free(whole) }
            return unsafe String(cString: whole)
        }
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard let parent = unsafe realpath(folder, nil) else { return path }
        defer { unsafe free(parent) }
        let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
        return unsafe String(cString: parent) + "/" + name
    }

    /// Makes a whole file or nothing, without ever replacing one (`link(2)`).
    ///
    /// Written under another name, synced, and linked to its own, so that nobody ever reads half of
    /// it and of two who make it at once one wins.
    static func make(_ path: String, holding bytes: [UInt8]) throws(JournalFailure) -> Creation {
        let draft = "\(path).\(getpid()).\(UInt32.random(in: .min ... .max)).new"
        let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system("\(path) cannot be made: \(lastError())") }
        let written = unsafe write(descriptor, bytes, bytes.count) == bytes.count
        let synced = written && fsync(descriptor) == 0
        let reason = lastError()
        close(descriptor)
        defer { unsafe unlink(draft) }
        guard synced else { throw .system("\(path) cannot be written: \(reason)") }
        if unsafe link(draft, path) != 0 {
            guard errno == EEXIST else { throw .system("\(path) cannot be made: \(lastError())") }
            return .existed
        }
        try syncFolder(of: path)
        return .made
    }

    /// Reads a file of at most `limit` bytes; nil when there is none.
    static func read(_ path: String, limit: Int) throws(JournalFailure) -> Content? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .system("\(path) cannot be read: \(lastError())")
        }
        defer { close(descriptor) }
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0 else {
            throw .system("\(path) cannot be read: \(lastError())")
        }
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw .system("\(path) cannot be read: \(lastError())") }
        bytes.removeLast(bytes.count - count)
        return Content(bytes: bytes, mode: information.st_mode & 0o777)
    }

    /// Gives a file a second name, which another file may have had; no file: nothing (`link(2)`).
    static func keep(_ path: String, as other: String) throws(JournalFailure) {
        guard identity(of: path) != nil else { return }
        unsafe unlink(other)
        guard unsafe link(path, other) == 0 else {
            throw .system("\(other) cannot be made: \(lastError())")
        }
        try syncFolder(of: path)
    }

    /// Puts a file in the place of another at once (`rename(2)`).
    static func move(_ path: String, over other: String) throws(JournalFailure) {
        guard unsafe rename(path, other) == 0 else {
            throw .system("\(path) cannot take the place of \(other): \(lastError())")
        }
        try syncFolder(of: other)
    }

    /// Takes a file away, if there is one (`unlink(2)`).
    static func remove(_ path: String) { unsafe unlink(path) }

    /// Makes the names in a file's folder durable (`fsync(2)`).
    static func syncFolder(of path: String) throws(JournalFailure) {
        let folder = folder(of: path)
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system("\(folder) cannot be read: \(lastError())") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw .system("\(folder) cannot be synced: \(lastError())")
        }
    }

    /// The folder that a path names a file in.
    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The words for the last error of the system on this thread.
    static func lastError() -> String { unsafe String(cString: strerror(errno)) }
}

/// Tells a file from every other, whatever its name (`stat(2)`).
struct FileIdentity: Hashable, Sendable {
    let device: UInt64
    let number: UInt64
}
