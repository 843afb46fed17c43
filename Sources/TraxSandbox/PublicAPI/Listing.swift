internal import Crypto
internal import JSON

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

/// The lists under `/v1`.
enum List {
    case connections, studios

    var scope: Scope {
        switch self {
        case .connections: .readConnections
        case .studios: .readStudios
        }
    }
}

extension SandboxState {
    static let defaultLimit = 50
    static let maximumLimit = 200
    /// Pages kept ready for an account.
    static let maximumPages = 64

    /// `GET /v1/connections` or `GET /v1/studios`.
    ///
    /// - Parameters:
    ///   - limit: as in the query.
    ///   - cursor: as in the query; empty is from the start.
    mutating func list(
        _ list: List, _ credential: Credential, limit: String?, cursor: String?, at now: Duration
    ) -> ListAnswer {
        catchUp(at: now)
        do throws(APIFailure) {
            let account = try admit(credential, list.scope, at: now)
            let request: PageRequest
            let (delay, fault) =
                list == .connections
                ? nextFault(of: account, isLater: !(cursor ?? "").isEmpty) : (.zero, nil)
            do throws(APIFailure) {
                request = PageRequest(
                    limit: try Self.parse(limit: limit), after: try Self.parse(cursor: cursor))
            } catch {
                return delay > .zero ? .late(delay, .failure(error)) : .failure(error)
            }
            let page =
                list == .connections
                ? connectionPage(of: account, request) : studioPage(of: account, request)
            let answer = fault.map { ListAnswer.spoiled($0, page: page) } ?? .page(page)
            return delay > .zero ? .late(delay, answer) : answer
        } catch {
            return .failure(error)
        }
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

    private static func parse(cursor: String?) throws(APIFailure) -> [UInt8]? {
        guard let cursor, !cursor.isEmpty else { return nil }
        guard cursor.utf8.count % 4 == 0, !cursor.utf8.contains(UInt8(ascii: "=")),
            let bytes = Base64.decode(cursor), bytes.starts(with: cursorMark)
        else { throw .invalidRequest("cursor is malformed.") }
        return Array(bytes.dropFirst(cursorMark.count).reversed().drop { $0 == 0 }.reversed())
    }

    private static let cursorMark = Array("after:".utf8)

    /// The token that goes on behind `id`.
    ///
    /// Zero bytes fill it to whole groups of four characters, so that what is well-formed can be
    /// said by a pattern in the API's description.
    static func cursor(after id: String) -> String {
        var bytes = cursorMark + Array(id.utf8)
        while bytes.count % 3 != 0 { bytes.append(0) }
        return Base64.encode(bytes)
    }

    private mutating func connectionPage(of account: String, _ request: PageRequest) -> [UInt8] {
        guard let held = accounts[account] else { return [] }
        if let ready = held.pages[request] { return ready }
        let bytes = Self.page(held.connections, request, row: Self.row)
        if held.pages.count >= Self.maximumPages { accounts[account]?.pages = [:] }
        accounts[account]?.pages[request] = bytes
        return bytes
    }

    private func studioPage(of account: String, _ request: PageRequest) -> [UInt8] {
        Self.page(accounts[account]?.studios ?? [], request) { studio in
            ["id": .string(studio.id), "name": .string(studio.name)]
        }
    }

    private static func page<Row: Identified>(
        _ rows: [Row], _ request: PageRequest, row: (Row) -> JSONValue
    ) -> [UInt8] {
        var start = 0
        if let after = request.after {
            start = firstIndex(in: rows, notBefore: after)
            if start < rows.count, rows[start].id.utf8.elementsEqual(after) { start += 1 }
        }
        let end = min(rows.count, start + request.limit)
        var members: [(key: String, value: JSONValue)] = [
            ("data", .array(rows[start..<end].map(row)))
        ]
        if end < rows.count {
            members.append(("nextCursor", .string(cursor(after: rows[end - 1].id))))
        }
        return JSONValue.object(JSONObject(members)).serialized()
    }

    /// A row as the API shows it.
    static func row(_ connection: Connection) -> JSONValue {
        var object = JSONObject([("id", .string(connection.id))])
        for (key, value) in connection.fields { object[key] = value }
        return .object(object)
    }

    /// The first row whose id is not less than `id`, by bytes.
    static func firstIndex<Row: Identified>(
        in rows: [Row], notBefore id: some Sequence<UInt8>
    ) -> Int {
        var low = 0
        var high = rows.count
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].id.utf8.lexicographicallyPrecedes(id) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }
}

/// What a list holds, in the order of its ids' bytes.
protocol Identified {
    var id: String { get }
}
