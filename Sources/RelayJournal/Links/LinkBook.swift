public import ConnectionEvents
public import RelayCore
internal import SQLite
internal import Threading

/// Attempts to link that are waited for, and what became of them.
///
/// Commands and pages open watches in short transactions beside a running relay, which asks each
/// second; what its walks find out goes with the commit of the events. Every opening also sweeps:
/// ended watches are kept seven days, and at most ``endedLimit``.
///
/// Threads: any; one at a time is served. Bounds: ``accountLimit`` and ``openLimit``.
public final class LinkBook: LinkDesk {
    /// The most open watches of an account.
    public static let accountLimit = 16
    /// The most open watches in all.
    public static let openLimit = 10_000
    /// The most ended watches that are kept.
    public static let endedLimit = 10_000
    /// How long an ended watch is kept.
    static let memory: Duration = .seconds(7 * 86_400)

    private let readers: ReaderPool
    private let board: Noticeboard

    /// Opens the watches of a journal.
    public init(_ file: JournalFile) throws(JournalFailure) {
        readers = ReaderPool(file)
        board = try Noticeboard(file)
    }

    /// Whether another watch of the account could be opened now.
    public func mayOpen(_ account: AccountID) throws(LinkRefusal) {
        let refusal: LinkRefusal?
        do throws(JournalFailure) {
            refusal = try board.read { try Self.refusal(account, $0, at: WallClock.now()) }
        } catch {
            throw .journal(error)
        }
        if let refusal { throw refusal }
    }

    /// Opens a watch.
    public func open(_ opening: LinkOpening) throws(LinkRefusal) -> LinkWatch {
        let result: Result<LinkWatch, LinkRefusal>
        do throws(JournalFailure) {
            result = try board.change { database in
                let now = WallClock.now()
                try Self.sweep(database, at: now)
                if let refusal = try Self.refusal(opening.account, database, at: now) {
                    return .failure(refusal)
                }
                return .success(try Self.insert(opening, database, at: now))
            }
        } catch {
            throw .journal(error)
        }
        return try result.get()
    }

    /// Open watches after a number, oldest first.
    public func openWatches(after number: Int64) throws(JournalFailure) -> [LinkWatch] {
        try board.look { database in
            let found = try database.prepare(
                """
                SELECT \(LinkWatch.columns) FROM link_watches
                WHERE ended_at IS NULL AND number > ? ORDER BY number
                """
            ).all(.integer(number)) { try LinkWatch($0) }
            return (found, isAll: true)
        } ?? []
    }

    /// Open watches of an account, oldest first.
    public func openWatches(of account: AccountID) throws(JournalFailure) -> [LinkWatch] {
        try readers.withReader { try $0.openLinks(of: account) }
    }

    /// One watch, open or ended.
    public func watch(_ id: WatchID) throws(JournalFailure) -> LinkWatch? {
        try readers.withReader { reader in
            try reader.database.prepare(
                "SELECT \(LinkWatch.columns) FROM link_watches WHERE watch = ?"
            ).first(.text(id.text)) { try LinkWatch($0) }
        }
    }

    /// Watches before a number, newest first.
    public func watches(
        of account: AccountID?, before number: Int64, limit: Int
    ) throws(JournalFailure) -> [LinkWatch] {
        try readers.withReader { reader in
            try reader.database.prepare(
                """
                SELECT \(LinkWatch.columns) FROM link_watches
                WHERE number < ?1 AND (?2 IS NULL OR account = ?2)
                ORDER BY number DESC LIMIT ?3
                """
            ).all(.integer(number), .text(account?.text), .integer(max(1, limit))) {
                try LinkWatch($0)
            }
        }
    }

    /// Notes which row an open watch came to, as somebody else has seen it in a complete list.
    ///
    /// The relay then matches by it, and names the rule by which it was found here.
    public func claim(
        _ watch: LinkWatch, connection: ConnectionID, rule: LinkMatch.Rule? = nil
    ) throws(JournalFailure) {
        try board.change { database in
            try database.prepare(
                """
                UPDATE link_watches SET connection = ?2, rule = coalesce(rule, ?3)
                WHERE number = ?1 AND ended_at IS NULL
                """
            ).run(.integer(watch.number), .text(connection.text), .text(rule?.rawValue))
        }
    }

    /// Ends a watch that nobody waits for any more, unless it has ended.
    ///
    /// One that stayed open would stand in the way of the next attempt: by the platform a row is
    /// known to be an attempt's only where that is the one open attempt.
    public func end(_ watch: LinkWatch, as outcome: LinkOutcome) throws(JournalFailure) {
        try board.change { database in
            try database.prepare(
                """
                UPDATE link_watches SET outcome = ?2, ended_at = ?3
                WHERE number = ?1 AND ended_at IS NULL
                """
            ).run(
                .integer(watch.number), .text(outcome.rawValue),
                .integer(WallClock.now().milliseconds))
        }
    }

    private static func refusal(
        _ account: AccountID, _ database: Database, at now: Timestamp
    ) throws -> LinkRefusal? {
        // One that has expired waits for its last look only.
        let count = try database.prepare(
            """
            SELECT count(*) FROM link_watches
            WHERE ended_at IS NULL AND expires_at > ?1 AND (?2 IS NULL OR account = ?2)
            """)
        let own = try count.first(.integer(now.milliseconds), .text(account.text)) {
            $0.integer(0)
        }
        if own ?? 0 >= accountLimit { return .accountFull }
        let all = try count.first(.integer(now.milliseconds), .null) { $0.integer(0) }
        return all ?? 0 >= openLimit ? .full : nil
    }

    private static func insert(
        _ opening: LinkOpening, _ database: Database, at now: Timestamp
    ) throws -> LinkWatch {
        let expires = Timestamp(
            milliseconds: now.milliseconds + opening.lifetime.wholeMilliseconds)
        let watch = WatchID(opening.attempt)
        try database.prepare(
            """
            INSERT INTO link_watches(account, watch, attempt, platform, reconnecting, opened_at,
                expires_at)
            VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT(watch) DO NOTHING
            """
        ).run(
            .text(opening.account.text), .text(watch.text), .text(opening.attempt.text),
            .text(opening.platform), .text(opening.reconnecting?.text),
            .integer(now.milliseconds), .integer(expires.milliseconds))
        let number = try database.prepare("SELECT number FROM link_watches WHERE watch = ?")
            .first(.text(watch.text)) { $0.integer(0) }
        return LinkWatch(
            number: number ?? 0, account: opening.account, attempt: opening.attempt,
            platform: opening.platform, reconnecting: opening.reconnecting, openedAt: now,
            expiresAt: expires)
    }

    /// Ends what no walk ends any more, and forgets what has long ended.
    private static func sweep(_ database: Database, at now: Timestamp) throws {
        let patience = WatchPace.patience.wholeMilliseconds
        try database.prepare(
            """
            UPDATE link_watches SET ended_at = ?1, outcome = 'abandoned'
            WHERE ended_at IS NULL AND expires_at < ?2
            """
        ).run(.integer(now.milliseconds), .integer(now.milliseconds - patience))
        try database.prepare("DELETE FROM link_watches WHERE ended_at < ?").run(
            .integer(now.milliseconds - memory.wholeMilliseconds))
        try database.prepare(
            """
            DELETE FROM link_watches WHERE ended_at IS NOT NULL AND number <= (
                SELECT number FROM link_watches WHERE ended_at IS NOT NULL
                ORDER BY number DESC LIMIT 1 OFFSET ?)
            """
        ).run(.integer(endedLimit))
    }
}
