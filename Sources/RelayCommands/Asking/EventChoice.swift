internal import ConnectionEvents
internal import RelayCore
internal import RelayJournal

/// Which event is meant.
enum EventChoice {
    /// Fewer digits than that name no event.
    static let shortestPrefix = 4

    case id(String)
    case position(JournalPosition)

    /// Reads what was given: an id, its first digits, or a position.
    init(id: String?, position: String? = nil) throws(CommandError) {
        switch (id, position) {
        case (let id?, nil):
            guard (Self.shortestPrefix...32).contains(id.utf8.count),
                id.unicodeScalars.allSatisfy({ $0.isASCII && $0.properties.isASCIIHexDigit })
            else {
                throw CommandError(
                    .usage,
                    "'\(Table.clean(id))' is no event's id: 32 hexadecimal digits, or the"
                        + " first \(Self.shortestPrefix) or more of them.")
            }
            self = .id(id)
        case (nil, let text?):
            guard let number = Int64(text), number > 0 else {
                throw CommandError(
                    .usage, "--position takes a number from 1, not '\(Table.clean(text))'.")
            }
            self = .position(JournalPosition(number))
        case (nil, nil), (_?, _?):
            throw CommandError(
                .usage,
                "name one event: by EVENT_ID or by --position N.\nSee 'trax-relay"
                    + " explain --help'.")
        }
    }

    /// The one event that is meant.
    func find(in log: EventLog) throws(CommandError) -> EventLog.StoredEvent {
        let (found, oldest) = try look(in: log)
        switch found.count {
        case 0: throw unknown(oldest)
        case 1: return found[0]
        default: throw ambiguous(found)
        }
    }

    private func look(
        in log: EventLog
    ) throws(CommandError) -> ([EventLog.StoredEvent], Timestamp?) {
        do throws(JournalFailure) {
            let found =
                switch self {
                case .position(let position):
                    try log.event(at: position).map { [$0] } ?? []
                case .id(let text):
                    try log.events(idPrefix: text, limit: 11)
                }
            return (found, found.isEmpty ? try log.oldest() : nil)
        } catch {
            throw CommandError(error)
        }
    }

    private func unknown(_ oldest: Timestamp?) -> CommandError {
        let what =
            switch self {
            case .position(let position): "no event at position \(position)"
            case .id(let text): "no event \(text)"
            }
        let age =
            oldest.map {
                "its oldest event was decided at \($0); older ones are pruned, others are of"
                    + " another journal"
            } ?? "it has no event at all"
        return CommandError(
            .failure,
            "the journal has \(what): \(age). 'trax-relay events --json' prints those it has.")
    }

    private func ambiguous(_ found: [EventLog.StoredEvent]) -> CommandError {
        let ids = found.prefix(10).map(\.facts.id.text) + (found.count > 10 ? ["…"] : [])
        return CommandError(
            .failure,
            "several events' ids begin so; give more digits:\n  "
                + ids.joined(separator: "\n  "))
    }
}
