internal import COpenSSL

/// Authenticated encryption with AES-256-GCM (NIST SP 800-38D).
///
/// A box is 12 bytes of random nonce, the ciphertext, 16 bytes of tag. With random nonces one key
/// is good for about four thousand million boxes. The additional data is not kept in the box:
/// whoever opens it names it again, so that a box cannot be moved to another owner.
///
/// Threads: any.
public enum SealedBox {
    /// The length of a key in bytes.
    public static let keyByteCount = 32
    /// What a box is longer than its plaintext.
    public static let overhead = nonceByteCount + tagByteCount

    private static let nonceByteCount = 12
    private static let tagByteCount = 16

    /// A fresh random key.
    ///
    /// - Throws: kind `unavailable` when there is no randomness.
    public static func makeKey() throws(CryptoError) -> Secret {
        Secret(try Random.bytes(keyByteCount))
    }

    /// Seals plaintext under a key for one owner.
    ///
    /// - Throws: `badKey` when the key is not 32 bytes, `unavailable` without randomness.
    public static func seal(
        _ plaintext: Secret, key: Secret, additionalData: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        let nonce = try Random.bytes(nonceByteCount)
        let context = try Context()
        try context.begin(key: key, nonce: nonce, sealing: true)
        try context.authenticate(additionalData)
        var box = nonce
        box.append(contentsOf: repeatElement(0, count: plaintext.count + tagByteCount))
        try unsafe plaintext.withBytes { (plain) throws(CryptoError) in
            try unsafe context.encrypt(plain, into: &box, at: nonceByteCount)
        }
        return box
    }

    /// Seals bytes that are not wrapped in a `Secret`.
    public static func seal(
        _ plaintext: [UInt8], key: Secret, additionalData: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        try seal(Secret(plaintext), key: key, additionalData: additionalData)
    }

    /// Opens a box with the key and additional data that it was sealed with.
    ///
    /// - Throws: `notAuthentic` when key, owner or a single bit differs, `malformed` when it is too
    ///   short to be a box, `badKey` when the key is not 32 bytes.
    public static func open(
        _ box: [UInt8], key: Secret, additionalData: [UInt8]
    ) throws(CryptoError) -> Secret {
        guard box.count >= overhead else {
            throw CryptoError(.malformed, "a sealed value is cut short")
        }
        let nonce = Array(box[..<nonceByteCount])
        let context = try Context()
        try context.begin(key: key, nonce: nonce, sealing: false)
        try context.authenticate(additionalData)
        return try unsafe Secret(byteCount: box.count - overhead) { (plain) throws(CryptoError) in
            try unsafe context.decrypt(box, from: nonceByteCount, into: plain)
        }
    }

    /// One `EVP_CIPHER_CTX` (`EVP_EncryptInit(3)`), for one box.
    @safe private struct Context: ~Copyable {
        private let pointer: OpaquePointer

        init() throws(CryptoError) {
            guard let pointer = unsafe EVP_CIPHER_CTX_new() else { throw refused() }
            unsafe self.pointer = unsafe pointer
        }

        deinit {
            unsafe EVP_CIPHER_CTX_free(pointer)
        }

        func begin(key: Secret, nonce: [UInt8], sealing: Bool) throws(CryptoError) {
            guard key.count == keyByteCount else {
                throw CryptoError(.badKey, "the key is not 32 bytes long")
            }
            let code = unsafe key.withBytes { key in
                unsafe EVP_CipherInit_ex(
                    pointer, Cipher.aes256GCM.pointer, nil,
                    key.baseAddress?.assumingMemoryBound(to: UInt8.self), nonce, sealing ? 1 : 0)
            }
            guard code == 1 else { throw refused() }
        }

        func authenticate(_ data: [UInt8]) throws(CryptoError) {
            guard !data.isEmpty else { return }
            var written: Int32 = 0
            let code = unsafe EVP_CipherUpdate(pointer, nil, &written, data, Int32(data.count))
            guard code == 1 else { throw refused() }
        }

        func encrypt(
            _ plain: UnsafeRawBufferPointer, into box: inout [UInt8], at offset: Int
        ) throws(CryptoError) {
            let done = unsafe box.withUnsafeMutableBytes { memory in
                guard let base = memory.baseAddress else { return false }
                let out = unsafe (base + offset).assumingMemoryBound(to: UInt8.self)
                let source = unsafe plain.baseAddress?.assumingMemoryBound(to: UInt8.self)
                var written: Int32 = 0
                return
                    unsafe (plain.isEmpty
                    || EVP_CipherUpdate(pointer, out, &written, source, Int32(plain.count)) == 1)
                    && EVP_CipherFinal_ex(pointer, out + plain.count, &written) == 1
                    && EVP_CIPHER_CTX_ctrl(
                        pointer, EVP_CTRL_AEAD_GET_TAG, Int32(tagByteCount), out + plain.count) == 1
            }
            guard done else { throw refused() }
        }

        func decrypt(
            _ box: [UInt8], from offset: Int, into plain: UnsafeMutableRawBufferPointer
        ) throws(CryptoError) {
            var tag = Array(box.suffix(tagByteCount))
            let authentic = unsafe box.withUnsafeBytes { memory in
                guard let base = memory.baseAddress else { return false }
                let source = unsafe (base + offset).assumingMemoryBound(to: UInt8.self)
                let out = unsafe plain.baseAddress?.assumingMemoryBound(to: UInt8.self)
                var written: Int32 = 0
                var end: UInt8 = 0
                return
                    unsafe (plain.isEmpty
                    || EVP_CipherUpdate(pointer, out, &written, source, Int32(plain.count)) == 1)
                    && EVP_CIPHER_CTX_ctrl(
                        pointer, EVP_CTRL_AEAD_SET_TAG, Int32(tagByteCount), &tag) == 1
                    && EVP_CipherFinal_ex(pointer, &end, &written) == 1
            }
            guard authentic else {
                throw CryptoError(.notAuthentic, "a sealed value does not open with this key")
            }
        }
    }

    private static func refused() -> CryptoError {
        CryptoError(.unavailable, "OpenSSL refused AES-256-GCM")
    }

    /// The algorithm, fetched once: a fetch for each box costs more than the box.
    @safe private struct Cipher: @unchecked Sendable {
        // @unchecked: EVP_CIPHER is immutable after its fetch and may be shared between threads
        // (`provider(7)`, `EVP_CIPHER_fetch(3)`); it lives as long as the process.
        let pointer: OpaquePointer?

        static let aes256GCM = unsafe Cipher(
            pointer: EVP_CIPHER_fetch(nil, "AES-256-GCM", nil))
    }
}
