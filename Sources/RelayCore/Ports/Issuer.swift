/// The address of an OpenID provider, by which it names itself.
///
/// Compared byte for byte, as OpenID Connect Discovery 1.0, 4.3 asks.
public struct Issuer: Hashable, Sendable, CustomStringConvertible {
    /// The address as it was given.
    public let text: String

    /// Takes an address: https, or plain http to this machine; no user, query or fragment.
    public init?(_ text: String) {
        guard Self.isSafe(text), !text.contains("?"), !text.contains("#"), text.utf8.count <= 1024
        else { return nil }
        self.text = text
    }

    /// The address.
    public var description: String { text }

    /// Where its discovery document lies.
    ///
    /// OpenID Connect Discovery 1.0, 4.
    public var documentAddress: String {
        (text.hasSuffix("/") ? String(text.dropLast()) : text) + "/.well-known/openid-configuration"
    }

    /// Whether tokens and codes may be sent to an address: https, or this machine.
    public static func isSafe(_ text: String) -> Bool {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") })
        else { return false }
        let isPlain = text.hasPrefix("http://")
        guard isPlain || text.hasPrefix("https://") else { return false }
        let authority = text.dropFirst(isPlain ? 7 : 8).prefix { !"/?#".contains($0) }
        guard !authority.isEmpty, !authority.contains("@") else { return false }
        return !isPlain || isLoopback(authority)
    }

    private static func isLoopback(_ authority: Substring) -> Bool {
        if authority.hasPrefix("[") { return authority.hasPrefix("[::1]") }
        let host = authority.prefix { $0 != ":" }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let isIPv4 = parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
        return host == "localhost" || isIPv4 && parts[0] == "127"
    }
}
