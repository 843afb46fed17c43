internal import Glibc

/// The body of one answer, in memory that the next answer uses again.
///
/// `padding` readable zero bytes follow the body, which a vectorised JSON parser wants.
@safe struct ReceiveBuffer: ~Copyable {
    static let padding = 64
    /// A buffer grown beyond this is given back, so that one large answer does not stay for ever.
    static let kept = 256 * 1024

    private var base: UnsafeMutableRawPointer?
    private var capacity = 0
    private(set) var count = 0

    init() {
        unsafe base = nil
    }

    deinit {
        unsafe free(base)
    }

    /// Adds bytes; false when there is no memory.
    mutating func append(_ bytes: UnsafeRawPointer, count added: Int) -> Bool {
        let needed = count + added + Self.padding
        if needed > capacity {
            let grown = max(needed, capacity * 2, 4096)
            guard let moved = unsafe realloc(base, grown) else { return false }
            unsafe base = moved
            capacity = grown
        }
        guard let base = unsafe base else { return false }
        unsafe memcpy(base + count, bytes, added)
        count += added
        unsafe memset(base + count, 0, Self.padding)
        return true
    }

    /// Forgets the body; memory up to `kept` stays.
    mutating func clear() {
        count = 0
        guard capacity > Self.kept else { return }
        unsafe free(base)
        unsafe base = nil
        capacity = 0
    }

    /// The body, valid until the buffer changes.
    var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }
}
