internal import ConnectionEvents
internal import Crypto
internal import RelayCore

/// A TRaX whose true history is known, and which does not always tell it.
final class SimulatedAPI {
    /// What becomes of a request.
    struct Reply {
        enum Content {
            case answer(status: Int, body: [UInt8], retryAfter: String?, date: String?)
            case failure(String)
            case silence
        }

        var delay: Duration
        var content: Content
        var showing: Showing
        /// How long the credential must be left alone, by what the server says.
        var wait: Duration?
    }

    private struct Account {
        var rows: [String: TrueRow] = [:]
        /// The rows of another person, whose key the account was given.
        var foreign: [String: TrueRow]?
        var history: [(at: Instant, rows: [String: TrueRow])] = []
        var key = ""
        var requests: UInt64 = 0
    }

    private let seed: UInt64
    private let pageLimit: Int
    private let isWeatherTotal: Bool
    private var accounts: [Int: Account] = [:]
    private var owners: [String: Int] = [:]
    private var weather: [(id: Int, weather: Weather, account: Int?)] = []
    private(set) var shown = ShownWalks()

    init(_ scenario: Scenario) {
        seed = scenario.seed
        pageLimit = scenario.rules.pageLimit
        isWeatherTotal = scenario.rules.isWeatherTotal
        for (number, rows) in scenario.accounts {
            var account = Account()
            for row in rows { account.rows[row.id] = row }
            account.history = [(Instant(nanoseconds: 0), account.rows)]
            accounts[number] = account
        }
    }

    /// The rows as they truly are for who has the account's present key, by id.
    func truth(_ account: Int) -> [String: TrueRow] {
        accounts[account]?.foreign ?? accounts[account]?.rows ?? [:]
    }

    /// The rows of the account's own person.
    func own(_ account: Int) -> [String: TrueRow] { accounts[account]?.rows ?? [:] }

    func owner(of credential: String) -> Int? { owners[credential] }

    /// How many pages the account's list has.
    func pages(_ account: Int) -> Int {
        max(1, (truth(account).count + pageLimit - 1) / pageLimit)
    }

    func change(_ account: Int, id: String, to row: TrueRow?, now: Instant) {
        accounts[account]?.rows[id] = row
        guard accounts[account]?.foreign == nil else { return }
        let rows = own(account)
        accounts[account]?.history.append((now, rows))
    }

    /// Gives an account a key; the one before is refused from now on.
    func give(
        _ account: Int, key: String, of foreign: [String: TrueRow]? = nil, now: Instant
    ) {
        if foreign != nil || accounts[account]?.foreign != nil {
            // Who has the key never saw what another person's key showed.
            let rows = foreign ?? own(account)
            accounts[account]?.history = [(now, rows)]
        }
        accounts[account]?.foreign = foreign
        accounts[account]?.key = key
        owners[key] = account
    }

    func begin(_ trouble: Weather, account: Int?, id: Int) {
        weather.append((id, trouble, account))
    }

    func end(_ id: Int) { weather.removeAll { $0.id == id } }

    func clear() { weather = [] }

    func doubt(_ account: Int?) { shown.doubt(account) }

    func doubtAll() { shown.doubtAll() }

    func delivered(_ showing: Showing, of walk: ShownWalk, isMeant: Bool, now: Instant) {
        shown.delivered(showing, of: walk, isMeant: isMeant, now: now)
    }

    /// Begins or goes on with a walk; nil where nobody ever had that key.
    func walk(_ page: PageRequest, now: Instant) -> ShownWalk? {
        let credential = page.credential.reveal()
        guard let owner = owners[credential] else { return nil }
        let id = String(page.requestID.prefix { $0 != "." })
        return shown.asked(walk: id, account: owner, credential: credential, now: now)
    }

    /// What the server answers; decided when the request arrives.
    ///
    /// - Parameter isOut: whether the session behind the credential has ended.
    func answer(_ walk: ShownWalk, cursor: String?, isOut: Bool, now: Instant) -> Reply {
        let number = walk.account
        accounts[number]?.requests += 1
        let requests = accounts[number]?.requests ?? 0
        var dice = Dice(seed, 2, UInt64(number), requests)
        let delay = dice.milliseconds(2, 60)
        guard walk.credential == accounts[number]?.key, !isOut else {
            return Self.refusal(401, after: delay)
        }
        let here = weather.filter { $0.account == nil || $0.account == number }
        guard let now_ = here.last?.weather, dice.chance(isWeatherTotal ? 100 : 85) else {
            return list(truth(number), cursor: cursor, after: delay)
        }
        return bad(now_, number, cursor: cursor, after: delay, now: now)
    }

