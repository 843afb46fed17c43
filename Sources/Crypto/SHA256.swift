internal import COpenSSL

/// SHA-256 (FIPS 180-4), at once or in parts.
///
/// Threads: one instance belongs to one thread; the static functions are free. An allocation that
/// OpenSSL cannot make traps, as Swift's own would.
@safe public struct SHA256: ~Copyable {
    /// The length of a digest in bytes.
    public static let byteCount = 32

    private let context: OpaquePointer

    /// Begins an empty message.
    public init() {
        guard let context = unsafe EVP_MD_CTX_new(),
            unsafe EVP_DigestInit_ex(context, Algorithm.sha256.pointer, nil) == 1
        else { preconditionFailure("OpenSSL gives no SHA-256 context") }
        unsafe self.context = unsafe context
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
    }

    /// Adds bytes to the message.
    public mutating func update(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe update($0) }
    }

    /// Adds bytes to the message, which are read before the call returns.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        let code = unsafe EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
        precondition(code == 1, "EVP_DigestUpdate failed")
    }

    /// Ends the message and returns its 32 bytes.
    public consuming func finish() -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
            let code = unsafe EVP_DigestFinal_ex(context, buffer.baseAddress, nil)
            precondition(code == 1, "EVP_DigestFinal_ex failed")
            count = Self.byteCount
        }
    }

    /// The 32-byte digest of a message.
    public static func hash(_ bytes: [UInt8]) -> [UInt8] {
        hash(parts: [bytes])
    }

    /// The digest of the UTF-8 of a text.
    public static func hash(_ text: String) -> [UInt8] {
        hash(Array(text.utf8))
    }

    /// The digest of parts laid end to end.
    ///
    /// Borders do not count: put lengths between parts where they must.
    public static func hash(parts: [[UInt8]]) -> [UInt8] {
        var hash = SHA256()
        for part in parts { hash.update(part) }
        return hash.finish()
    }

    /// The algorithm, fetched once: OpenSSL 3 looks it up for each digest otherwise.
    @safe private struct Algorithm: @unchecked Sendable {
        // @unchecked: EVP_MD is immutable after its fetch and may be shared between threads
        // (`EVP_MD_fetch(3)`); it lives as long as the process.
        let pointer: OpaquePointer?

        static let sha256 = unsafe Algorithm(pointer: EVP_MD_fetch(nil, "SHA2-256", nil))
    }
}
