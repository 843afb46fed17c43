internal import Crypto

/// Takes secrets out of a text: those that are known, and what looks like an API key.
struct Redaction {
    /// Shorter ones are words that stand anywhere.
    static let shortest = 6
    static let mark = "[redacted]"

    /// The secrets by their first bytes, longest first, so that a text is gone through once.
    private var known: [ArraySlice<UInt8>: [[UInt8]]] = [:]

    init(_ secrets: [Secret]) {
        for secret in secrets where secret.count >= Self.shortest {
            let bytes = secret.revealBytes()
            known[bytes.prefix(Self.shortest), default: []].append(bytes)
        }
        for key in known.keys { known[key]?.sort { $0.count > $1.count } }
    }

    /// The lines as one text, with control characters shown as `?`.
    func redacted(_ lines: [String]) -> String {
        lines.map { redacted(Table.clean($0)) + "\n" }.joined()
    }

    private func redacted(_ line: String) -> String {
        let bytes = Array(line.utf8)
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if let length = secret(in: bytes, at: index) {
                result += Self.mark.utf8
                index += length
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// The length of the secret that begins there; nil where none does.
    private func secret(in bytes: [UInt8], at index: Int) -> Int? {
        let rest = bytes[index...]
        if let candidates = known[rest.prefix(Self.shortest)],
            let found = candidates.first(where: { rest.starts(with: $0) })
        {
            return found.count
        }
        // An API key where it should not be, as in `env:sk_live_…`.
        guard rest.starts(with: "sk_".utf8) else { return nil }
        let length = rest.prefix { Self.isKeyByte($0) }.count
        return length > 10 ? length : nil
    }

    private static func isKeyByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
