/// One whole request, its body included.
///
/// `description` and mirrors show method and path alone: queries and headers may be secret.
public struct HTTPServerRequest: Sendable, CustomStringConvertible, CustomReflectable {
    /// The method as sent, but GET for HEAD: the server leaves the body of the reply out itself.
    public let method: String
    /// Whether it was a HEAD.
    public let isHead: Bool
    /// The path as sent, percent-encoded, without the query.
    public let path: String
    /// The pairs of the query in order, decoded; `+` is a space.
    public let query: [(name: String, value: String)]
    /// The headers in order, as sent.
    public let headers: [(name: String, value: String)]
    /// The body, at most `HTTPServerLimits.body` bytes.
    public let body: [UInt8]
    /// The peer's address without port; empty when unknown.
    public let peer: String

    init(
        method: String, target: String, headers: [(name: String, value: String)], body: [UInt8],
        peer: String
    ) {
        isHead = method == "HEAD"
        self.method = isHead ? "GET" : method
        let mark = target.firstIndex(of: "?")
        path = String(target[..<(mark ?? target.endIndex)])
        query = mark.map { PercentEncoding.pairs(target[target.index(after: $0)...]) } ?? []
        self.headers = headers
        self.body = body
        self.peer = peer
    }

    /// The decoded segments of the path; nil when an escape is malformed or a segment is no UTF-8.
    ///
    /// `/a/b%2Fc` gives `a` and `b/c`; the root gives none.
    public var segments: [String]? {
        var decoded: [String] = []
        for part in path.split(separator: "/") {
            guard let text = PercentEncoding.decode(part) else { return nil }
            decoded.append(text)
        }
        return decoded
    }

    /// The first value of a header; any spelling of the name.
    public func header(_ name: String) -> String? {
        headers.first { PercentEncoding.same($0.name, name) }?.value
    }

    /// The first value of a query parameter.
    public func parameter(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    /// The pairs of a body that is a form, in order, decoded; none of any other body.
    ///
    /// `application/x-www-form-urlencoded` of the URL standard, 5.1; a malformed escape stays as it
    /// is, bytes that are no UTF-8 are replaced.
    public var form: [(name: String, value: String)] {
        let type = header("Content-Type")?.prefix { $0 != ";" && $0 != " " }.lowercased()
        guard type == "application/x-www-form-urlencoded" else { return [] }
        return PercentEncoding.pairs(String(decoding: body, as: UTF8.self))
    }

    /// Method and path alone.
    public var description: String { "\(method) \(path)" }

    /// A mirror of method and path alone.
    public var customMirror: Mirror { Mirror(self, children: ["method": method, "path": path]) }
}

/// Percent-encoding by RFC 3986, 2.1, and forms by the URL standard, 5.1.
public enum PercentEncoding {
    /// The decoded text; nil for a malformed escape or what is no UTF-8.
    public static func decode(_ text: some StringProtocol) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The text with everything but unreserved characters escaped.
    public static func encode(_ text: some StringProtocol) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                encoded += byte < 16 ? "%0" : "%"
                encoded += String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }

    /// The pairs of a query or form; a malformed escape is left as it is.
    static func pairs(_ query: some StringProtocol) -> [(name: String, value: String)] {
        query.split(separator: "&").map { pair in
            let equals = pair.firstIndex(of: "=") ?? pair.endIndex
            let value =
                equals == pair.endIndex ? pair[equals...] : pair[pair.index(after: equals)...]
            return (form(pair[..<equals]), form(value))
        }
    }

    static func same(_ left: String, _ right: String) -> Bool {
        guard left.utf8.count == right.utf8.count else { return false }
        return left.utf8.elementsEqual(right.utf8) { lower($0) == lower($1) }
    }

    private static func form(_ text: some StringProtocol) -> String {
        let spaced = String(text.map { $0 == "+" ? " " : $0 })
        return decode(spaced) ?? spaced
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
