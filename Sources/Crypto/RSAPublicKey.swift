internal import COpenSSL

/// A public RSA key of somebody else, as a JWK set gives it (RFC 7518, 6.3.1).
///
/// Threads: any; immutable.
@safe public final class RSAPublicKey: @unchecked Sendable {
    // @unchecked: an EVP_PKEY that nobody changes may be used by any thread (`openssl-threads(7)`);
    // every call has a context of its own.
    private let key: OpaquePointer

    /// The lengths of a modulus that are taken, in bytes: below is broken, above costs too much.
    private static let sizes = 256...1024

    /// Takes a key by its two numbers, big-endian.
    ///
    /// - Throws: kind `badKey` for a modulus that is not of 2,048 to 8,192 bits, or an exponent
    ///   that is even, 1, or longer than 4 bytes; `unavailable` when OpenSSL refuses.
    ///   `EVP_PKEY_fromdata(3)`.
    public init(modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) {
        let modulus = Array(modulus.drop { $0 == 0 })
        let exponent = Array(exponent.drop { $0 == 0 })
        guard Self.sizes.contains(modulus.count), (1...4).contains(exponent.count),
            exponent != [1], let last = exponent.last, last & 1 == 1
        else {
            throw CryptoError(.badKey, "the RSA key is not of 2,048 to 8,192 bits")
        }
        guard let key = unsafe Self.make(modulus, exponent) else {
            throw CryptoError(.unavailable, "OpenSSL refused the RSA key")
        }
        unsafe self.key = unsafe key
    }

    deinit {
        unsafe EVP_PKEY_free(key)
    }

    /// Whether a signature by `RS256` is this key's, of this message.
    ///
    /// `EVP_DigestVerify(3)`; PKCS #1 v1.5 over SHA-256 (RFC 7518, 3.3).
    public func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        let isRight =
            unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        // A signature that is not right leaves a note in the thread's queue of errors.
        if !isRight { ERR_clear_error() }
        return isRight
    }

    private static func make(_ modulus: [UInt8], _ exponent: [UInt8]) -> OpaquePointer? {
        let number = unsafe BN_bin2bn(modulus, Int32(modulus.count), nil)
        defer { unsafe BN_free(number) }
        let power = unsafe BN_bin2bn(exponent, Int32(exponent.count), nil)
        defer { unsafe BN_free(power) }
        let builder = unsafe OSSL_PARAM_BLD_new()
        defer { unsafe OSSL_PARAM_BLD_free(builder) }
        let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard let number = unsafe number, let power = unsafe power, let builder = unsafe builder,
            let context = unsafe context
        else { return nil }
        // The parameters point to their names, which must outlive them (`OSSL_PARAM_BLD(3)`).
        return unsafe OSSL_PKEY_PARAM_RSA_N.withCString { modulusName in
            unsafe OSSL_PKEY_PARAM_RSA_E.withCString { exponentName in
                guard unsafe OSSL_PARAM_BLD_push_BN(builder, modulusName, number) == 1,
                    unsafe OSSL_PARAM_BLD_push_BN(builder, exponentName, power) == 1,
                    let parameters = unsafe OSSL_PARAM_BLD_to_param(builder)
                else { return nil }
                defer { unsafe OSSL_PARAM_free(parameters) }
                var key: OpaquePointer?
                guard unsafe EVP_PKEY_fromdata_init(context) == 1,
                    unsafe EVP_PKEY_fromdata(context, &key, trax_evp_public_key, parameters) == 1
                else {
                    ERR_clear_error()
                    return nil
                }
                return unsafe key
            }
        }
    }
}
