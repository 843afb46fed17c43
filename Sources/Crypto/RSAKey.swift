internal import COpenSSL

/// A private RSA key that signs as `RS256` does: PKCS #1 v1.5 over SHA-256 (RFC 7518, 3.3).
///
/// It never leaves memory and is gone with its last holder.
///
/// Threads: any; immutable.
@safe public final class RSAKey: @unchecked Sendable {
    // @unchecked: an EVP_PKEY that nobody changes may be used by any thread (`openssl-threads(7)`);
    // every call has a context of its own.
    private let key: OpaquePointer
    /// The modulus, big-endian, without leading zeros.
    public let modulus: [UInt8]
    /// The public exponent, big-endian, without leading zeros.
    public let exponent: [UInt8]
    /// What its signatures are checked with.
    public let publicKey: RSAPublicKey

    /// Makes a fresh key of 2,048 bits, which takes about a tenth of a second.
    ///
    /// - Throws: kind `unavailable` when OpenSSL cannot make one. `EVP_PKEY_Q_keygen(3)`.
    public init() throws(CryptoError) {
        guard let key = unsafe trax_rsa_generate(2048) else { throw Self.refused() }
        unsafe self.key = unsafe key
        guard let modulus = unsafe Self.number(OSSL_PKEY_PARAM_RSA_N, of: key),
            let exponent = unsafe Self.number(OSSL_PKEY_PARAM_RSA_E, of: key)
        else {
            unsafe EVP_PKEY_free(key)
            throw Self.refused()
        }
        self.modulus = modulus
        self.exponent = exponent
        do throws(CryptoError) {
            publicKey = try RSAPublicKey(modulus: modulus, exponent: exponent)
        } catch {
            unsafe EVP_PKEY_free(key)
            throw error
        }
    }

    deinit {
        unsafe EVP_PKEY_free(key)
    }

    /// The signature of a message, 256 bytes.
    ///
    /// - Throws: kind `unavailable` when OpenSSL refuses. `EVP_DigestSign(3)`.
    public func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { throw Self.refused() }
        defer { unsafe EVP_MD_CTX_free(context) }
        var length = 0
        guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            unsafe EVP_DigestSign(context, nil, &length, message, message.count) == 1
        else { throw Self.refused() }
        var signature = [UInt8](repeating: 0, count: length)
        guard unsafe EVP_DigestSign(context, &signature, &length, message, message.count) == 1
        else { throw Self.refused() }
        return Array(signature.prefix(length))
    }

    private static func number(_ name: String, of key: OpaquePointer) -> [UInt8]? {
        var number: OpaquePointer?
        guard unsafe EVP_PKEY_get_bn_param(key, name, &number) == 1, let number = unsafe number
        else { return nil }
        defer { unsafe BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: Int(unsafe BN_num_bits(number) + 7) / 8)
        unsafe BN_bn2bin(number, &bytes)
        return bytes
    }

    private static func refused() -> CryptoError {
        CryptoError(.unavailable, "OpenSSL refused RSA")
    }
}
