internal import ConnectionEvents
internal import HTTPServer
internal import JSON
internal import RelayCore
internal import TraxAPI

/// Says what became of an attempt to link.
struct LinkReport {
    private let session: LinkSession
    private let ticket: LinkTicket
    private let before: [Connection]

    init(_ session: LinkSession, _ ticket: LinkTicket, _ before: [Connection]) {
        self.session = session
        self.ticket = ticket
        self.before = before
    }

    /// Prints it; the exit code says the same.
    func tell(_ ending: LinkWait.Ending) -> ExitCode {
        let attempt = ticket.state.attempt
        switch ending {
        case .done(let outcome, let row, let rule):
            let missing = missing(row)
            if session.wish.printsJSON {
                printJSON(outcome.rawValue, row, missing, rule)
            } else {
                session.terminal.print(
                    "\(outcome.rawValue): \(Table.clean(row.id.text)) on"
                        + " \(session.wish.platform), \(Table.clean(row.status ?? "no status"))."
                        + " Granted: \(Self.words(row.grantedScopes)).")
            }
            if !missing.isEmpty {
                session.terminal.err(
                    "Warning: less was granted than was asked for or had before; missing:"
                        + " \(Self.words(missing)). What needs it fails later. To ask again:"
                        + " \(session.repair(row.id))\n")
            }
            return .ok
        case .untold(let rows):
            let names = rows.map { "\(Table.clean($0.id.text)) (\($0.health.rawValue))" }
            if session.wish.printsJSON {
                printJSON(LinkOutcome.ambiguous.rawValue, nil, [], nil)
            }
            session.terminal.err(
                "Error: several attempts to link \(session.wish.platform) are open, and the list"
                    + " does not tell which of them made \(names.joined(separator: ", "))."
                    + " It is not known whether attempt \(attempt) was the one.\n")
            return .failure
        case .nothing(let seen):
            if seen == nil, isUnchanged { return tellUnchanged() }
            if session.wish.printsJSON {
                printJSON(LinkOutcome.abandoned.rawValue, seen, [], nil)
            }
            let state =
                seen.map {
                    "\(Table.clean($0.id.text)) came and is \(Table.clean($0.status ?? "without"))"
                } ?? "the list shows nothing of it"
            session.terminal.err(
                "Error: abandoned, or denied: \(state). The address stays good until its time is"
                    + " over, ten minutes or so; \(Self.afterwards(seen)). Attempt \(attempt).\n")
            return .failure
        }
    }

    /// What is still done about an attempt that the command waits for no more.
    private static func afterwards(_ seen: Connection?) -> String {
        seen == nil
            ? "nothing watches for it any more, and an event that still comes names no attempt"
            : "a running relay goes on watching this connection"
    }

    /// Whether the row to be repaired was healthy from the start.
    var isUnchanged: Bool {
        session.wish.reconnecting.map { id in
            before.contains { $0.id == id && $0.health == .healthy }
        } ?? false
    }

    private func tellUnchanged() -> ExitCode {
        if session.wish.printsJSON { printJSON(LinkOutcome.unchanged.rawValue, nil, [], nil) }
        session.terminal.err(
            "Error: unchanged: the connection was healthy before and is still. Whether consent was"
                + " given anew the list does not tell. Attempt \(ticket.state.attempt).\n")
        return .failure
    }

    private func printJSON(
        _ outcome: String, _ row: Connection?, _ missing: [String], _ rule: LinkMatch.Rule?
    ) {
        var row = row
        // The attempt's own state: its hash says as much.
        row?.extra["state"] = nil
        session.terminal.print(
            JSONValue.object([
                "outcome": .string(outcome),
                "attempt": .string(ticket.state.attempt.text),
                "connection": row?.json ?? .null,
                "matchedBy": JSONValue(rule?.rawValue),
                "missingScopes": .array(missing.map { .string($0) }),
            ]).text)
    }

    /// Scopes that were asked for, or had before, and are not granted now.
    func missing(_ row: Connection) -> [String] {
        guard let granted = row.grantedScopes.map({ Set($0) }) else { return [] }
        var wanted: Set<String> = []
        if let id = session.wish.reconnecting {
            wanted.formUnion(before.first { $0.id == id }?.grantedScopes ?? [])
        }
        let asked = Self.scopes(askedBy: ticket.authorizationURL)
        // The platform may have other names for what it grants; then nothing can be compared.
        if granted.isEmpty || !asked.isDisjoint(with: granted) { wanted.formUnion(asked) }
        return wanted.subtracting(granted).sorted()
    }

    /// What the consent screen is asked for: `scope` of its address (RFC 6749, 3.3).
    static func scopes(askedBy url: String) -> Set<String> {
        guard let query = url.firstIndex(of: "?") else { return [] }
        for pair in url[url.index(after: query)...].split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0] == "scope",
                let text = PercentEncoding.decode(parts[1].replacing("+", with: "%20"))
            else { continue }
            return Set(text.split { $0 == " " || $0 == "," }.map(String.init))
        }
        return []
    }

    private static func words(_ scopes: [String]?) -> String {
        guard let scopes else { return "unknown" }
        return scopes.isEmpty ? "nothing" : Table.clean(scopes.joined(separator: " "))
    }
}
