internal import ConnectionEvents
internal import RelayCore
internal import RelayJournal

/// Prints the events of a quickstart as they come.
struct QuickstartPrinter {
    private let log: EventLog
    private let terminal: Terminal
    private var query = EventLog.Query()

    init(journal: JournalFile, terminal: Terminal) {
        log = EventLog(journal)
        self.terminal = terminal
    }

    mutating func printNew() throws {
        for stored in try log.events(query) {
            query.after = stored.position
            let event = try ConnectionEvent(parsing: stored.body)
            terminal.print("  event #\(event.sequence)  \(EventLine.text(event))")
        }
    }
}
