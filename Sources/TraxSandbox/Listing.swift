internal import Crypto
internal import JSON

/// An error as the API tells it: status, code and message.
struct APIFailure: Error, Equatable {
    let status: Int
    let code: String
    let message: String
    var requiredScope: String?
    var retryAfter: String?

    static let invalidKey = APIFailure(
        status: 401, code: "invalid_key", message: "The API key is missing, unknown or revoked.")
    static let notFound = APIFailure(
        status: 404, code: "not_found", message: "There is no such resource.")

    static func invalidRequest(_ message: String, status: Int = 400) -> APIFailure {
        APIFailure(status: status, code: "invalid_request", message: message)
    }

    static func rateLimited(_ seconds: Int) -> APIFailure {
        APIFailure(
            status: 429, code: "rate_limited", message: "Too many requests with this key.",
            retryAfter: String(seconds))
    }

    static func insufficientScope(_ scope: String) -> APIFailure {
        APIFailure(
            status: 403, code: "insufficient_scope", message: "The key lacks the scope \(scope).",
            requiredScope: scope)
    }

    /// The code that the API has for a status.
    static func code(of status: Int) -> String {
        switch status {
        case 400: "invalid_request"
        case 401: "invalid_key"
        case 403: "insufficient_scope"
        case 404: "not_found"
        case 429: "rate_limited"
        default: "internal"
        }
    }
}

/// What a list answers.
enum ListAnswer {
    /// A page, as bytes of JSON.
    case page([UInt8])
    /// An error of the API.
    case failure(APIFailure)
    /// A page or anything else, spoiled by a fault.
    indirect case spoiled(SandboxFault, page: [UInt8])
    /// Another answer, late.
    indirect case late(Duration, ListAnswer)
}

extension SandboxState {
    static let defaultLimit = 50
    static let maximumLimit = 200
    /// Pages kept ready for an account.
    static let maximumPages = 64

    /// `GET /v1/connections`.
    ///
    /// - Parameters:
    ///   - key: nil when the request names none.
    ///   - limit: as in the query.
    ///   - cursor: as in the query; empty is from the start.
    mutating func list(
        key: String?, limit: String?, cursor: String?, at now: Duration
    ) -> ListAnswer {
        guard let key, let record = keys[key], !record.isRevoked else {
            return .failure(.invalidKey)
        }
        if let seconds = keys[key]?.bucket.take(rate, at: now) {
            return .failure(.rateLimited(seconds))
        }
        guard record.scopes.contains("connections:read") else {
            return .failure(.insufficientScope("connections:read"))
        }
        let isLater = !(cursor ?? "").isEmpty
        let (delay, fault) = nextFault(of: record.account, isLater: isLater)
        let answer = page(of: record.account, limit: limit, cursor: cursor, fault: fault)
        return delay > .zero ? .late(delay, answer) : answer
    }

    private mutating func page(
        of account: String, limit: String?, cursor: String?, fault: SandboxFault?
    ) -> ListAnswer {
        let request: PageRequest
        do throws(APIFailure) {
            request = PageRequest(
                limit: try Self.parse(limit: limit), after: try Self.parse(cursor: cursor))
        } catch {
            return .failure(error)
        }
        let page = page(of: account, request)
        if let fault { return .spoiled(fault, page: page) }
        return .page(page)
    }

    /// The delays that fit, and the first other fault that does, each counted down.
    private mutating func nextFault(
        of account: String, isLater: Bool
    ) -> (delay: Duration, fault: SandboxFault?) {
        guard !faults.isEmpty else { return (.zero, nil) }
        var delay = Duration.zero
        var found: SandboxFault?
        for index in faults.indices {
            let fault = faults[index].fault
            guard fault.account == nil || fault.account == account, !fault.laterPages || isLater
            else { continue }
            if fault.kind == .delay {
                delay += fault.delay
            } else if found == nil {
                found = fault
            } else {
                continue
            }
            faults[index].fault.count = fault.count.map { $0 - 1 }
        }
        faults.removeAll { $0.fault.count == 0 }
        return (delay, found)
    }

    /// Default 50, clamped to 200; what is no number from 1 up is refused.
    private static func parse(limit: String?) throws(APIFailure) -> Int {
        guard let limit else { return defaultLimit }
        guard !limit.isEmpty, limit.utf8.allSatisfy({ (48...57).contains($0) }) else {
            throw .invalidRequest("limit must be a whole number.")
        }
        // More digits than a number holds are still only more than the maximum.
        let value = Int(limit) ?? maximumLimit
        guard value >= 1 else { throw .invalidRequest("limit must be at least 1.") }
        return min(value, maximumLimit)
    }

    private static func parse(cursor: String?) throws(APIFailure) -> String? {
        guard let cursor, !cursor.isEmpty else { return nil }
        guard let bytes = Base64.decode(cursor), bytes.starts(with: cursorMark),
            let id = String(validating: bytes.dropFirst(cursorMark.count), as: UTF8.self)
        else { throw .invalidRequest("cursor is malformed.") }
        return id
    }

    private static let cursorMark = Array("after:".utf8)

    /// The token that goes on behind `id`.
    static func cursor(after id: String) -> String {
        Base64.encode(cursorMark + Array(id.utf8))
    }

    private mutating func page(of account: String, _ request: PageRequest) -> [UInt8] {
        guard let held = accounts[account] else { return [] }
        if let ready = held.pages[request] { return ready }
        let rows = held.connections
        var start = request.after.map { Self.firstIndex(in: rows, notBefore: $0) } ?? 0
        if start < rows.count, rows[start].id == request.after { start += 1 }
        let end = min(rows.count, start + request.limit)
        var members: [(key: String, value: JSONValue)] = [
            ("data", .array(rows[start..<end].map(Self.row)))
        ]
        if end < rows.count {
            members.append(("nextCursor", .string(Self.cursor(after: rows[end - 1].id))))
        }
        let bytes = JSONValue.object(JSONObject(members)).serialized()
        if held.pages.count >= Self.maximumPages { accounts[account]?.pages = [:] }
        accounts[account]?.pages[request] = bytes
        return bytes
    }

    /// A row as the API shows it.
    static func row(_ connection: Connection) -> JSONValue {
        var object = JSONObject([("id", .string(connection.id))])
        for (key, value) in connection.fields { object[key] = value }
        return .object(object)
    }
}
