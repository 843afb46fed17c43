internal import COpenSSL

/// HMAC with SHA-256 (RFC 2104): a digest that only the holder of the key can make.
///
/// Threads: any.
public enum HMACSHA256 {
    /// The 32-byte code of a message under a key of any length.
    public static func authenticate(_ message: [UInt8], key: Secret) -> [UInt8] {
        unsafe message.withUnsafeBytes { message in
            unsafe authenticate(message, key: key)
        }
    }

    /// The code of a secret message, which is not copied.
    public static func authenticate(_ message: Secret, key: Secret) -> [UInt8] {
        unsafe message.withBytes { message in
            unsafe authenticate(message, key: key)
        }
    }

    /// The code of parts laid end to end; borders between parts do not count.
    public static func authenticate(parts: [[UInt8]], key: Secret) -> [UInt8] {
        authenticate(Array(parts.joined()), key: key)
    }

    /// Whether a code belongs to a message, in a time that does not tell how much of it is right.
    public static func isValid(_ code: [UInt8], for message: [UInt8], key: Secret) -> Bool {
        ConstantTime.equal(code, authenticate(message, key: key))
    }

    private static func authenticate(_ message: UnsafeRawBufferPointer, key: Secret) -> [UInt8] {
        unsafe key.withBytes { key in
            unsafe [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { buffer, count in
                let made = unsafe HMAC(
                    EVP_sha256(), key.baseAddress, Int32(key.count),
                    message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count,
                    buffer.baseAddress, nil)
                precondition(unsafe made != nil, "HMAC failed")
                count = SHA256.byteCount
            }
        }
    }
}
