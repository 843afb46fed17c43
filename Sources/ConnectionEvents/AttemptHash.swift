internal import Crypto

/// What may be shown of an attempt to link: 128 bits of its state's SHA-256, as 32 digits.
///
/// The state itself is a capability and stays with who asked for it.
public struct AttemptHash: Hashable, Sendable, CustomStringConvertible {
    /// 32 lower-case hexadecimal digits.
    public let text: String

    /// The hash of a state.
    public init(state: String) { text = Hex.encode(SHA256.hash(state).prefix(16)) }

    /// Takes a hash as it was stored; nil where it is none.
    public init?(_ text: String) {
        guard text.utf8.count == 32,
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        self.text = text
    }

    /// The digits.
    public var description: String { text }
}
