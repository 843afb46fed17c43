/// Where a browser may be sent when a link has ended: an https address of TRaX's own.
///
/// The whole grammar is allowed characters, not forbidden ones: the scheme and one of the hosts as
/// they are written here, a path of plain segments, a query of plain pairs. User information, a
/// port, a backslash, an escape, a fragment, a doubled slash and another address within the query
/// have no place in it, so no two programs can read it differently and nothing leads onward. Nor
/// has a member of the query that tells an outcome: the page would find two of them.
struct ReturnTarget: Equatable, Sendable {
    /// The address as given.
    let url: String

    /// TRaX's hosts that hold pages; `connect` is left out, for it redirects onward.
    static let hosts = [
        "account.traxstreaming.live", "app.traxstreaming.live", "studio.traxstreaming.live",
    ]

    /// The same grammar as a regular expression, for the API's description.
    static let pattern =
        "^https://(account|app|studio)[.]traxstreaming[.]live"
        + "(/[A-Za-z0-9_~-]+([.][A-Za-z0-9_~-]+)*)*/?([?][A-Za-z0-9._~=&-]*)?$"

    static let maximumLength = 1024

    /// Nil unless the address is one of TRaX's.
    init?(_ text: String) {
        let scheme = "https://"
        guard text.utf8.count <= Self.maximumLength, text.hasPrefix(scheme) else { return nil }
        let rest = text.utf8.dropFirst(scheme.utf8.count)
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
        guard Self.hosts.contains(where: { rest[..<(end ?? rest.endIndex)].elementsEqual($0.utf8) })
        else { return nil }
        let tail = rest[(end ?? rest.endIndex)...]
        let mark = tail.firstIndex(of: UInt8(ascii: "?"))
        guard Self.isPath(tail[..<(mark ?? tail.endIndex)]) else { return nil }
        if let mark {
            let isPlain = tail[mark...].dropFirst().allSatisfy {
                Self.isPlain($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "=")
                    || $0 == UInt8(ascii: "&")
            }
            guard isPlain, !Self.tellsOutcome(tail[mark...].dropFirst()) else { return nil }
        }
        url = text
    }

    /// The address with pairs added to its query; the values must be plain.
    func adding(_ pairs: String) -> String {
        guard let mark = url.firstIndex(of: "?") else { return "\(url)?\(pairs)" }
        let query = url[url.index(after: mark)...]
        return query.isEmpty || query.hasSuffix("&") ? url + pairs : "\(url)&\(pairs)"
    }

    /// Whether a query has a member that is appended to say how a link has ended.
    private static func tellsOutcome(_ query: Substring.UTF8View) -> Bool {
        query.split(separator: UInt8(ascii: "&")).contains { pair in
            let name = pair.prefix { $0 != UInt8(ascii: "=") }
            return ["connected", "error", "error_provider"].contains { name.elementsEqual($0.utf8) }
        }
    }

    /// Empty, or segments after slashes, with one slash at the end at most; no dot begins or ends a
    /// segment, so none goes up.
    private static func isPath(_ path: Substring.UTF8View) -> Bool {
        guard !path.isEmpty else { return true }
        let segments = path.split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
        ).dropFirst()
        for (index, segment) in zip(segments.indices, segments) {
            if segment.isEmpty { return index == segments.endIndex - 1 }
            let parts = segment.split(
                separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            guard parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isPlain) }) else { return false }
        }
        return true
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "~"),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
