internal import CXXHash

/// Sixteen bytes that stand for a body: XXH3-128, seed 0.
///
/// Tells "the same bytes as last time" for a third of a percent of a request's cost. It resists
/// chance, not an adversary: what rests on it is only whether a body is looked at again.
///
/// The bytes are canonical (big-endian, as `XXH128_canonicalFromHash`), so they may be stored.
public struct Fingerprint: Hashable, Sendable {
    /// The upper 64 bits.
    public let high: UInt64
    /// The lower 64 bits.
    public let low: UInt64

    /// The number of bytes of the stored form.
    public static let byteCount = 16

    /// The fingerprint of no body at all; no walk has it.
    public static let none = Fingerprint(high: 0, low: 0)

    /// Makes a fingerprint of its halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads the stored form; nil unless it is 16 bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The stored form: 16 bytes.
    public var bytes: [UInt8] {
        [high, low].flatMap { half in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: half >> $0) }
        }
    }

    /// The fingerprint of borrowed memory.
    public static func of(_ bytes: UnsafeRawBufferPointer) -> Fingerprint {
        let hash = unsafe XXH3_128bits(bytes.baseAddress, bytes.count)
        return Fingerprint(high: hash.high64, low: hash.low64)
    }

    /// The fingerprint of an array.
    public static func of(_ bytes: [UInt8]) -> Fingerprint {
        unsafe bytes.withUnsafeBytes { unsafe of($0) }
    }

    /// The fingerprint of a whole walk, from those of its pages in order.
    ///
    /// One page stands for itself, so that a list of one page is hashed once.
    public static func combining(_ pages: [Fingerprint]) -> Fingerprint {
        guard pages.count != 1 else { return pages[0] }
        return of(pages.flatMap(\.bytes))
    }

    /// The fingerprint of a walk that has had one more page after `self`.
    ///
    /// Not the same as `combining`: fold from the first page on, and always so.
    public func followed(by page: Fingerprint) -> Fingerprint {
        Fingerprint.of(bytes + page.bytes)
    }
}

/// XXH3-64 of a text, for spreading things evenly and the same way after every start.
public enum StableHash {
    /// The hash of the UTF-8 of a text.
    public static func of(_ text: String) -> UInt64 {
        var text = text
        return text.withUTF8 { unsafe XXH3_64bits($0.baseAddress, $0.count) }
    }
}