    private func bad(
        _ weather: Weather, _ account: Int, cursor: String?, after delay: Duration, now: Instant
    ) -> Reply {
        let rows = truth(account)
        switch weather {
        case .cutPage:
            let page = page(of: rows, cursor: cursor)
            let body = Self.body(page, next: isLast(page, of: rows) ? nil : page.last?.id)
            return Self.nothing(200, Array(body.dropLast(body.count / 3 + 1)), after: delay)
        case .truncated: return Self.failure("truncated", after: delay)
        case .emptyList: return list([:], cursor: nil, after: delay)
        case .cyclingCursor:
            var reply = list(rows, cursor: nil, next: "again", after: delay)
            if cursor != nil { reply.showing = .nothing }
            return reply
        case .stale(let seconds):
            let then = now + .seconds(-seconds)
            let old = accounts[account]?.history.last { $0.at <= then }?.rows
            return list(
                old ?? accounts[account]?.history.first?.rows ?? [:], cursor: cursor,
                after: delay)
        case .html: return Self.nothing(200, Self.html, after: delay)
        case .status(let status): return Self.nothing(status, Self.html, after: delay)
        case .throttled(let status, let seconds):
            return Self.throttle(status, seconds, date: nil, after: delay)
        case .throttledUntilDate(let seconds):
            return Self.throttle(429, seconds, date: now, after: delay)
        case .slow(let milliseconds):
            return list(rows, cursor: cursor, after: .milliseconds(milliseconds))
        case .silent: return Reply(delay: .zero, content: .silence, showing: .nothing)
        case .reset: return Self.failure("reset", after: delay)
        case .revoked(let status): return Self.refusal(status, after: delay)
        case .bareUnauthorized: return Self.nothing(401, Self.html, after: delay)
        case .doubleID:
            guard let first = page(of: rows, cursor: cursor).first else {
                return list(rows, cursor: cursor, after: delay)
            }
            let body = "{\"data\":[\(first.json),\(first.json)],\"nextCursor\":null}"
            return Self.nothing(200, Array(body.utf8), after: delay)
        case .badRow:
            return Self.nothing(200, Array("{\"data\":[{\"id\":\"\"}]}".utf8), after: delay)
        case .noData: return Self.nothing(200, Array("{\"rows\":[]}".utf8), after: delay)
        }
    }

    private func page(of rows: [String: TrueRow], cursor: String?) -> [TrueRow] {
        let sorted = rows.values.sorted { $0.id < $1.id }
        let rest = sorted.filter { row in cursor.map { row.id > $0 } ?? true }
        return Array(rest.prefix(pageLimit))
    }

    private func isLast(_ page: [TrueRow], of rows: [String: TrueRow]) -> Bool {
        page.count < pageLimit || page.last?.id == rows.keys.max()
    }

    private static func body(_ page: [TrueRow], next: String?) -> [UInt8] {
        let tail = next.map { "\"\($0)\"" } ?? "null"
        let data = page.map(\.json).joined(separator: ",")
        return Array("{\"data\":[\(data)],\"nextCursor\":\(tail)}".utf8)
    }

    private func list(
        _ rows: [String: TrueRow], cursor: String?, next: String? = nil, after delay: Duration
    ) -> Reply {
        let page = page(of: rows, cursor: cursor)
        let isLast = next == nil && isLast(page, of: rows)
        let body = Self.body(page, next: next ?? (isLast ? nil : page.last?.id))
        return Reply(
            delay: delay,
            content: .answer(status: 200, body: body, retryAfter: nil, date: nil),
            showing: .page(page, isLast: isLast))
    }
}

extension SimulatedAPI {
    private static let html = Array("<html><body>A proxy says hello.</body></html>".utf8)

    private static func nothing(_ status: Int, _ body: [UInt8], after delay: Duration) -> Reply {
        Reply(
            delay: delay,
            content: .answer(status: status, body: body, retryAfter: nil, date: nil),
            showing: .nothing)
    }

    private static func failure(_ code: String, after delay: Duration) -> Reply {
        Reply(delay: delay, content: .failure(code), showing: .nothing)
    }

    private static func refusal(_ status: Int, after delay: Duration) -> Reply {
        let code = status == 401 ? "invalid_key" : "missing_scope"
        let body = "{\"error\":{\"code\":\"\(code)\",\"message\":\"no\",\"requestId\":\"r\"}}"
        return Reply(
            delay: delay,
            content: .answer(
                status: status, body: Array(body.utf8), retryAfter: nil, date: nil),
            showing: .refused)
    }

    private static func throttle(
        _ status: Int, _ seconds: Int?, date: Instant?, after delay: Duration
    ) -> Reply {
        var header = seconds.map { String($0) }
        var dateHeader: String?
        if let date, let seconds {
            let now = VirtualClock.epoch.adding(.nanoseconds(date.nanoseconds))
            dateHeader = now.httpDate
            header = now.adding(.seconds(seconds)).httpDate
        }
        return Reply(
            delay: delay,
            content: .answer(
                status: status, body: [], retryAfter: header, date: dateHeader),
            showing: .nothing, wait: seconds.map { .seconds(max(1, $0)) })
    }
}

extension TrueRow {
    /// The row as the API lists it.
    var json: String {
        func text(_ value: String?) -> String { value.map { "\"\($0)\"" } ?? "null" }
        let scopes = scopes.map { scopes in
            ",\"grantedScopes\":[\(scopes.map { "\"\($0)\"" }.joined(separator: ","))]"
        }
        return "{\"id\":\"\(id)\",\"platform\":\(text(platform)),\"status\":\(text(status))"
            + "\(scopes ?? ""),\"note\":\(note)}"
    }
}

extension Timestamp {
    /// IMF-fixdate of RFC 9110.
    var httpDate: String {
        let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        let text = Array(description)
        let month = Int(String(text[5..<7])) ?? 1
        let day = days[Int(milliseconds / 86_400_000) % 7]
        return "\(day), \(String(text[8..<10])) \(months[month - 1]) \(String(text[0..<4]))"
            + " \(String(text[11..<19])) GMT"
    }
}
