internal import COpenSSL

/// The OpenSSL that was loaded at run time.
public enum OpenSSLLibrary {
    /// Its version with the day it was made (`OpenSSL_version(3)`).
    public static var version: String {
        unsafe OpenSSL_version(OPENSSL_VERSION).map { unsafe String(cString: $0) } ?? "unknown"
    }
}
