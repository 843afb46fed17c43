internal import COpenSSL

/// Bytes that nobody can guess, from OpenSSL's generator (`RAND_bytes(3)`).
///
/// Threads: any.
public enum Random {
    /// Returns `count` fresh bytes.
    ///
    /// - Throws: `CryptoError` of kind `unavailable` when the generator could not be seeded.
    public static func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
        precondition(count >= 0 && count <= 1 << 20, "no such number of random bytes")
        var code: Int32 = 1
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            if count > 0 { code = unsafe RAND_bytes(buffer.baseAddress, Int32(count)) }
            filled = code == 1 ? count : 0
        }
        guard code == 1 else {
            throw CryptoError(.unavailable, "the system has no randomness to give")
        }
        return bytes
    }
}
