public import ConnectionEvents
internal import JSON
public import RelayCore
internal import SQLite
internal import Threading

/// Open holds of a journal and the orders about them.
///
/// Commands write orders in short transactions beside a running relay, which asks each second. An
/// order goes with the commit that carries it out, so it is done once, whatever crashes between.
///
/// Threads: any; one at a time is served. Bound: an open hold takes one order.
public final class HoldBook: HoldDesk {
    private let readers: ReaderPool
    private let board: Noticeboard

    /// Opens the holds of a journal.
    public init(_ file: JournalFile) throws(JournalFailure) {
        readers = ReaderPool(file)
        board = try Noticeboard(file)
    }

    /// Accounts with an open hold, by id, after an account; what is held is left out.
    public func holds(
        after account: AccountID?, limit: Int
    ) throws(JournalFailure) -> [OpenHold] {
        try readers.withReader { reader in
            let select = try reader.database.prepare(
                """
                SELECT holds.account, heads.head,
                    (SELECT action FROM orders WHERE orders.hold = holds.hold ORDER BY number)
                FROM holds JOIN heads ON heads.account = holds.account
                WHERE holds.account > ? ORDER BY holds.account LIMIT ?
                """)
            return try select.all(.text(account?.text ?? ""), .integer(max(1, limit))) { row in
                guard let id = AccountID(row.text(0)),
                    let head = try BeliefHead(json: JSONValue(parsing: row.blob(1)))
                else { throw Reader.damaged("the belief of account \(row.text(0))") }
                let ordered = row.textOrNil(2).flatMap { HoldAction(rawValue: $0) }
                return head.hold.map { OpenHold(account: id, hold: $0, ordered: ordered) }
            }.compactMap(\.self)
        }
    }

    /// The open hold of that id, with what is held.
    public func hold(_ id: HoldID) throws(JournalFailure) -> OpenHold? {
        try readers.withReader { reader in
            let account = try reader.database.prepare("SELECT account FROM holds WHERE hold = ?")
                .first(.text(id.text)) { AccountID($0.text(0)) }
            guard let account = account ?? nil, let belief = try reader.belief(of: account),
                var open = OpenHold(belief), open.hold.id == id
            else { return nil }
            open.ordered = try Self.ordered(of: id, in: reader.database)
            return open
        }
    }

    /// What is ordered first about a hold; a later order that differs was made by an older relay.
    private static func ordered(of hold: HoldID, in database: Database) throws -> HoldAction? {
        try database.prepare("SELECT action FROM orders WHERE hold = ? ORDER BY number LIMIT 1")
            .first(.text(hold.text)) { HoldAction(rawValue: $0.text(0)) } ?? nil
    }

    /// Orders that a hold be ended; the same order again is the one that waits.
    ///
    /// - Throws: `ordered` where the other one waits: it may be under way already, and stands.
    @discardableResult
    public func order(
        _ action: HoldAction, of hold: HoldID
    ) throws(HoldOrderFailure) -> HoldOrder {
        let open: OpenHold?
        do throws(JournalFailure) {
            open = try self.hold(hold)
        } catch {
            throw .journal(error)
        }
        guard let open else { throw .refused(.noSuchHold) }
        guard action == .release || open.hold.reason != .wrongAccount else {
            throw .refused(.wrongAccountStays)
        }
        let written: Result<HoldOrder, HoldOrderFailure>
        do throws(JournalFailure) {
            written = try write(action, of: hold, account: open.account)
        } catch {
            throw .journal(error)
        }
        return try written.get()
    }

    private func write(
        _ action: HoldAction, of hold: HoldID, account: AccountID
    ) throws(JournalFailure) -> Result<HoldOrder, HoldOrderFailure> {
        try board.change { database in
            let find = try database.prepare(
                "SELECT number FROM orders WHERE hold = ? AND action = ?")
            let insert = try database.prepare(
                "INSERT INTO orders(account, hold, action, ordered_at) VALUES (?, ?, ?, ?)")
            let name = SQLValue.text(action.rawValue)
            if let ordered = try Self.ordered(of: hold, in: database), ordered != action {
                return .failure(.ordered(ordered))
            }
            if try find.first(.text(hold.text), name, read: { $0.integer(0) }) == nil {
                try insert.run(
                    .text(account.text), .text(hold.text), name,
                    .integer(WallClock.now().milliseconds))
            }
            let number = try find.first(.text(hold.text), name) { $0.integer(0) } ?? 0
            return .success(
                HoldOrder(number: number, account: account, hold: hold, action: action))
        }
    }

    /// Orders that wait, after a number.
    public func orders(after number: Int64) throws(JournalFailure) -> [HoldOrder] {
        try board.look { database in
            let found = try database.prepare(
                "SELECT number, account, hold, action FROM orders WHERE number > ? ORDER BY number"
            ).all(.integer(number)) { row -> HoldOrder in
                guard let account = AccountID(row.text(1)),
                    let action = HoldAction(rawValue: row.text(3))
                else { throw Reader.damaged("order \(row.integer(0))") }
                return HoldOrder(
                    number: row.integer(0), account: account, hold: HoldID(row.text(2)),
                    action: action)
            }
            return (found, isAll: true)
        } ?? []
    }

    /// Whether an order still waits.
    public func isWaiting(_ order: HoldOrder) throws(JournalFailure) -> Bool {
        try board.read { database in
            try database.prepare("SELECT 1 FROM orders WHERE number = ?")
                .first(.integer(order.number)) { _ in true } ?? false
        }
    }
}
