internal import JSON

/// Reads JSON that the relay wrote itself.
enum JSONReading {
    /// Nil where the bytes are no JSON.
    static func value(_ bytes: [UInt8]) -> JSONValue? {
        do {
            return try JSONValue(parsing: bytes)
        } catch {
            // A checker says so where it was to be read.
            return nil
        }
    }
}
