internal import Glibc
public import RelayCore

/// The lock beside a journal, `<journal>.lock`: whoever holds it is the one relay that runs on it.
///
/// The kernel lets go of it with the process, however that ends, so it never has to be cleared by
/// hand; the file stays and holds the number of the last holder. Linux: `flock(2)`.
///
/// Threads: any.
public final class JournalLock: Sendable {
    private let descriptor: Int32
    /// The journal that is locked.
    public let journal: String

    /// Takes the lock of a journal, which need not exist yet.
    ///
    /// - Throws: kind `locked` with the holder's process when there is one.
    public init(journal: String) throws(JournalFailure) {
        let path = SystemFile.resolved(journal) + ".lock"
        let opened = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard opened >= 0 else {
            throw .system(
                "\(path) cannot be made: \(SystemFile.lastError()). The journal's folder must exist"
                    + " and be writable")
        }
        guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
            let refusal = errno
            let holder = Self.holder(in: path)
            close(opened)
            guard refusal == EWOULDBLOCK else { throw .system("\(path) cannot be locked") }
            throw .locked(journal, by: holder)
        }
        let text = Array("\(getpid())\n".utf8)
        guard ftruncate(opened, 0) == 0,
            unsafe pwrite(opened, text, text.count, 0) == text.count
        else {
            let reason = SystemFile.lastError()
            close(opened)
            throw .system("\(path) cannot be written: \(reason)")
        }
        descriptor = opened
        self.journal = journal
    }

    deinit {
        close(descriptor)
    }

    /// The process that runs on a journal now; nil when none does.
    ///
    /// For telling a person; it may be over the moment it is said.
    public static func holder(of journal: String) -> Int32? {
        let path = SystemFile.resolved(journal) + ".lock"
        let opened = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard opened >= 0 else { return nil }
        defer { close(opened) }
        guard flock(opened, LOCK_SH | LOCK_NB) != 0 else { return nil }
        return holder(in: path)
    }

    private static func holder(in path: String) -> Int32? {
        do {
            guard let content = try SystemFile.read(path, limit: 32) else { return nil }
            let digits = content.bytes.prefix { (48...57).contains($0) }
            return Int32(String(decoding: digits, as: UTF8.self))
        } catch {
            // Who holds it only makes the sentence better; that it is held is known already.
            return nil
        }
    }
}
