internal import CCurl

/// The libcurl that was loaded at run time.
public enum CurlLibrary {
    /// Its version and those of the libraries that it uses (`curl_version(3)`).
    public static var version: String {
        unsafe curl_version().map { unsafe String(cString: $0) } ?? "unknown"
    }
}
