internal import ConnectionEvents
internal import RelayCore
internal import SQLite

/// Takes the oldest entries away, a few at a time; used by the writer's thread of the moment.
///
/// Evidence and state records stand in their entries and go with them. What is kept for each
/// account (numbers of filtered sinks, marks) is bounded by the register and goes with the account.
struct Pruning {
    /// The most entries of one step.
    static let stepEntries: Int64 = 200
    /// About the most bytes of one step: long records lie on pages that must all be followed.
    static let stepBytes: Int64 = 1 << 20

    private let oldest: Statement
    private let delete: Statement
    private let forget: Statement
    private let slowest: Statement

    init(_ database: Database) throws(SQLiteError) {
        // What is freed need not be overwritten, which Debian's SQLite does unless told.
        try database.execute("PRAGMA secure_delete = FAST")
        oldest = try database.prepare(
            """
            SELECT position, decided_at,
                ifnull(length(body), 0) + ifnull(length(evidence), 0)
                    + ifnull(length(state_value), 0)
            FROM entries WHERE position <= ? ORDER BY position LIMIT \(Self.stepEntries)
            """)
        delete = try database.prepare("DELETE FROM entries WHERE position <= ?")
        forget = try database.prepare("DELETE FROM dropped WHERE position <= ?")
        slowest = try database.prepare("SELECT min(position) FROM places")
    }

    /// The newest position that the rule, the sinks' places and the head let go.
    func bound(_ rule: PruningRule, head: JournalPosition) throws -> Int64 {
        let place = try slowest.first { $0.integerOrNil(0) } ?? nil
        return min(rule.through.number, place ?? .max, head.number - 1)
    }

    /// The last of the oldest entries that may go in one step; nil when none may.
    func last(_ rule: PruningRule, head: JournalPosition) throws -> Int64? {
        var last: Int64?
        var size: Int64 = 0
        try Self.untilDone { done in
            try oldest.each(.integer(try bound(rule, head: head))) { row in
                let decided = row.integerOrNil(1) ?? .min
                guard decided < rule.decidedBefore.milliseconds else { throw done }
                size += row.integer(2)
                guard last == nil || size <= Self.stepBytes else { throw done }
                last = row.integer(0)
            }
        }
        return last
    }

    /// Takes away everything up to a position.
    func remove(through position: Int64) throws {
        try forget.run(.integer(position))
        try delete.run(.integer(position))
    }

    private struct Done: Error {}

    private static func untilDone(_ body: (Done) throws -> Void) throws {
        do { try body(Done()) } catch is Done { return }
    }
}
