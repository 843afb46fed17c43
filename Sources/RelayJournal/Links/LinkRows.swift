internal import ConnectionEvents
internal import RelayCore
internal import SQLite

// Watches as rows of the table `link_watches`.

extension LinkWatch {
    /// What `init(_:)` reads.
    static let columns = """
        number, account, attempt, platform, reconnecting, opened_at, expires_at, connection,
        outcome, ended_at, rule
        """

    /// Reads a row of these columns.
    init(_ row: Statement.Row) throws {
        guard let account = AccountID(row.text(1)), let attempt = AttemptHash(row.text(2)) else {
            throw Reader.damaged("link watch \(row.integer(0))")
        }
        self.init(
            number: row.integer(0), account: account, attempt: attempt, platform: row.text(3),
            reconnecting: row.textOrNil(4).flatMap { ConnectionID($0) },
            openedAt: Timestamp(milliseconds: row.integer(5)),
            expiresAt: Timestamp(milliseconds: row.integer(6)))
        connection = row.textOrNil(7).flatMap { ConnectionID($0) }
        rule = row.textOrNil(10).flatMap { LinkMatch.Rule(rawValue: $0) }
        endedAt = row.integerOrNil(9).map { Timestamp(milliseconds: $0) }
        // A word of a newer relay is an end like any other.
        outcome = row.textOrNil(8).map { LinkOutcome(rawValue: $0) ?? .abandoned }
    }
}

extension Reader {
    /// The account's open watches, oldest first; nearly always none, which costs one look.
    func openLinks(of account: AccountID) throws -> [LinkWatch] {
        try openLinks.all(.text(account.text)) { try LinkWatch($0) }
    }
}

extension Writer {
    /// Writes what was found out about a watch, unless it has ended.
    func put(_ finding: LinkFinding) throws {
        try putFinding.run(
            .integer(finding.number), .text(finding.connection?.text),
            .text(finding.outcome?.rawValue),
            finding.outcome == nil ? .null : .integer(finding.at.milliseconds),
            .text(finding.rule?.rawValue))
    }
}
