/// The address of the TRaX API, without the `/v1` that every path begins with.
public struct BaseURL: Hashable, Sendable, CustomStringConvertible {
    /// Scheme, host, port and path, without a slash or `/v1` at the end.
    public let text: String

    /// The address as a text.
    public var description: String { text }

    /// Why a text is no such address, nil where it is one.
    static func objection(to text: String) -> String? {
        switch Self.judge(text) {
        case .success: nil
        case .failure(let objection): objection.reason
        }
    }

    /// Takes an address; nil where `objection(to:)` has one.
    public init?(_ text: String) {
        guard case .success(let url) = Self.judge(text) else { return nil }
        self = url
    }

    private init(checked text: String) {
        self.text = text
    }

    private struct Objection: Error {
        let reason: String
    }

    private static func judge(_ text: String) -> Result<BaseURL, Objection> {
        func refuse(_ reason: String) -> Result<BaseURL, Objection> {
            .failure(Objection(reason: reason))
        }
        let lowered = text.lowercased()
        let isPlain = lowered.hasPrefix("http://")
        guard isPlain || lowered.hasPrefix("https://") else {
            return refuse("must begin with `https://`")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else {
            return refuse("must hold no spaces, backslashes or characters outside ASCII")
        }
        guard !text.contains("?"), !text.contains("#") else {
            return refuse("must have no query and no fragment")
        }
        let rest = text.dropFirst(isPlain ? 7 : 8)
        let authority = rest.prefix { $0 != "/" }
        guard !authority.contains("@") else {
            return refuse("must hold no user name or password: credentials come from the accounts")
        }
        guard let address = HostAndPort(String(authority)), !address.host.isEmpty else {
            return refuse("must name a host, and after a colon perhaps a port")
        }
        guard !isPlain || address.isPrivate else {
            return refuse(
                "must begin with `https://`: plain http goes to loopback and private hosts only, "
                    + "since every request carries a credential")
        }
        var path = String(rest.dropFirst(authority.count))
        while path.hasSuffix("/") { path.removeLast() }
        if path.hasSuffix("/v1") { path.removeLast(3) }
        while path.hasSuffix("/") { path.removeLast() }
        return .success(
            BaseURL(checked: (isPlain ? "http://" : "https://") + authority.lowercased() + path))
    }
}

/// A host with an optional port, as `127.0.0.1:7080`, `[::1]:9092` or `kafka`.
public struct HostAndPort: Hashable, Sendable, CustomStringConvertible {
    /// The host, an IPv6 address without its brackets.
    public let host: String
    /// The port, 0 to 65535; nil where none is written.
    public let port: Int?

    /// Takes a text; nil where the host has characters that no host has, or the port is none.
    public init?(_ text: String) {
        var hostText = text[...]
        var portText: Substring?
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            hostText = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            portText = rest.isEmpty ? nil : rest.dropFirst()
            guard hostText.contains(":"),
                hostText.allSatisfy({ $0.isHexDigit || ":.".contains($0) })
            else { return nil }
        } else {
            if let colon = text.firstIndex(of: ":") {
                hostText = text[..<colon]
                portText = text[text.index(after: colon)...]
            }
            guard hostText.utf8.allSatisfy(Self.isHostByte) else { return nil }
        }
        if let portText {
            guard (1...5).contains(portText.utf8.count),
                portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = Int(portText),
                number <= 65535
            else { return nil }
            port = number
        } else {
            port = nil
        }
        host = hostText.lowercased()
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// The address as it is written.
    public var description: String {
        (host.contains(":") ? "[\(host)]" : host) + (port.map { ":\($0)" } ?? "")
    }

    /// Whether only this machine can reach it.
    public var isLoopback: Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "::1"
            || ipv4?.first == 127
    }

    /// Whether it lies on this machine or in a private network (RFC 1918, 4193, 3927), judged by
    /// name or address alone: names without a dot, and those of `.local`, `.internal` and
    /// `.home.arpa`.
    public var isPrivate: Bool {
        if isLoopback { return true }
        if let bytes = ipv4 {
            switch (bytes[0], bytes[1]) {
            case (10, _), (192, 168), (172, 16...31), (169, 254): return true
            default: return false
            }
        }
        if host.contains(":") {
            let group = host.prefix { $0 != ":" }
            return group.count == 4
                && ["fc", "fd", "fe8", "fe9", "fea", "feb"].contains { group.hasPrefix($0) }
        }
        // A name of digits may be an address in disguise (`134744072` is 8.8.8.8).
        guard let first = host.utf8.first, (0x61...0x7A).contains(first) else { return false }
        return !host.contains(".")
            || [".local", ".internal", ".home.arpa"].contains { host.hasSuffix($0) }
    }

    /// The four bytes of a dotted address, each written in plain decimal.
    private var ipv4: [UInt8]? {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let bytes = parts.compactMap { part in UInt8(part).flatMap { "\($0)" == part ? $0 : nil } }
        return parts.count == 4 && bytes.count == 4 ? bytes : nil
    }
}
