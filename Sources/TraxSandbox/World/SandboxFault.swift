internal import JSON

/// Something that goes wrong with `GET /v1/connections`, so many times or until it is cleared.
public struct SandboxFault: Sendable, Equatable {
    /// What goes wrong.
    public enum Kind: String, Sendable, CaseIterable {
        /// Another status than 200, with the API's envelope: `status`, `code`, `retryAfter`.
        case status
        /// Another status than 200 from something in front of the API, in HTML: `status`.
        case proxy
        /// A good answer, but late: `milliseconds`. The next fault that fits acts as well.
        case delay
        /// 200 with a page of HTML.
        case html
        /// 200 with JSON that is no list.
        case garbage
        /// 200 whose body breaks off before its announced end.
        case truncate
        /// The connection is reset.
        case reset
        /// The connection is closed without an answer.
        case drop
        /// 200 with no rows: `{"data":[]}`.
        case empty
        /// 204 without a body.
        case noContent
        /// 302 to another address, with the same key if it were followed.
        case redirect
        /// A good page whose `nextCursor` is always the same.
        case cursorLoop
        /// A good page with a row more that has no id.
        case badRow
        /// A good page whose last row comes twice.
        case doubleRow
    }

    /// What goes wrong.
    public var kind: Kind
    /// The account it concerns; nil concerns all.
    public var account: String?
    /// How many answers it still spoils; nil until cleared.
    public var count: Int?
    /// Only pages after the first.
    public var laterPages: Bool
    /// The status of `status` and `proxy`, 400-599.
    public var status: Int
    /// The error code of `status`; nil takes the one that the API has for the status.
    public var code: String?
    /// The value of `Retry-After` as it is, seconds or a date; nil sends none.
    public var retryAfter: String?
    /// How late a `delay` is, at most ten minutes.
    public var delay: Duration

    /// Describes a fault; the values that its kind does not use are not looked at.
    public init(
        _ kind: Kind, account: String? = nil, count: Int? = nil, laterPages: Bool = false,
        status: Int = 500, code: String? = nil, retryAfter: String? = nil,
        delay: Duration = .seconds(1)
    ) {
        self.kind = kind
        self.account = account
        self.count = count
        self.laterPages = laterPages
        self.status = status
        self.code = code
        self.retryAfter = retryAfter
        self.delay = delay
    }

    /// Refuses what could not be served.
    func validate() throws(SandboxError) {
        guard (400...599).contains(status) else {
            throw SandboxError(.invalid, "The status of a fault must be 400 to 599.")
        }
        guard count.map({ $0 > 0 }) ?? true else {
            throw SandboxError(.invalid, "The count of a fault must be at least 1.")
        }
        guard delay >= .zero, delay <= .seconds(600) else {
            throw SandboxError(.invalid, "The delay of a fault must be 0 to 600,000 milliseconds.")
        }
    }

    /// Reads a fault as the control API takes it.
    init(_ body: ControlBody) throws(SandboxError) {
        let name = try body.string("kind")
        guard let kind = Kind(rawValue: name) else {
            let known = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw SandboxError(.invalid, "Unknown kind of fault \"\(name)\". Known: \(known).")
        }
        self.init(
            kind, account: try body.optionalString("account"),
            count: try body.optionalInteger("count"),
            laterPages: try body.optionalBool("laterPages") ?? false,
            status: try body.optionalInteger("status") ?? 500,
            code: try body.optionalString("code"),
            retryAfter: try body.optionalText("retryAfter"),
            delay: .milliseconds(try body.optionalInteger("milliseconds") ?? 1000))
        try validate()
    }

    /// The fault as the control API shows it.
    func json(id: Int) -> JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("id", JSONValue(id)), ("kind", .string(kind.rawValue)),
            ("account", JSONValue(account)),
            ("count", count.map { JSONValue($0) } ?? .null), ("laterPages", .bool(laterPages)),
        ]
        switch kind {
        case .status:
            members.append(("status", JSONValue(status)))
            members.append(("code", JSONValue(code)))
            members.append(("retryAfter", JSONValue(retryAfter)))
        case .proxy:
            members.append(("status", JSONValue(status)))
            members.append(("retryAfter", JSONValue(retryAfter)))
        case .delay:
            members.append(("milliseconds", JSONValue(Int(delay / .milliseconds(1)))))
        case .html, .garbage, .truncate, .reset, .drop, .empty, .noContent, .redirect, .cursorLoop,
            .badRow, .doubleRow:
            break
        }
        return .object(JSONObject(members))
    }
}
