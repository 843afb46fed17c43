internal import COpenSSL

/// A credential that cannot be printed and is zeroed when nobody holds it any more.
///
/// Description, debug description, mirror and interpolation all say `[redacted]`; `withBytes` and
/// the two `reveal`s are the ways out, so a search for them is the audit. Equality takes the same
/// time wherever two secrets differ. Deliberately neither `Hashable` nor `Codable`.
///
/// Threads: any; immutable.
@safe public final class Secret: @unchecked Sendable {
    // @unchecked: the memory is written in init and deinit only.
    private let storage: UnsafeMutableRawBufferPointer

    /// Copies bytes; the caller's own copy stays the caller's to forget.
    public init(_ bytes: [UInt8]) {
        unsafe storage = .allocate(byteCount: bytes.count, alignment: 1)
        unsafe storage.copyBytes(from: bytes)
    }

    /// Copies the UTF-8 of a text.
    public convenience init(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// Makes a secret whose bytes `body` writes in place, so that no other copy exists.
    init<Failure: Error>(
        byteCount: Int, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 1)
        unsafe storage = unsafe memory
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
        try unsafe body(memory)
    }

    deinit {
        unsafe OPENSSL_cleanse(storage.baseAddress, storage.count)
        unsafe storage.deallocate()
    }

    /// The length in bytes, which is not treated as secret.
    public var count: Int { unsafe storage.count }

    /// Whether there is nothing to keep.
    public var isEmpty: Bool { unsafe storage.isEmpty }

    /// Lends the bytes for the length of the call.
    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(storage))
    }

    /// A copy of the bytes, which is no longer guarded.
    public func revealBytes() -> [UInt8] {
        unsafe withBytes { unsafe Array($0) }
    }

    /// The bytes as text, which is no longer guarded; what is no UTF-8 is replaced.
    public func reveal() -> String {
        unsafe withBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }
}

extension Secret: Equatable {
    /// Compares in constant time.
    public static func == (left: Secret, right: Secret) -> Bool {
        unsafe left.withBytes { left in
            unsafe right.withBytes { unsafe ConstantTime.equal(left, $0) }
        }
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `[redacted]`.
    public var description: String { "[redacted]" }
    /// Always `[redacted]`.
    public var debugDescription: String { "[redacted]" }
    /// Shows no children, so that `dump` and reflecting loggers find nothing.
    public var customMirror: Mirror { Mirror(reflecting: "[redacted]") }
}
