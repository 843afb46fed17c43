internal import COpenSSL

/// Comparison whose duration tells nothing about where two values differ.
public enum ConstantTime {
    /// Whether both hold the same bytes; lengths are no secret and are compared first.
    public static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        unsafe left.withUnsafeBytes { left in
            unsafe right.withUnsafeBytes { unsafe equal(left, $0) }
        }
    }

    /// The same for memory that is borrowed for the call.
    static func equal(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        guard let first = left.baseAddress, let second = right.baseAddress else { return true }
        return unsafe CRYPTO_memcmp(first, second, left.count) == 0
    }
}
