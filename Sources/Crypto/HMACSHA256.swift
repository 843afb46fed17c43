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

    /// H(K ⊕ opad, H(K ⊕ ipad, message)), from the digest: OpenSSL's own HMAC looks its parts up
    /// by name for each message, which costs more than the message.
    private static func authenticate(_ message: UnsafeRawBufferPointer, key: Secret) -> [UInt8] {
        var pad = unsafe key.withBytes { key in
            unsafe key.count > blockByteCount ? SHA256.hash(Array(key)) : Array(key)
        }
        pad.append(contentsOf: repeatElement(0, count: blockByteCount - pad.count))
        for index in pad.indices { pad[index] ^= 0x36 }
        var inner = SHA256()
        inner.update(pad)
        unsafe inner.update(message)
        for index in pad.indices { pad[index] ^= 0x36 ^ 0x5c }
        var outer = SHA256()
        outer.update(pad)
        outer.update(inner.finish())
        unsafe pad.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
        return outer.finish()
    }

    private static let blockByteCount = 64
}
