import ConnectionEvents
import JSON
import Threading

/// What the API would answer: the true rows behind each key, and what is wrong just now.
final class World: Sendable {
    /// One true row.
    struct Row: Hashable, Sendable {
        var status: String
        var platform = "youtube"
        var scopes = ["a", "b"]

        init(_ status: String) { self.status = status }
    }

    /// What an account's list is answered with.
    enum Answer: Hashable, Sendable {
        /// The true rows.
        case truth
        /// A status and a body.
        case status(Int, String)
        /// A status with `Retry-After`.
        case throttled(seconds: Int)
        /// The connection breaks.
        case failure(code: String)
        /// Nothing comes until the answer is another.
        case silence
    }

    private struct Account {
        var rows: [String: Row] = [:]
        var answer = Answer.truth
        var pageSize = 200
        var asked = 0
    }

    private let accounts = Lock<[String: Account]>([:])

    /// A refusal as the API words it.
    static let refusal = Answer.status(
        401, #"{"error":{"code":"invalid_key","message":"no","requestId":"r1"}}"#)

    /// Gives the owner of a key these rows; status by id.
    func put(_ key: String, _ rows: [String: String]) {
        accounts.withLock { $0[key, default: Account()].rows = rows.mapValues { Row($0) } }
    }

    /// Sets or takes one row.
    func set(_ key: String, _ id: String, _ status: String?) {
        accounts.withLock { $0[key, default: Account()].rows[id] = status.map { Row($0) } }
    }

    /// From now on the list is answered so.
    func answer(_ key: String, _ answer: Answer) { self.answer([key], answer) }

    /// From now on these lists are answered so, all at the same instant.
    func answer(_ keys: [String], _ answer: Answer) {
        accounts.withLock { accounts in
            for key in keys { accounts[key, default: Account()].answer = answer }
        }
    }

    /// Cuts the list into pages.
    func cut(_ key: String, pageSize: Int) {
        accounts.withLock { $0[key, default: Account()].pageSize = pageSize }
    }

    /// The true rows behind a key.
    func rows(_ key: String) -> [String: Row] {
        accounts.withLock { $0[key]?.rows ?? [:] }
    }

    /// How many pages were answered to that key.
    func asked(_ key: String) -> Int { accounts.withLock { $0[key]?.asked ?? 0 } }

    /// What is answered now to a page request.
    func reply(_ key: String, cursor: String?) -> Answer {
        accounts.withLock { accounts in
            guard var account = accounts[key] else { return Self.refusal }
            guard account.answer != .silence else { return .silence }
            account.asked += 1
            accounts[key] = account
            guard account.answer == .truth else { return account.answer }
            return .status(200, Self.page(account.rows, size: account.pageSize, cursor: cursor))
        }
    }

    private static func page(_ rows: [String: Row], size: Int, cursor: String?) -> String {
        let first = cursor.flatMap { Int($0) } ?? 0
        let sorted = rows.sorted { $0.key < $1.key }
        let shown = sorted.dropFirst(first).prefix(size)
        let next = first + size < sorted.count ? "\"\(first + size)\"" : "null"
        let texts = shown.map { id, row in
            #"{"id":"\#(id)","platform":"\#(row.platform)","status":"\#(row.status)","#
                + #""grantedScopes":["# + row.scopes.map { "\"\($0)\"" }.joined(separator: ",")
                + "]}"
        }
        return #"{"data":["# + texts.joined(separator: ",") + #"],"nextCursor":"# + next + "}"
    }
}
