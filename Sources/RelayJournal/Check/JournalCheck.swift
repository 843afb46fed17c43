internal import ConnectionEvents
internal import JSON
public import RelayCore
internal import SQLite

/// Looks a whole journal over, and changes nothing.
///
/// Beside a running relay it sees one state of the file, and keeps the write-ahead log from
/// shrinking meanwhile.
public struct JournalCheck {
    /// What was looked at and is well, a line each.
    public private(set) var facts: [String] = []
    /// What is wrong, a line each; the first ``findingLimit``.
    public private(set) var findings: [String] = []
    /// Findings that are not listed.
    public private(set) var unlisted = 0

    /// The most findings that are listed.
    public static let findingLimit = 200

    private let database: Database
    private let path: String
    /// Whether its rows have checksums.
    private var hasChecksums = false

    /// Looks at a journal.
    ///
    /// - Parameter isQuick: leaves out whether indexes fit their tables, which takes longest.
    /// - Throws: `failed` when there is no file, or it cannot be opened; what is wrong with one
    ///   that can is a finding.
    public static func run(
        path: String, keyFile: String, isQuick: Bool = false
    ) throws(JournalFailure) -> JournalCheck {
        guard SystemFile.identity(of: path) != nil else {
            throw JournalFailure.missing(path)
        }
        var check = try reporting(path) { try JournalCheck(path) }
        guard SystemFile.hasContent(path) else {
            check.find("\(path) is empty: it was truncated, or never filled")
            return check
        }
        check.look("file") { check in
            for fault in try FileHeader(check.database)?.faults ?? [] {
                check.find("file: \(fault)")
            }
        }
        guard check.isJournal() else { return check }
        check.lookAtPages(isQuick: isQuick)
        check.lookAtPositions()
        check.lookAtPlaces()
        check.lookAtBeliefs()
        check.lookAtEntries()
        check.lookAtChecksums()
        check.lookAtCredentials(keyFile: keyFile)
        return check
    }

    private init(_ path: String) throws {
        self.path = path
        database = try Database(path: path, access: .readWrite)
        if SystemFile.size(of: path + "-wal") > 0 { try database.keepLogOnClose() }
        try database.execute("PRAGMA query_only = ON")
    }

    private mutating func find(_ text: String) {
        if findings.count < Self.findingLimit { findings.append(text) } else { unlisted += 1 }
    }

    /// Runs a part; what keeps it from going on is a finding too.
    private mutating func look(_ what: String, _ body: (inout JournalCheck) throws -> Void) {
        do {
            try body(&self)
        } catch {
            find("\(what): \(Self.reason(error))")
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as SQLiteError: error.description
        case let error as JournalFailure: error.reason
        case let error as JSONError: "no JSON (\(error.code))"
        default: "\(error)"
        }
    }

    private mutating func isJournal() -> Bool {
        var version: Int64 = 0
        look("file") { check in
            version = try Schema.current.version(of: check.database)
            if version == 0 { check.find("the file holds no journal yet") }
        }
        guard version > 0 else { return false }
        facts.append("journal version \(version)")
        hasChecksums = version >= Schema.firstWithChecksums
        if version != Schema.current.version {
            facts.append("the next `run` brings it to version \(Schema.current.version)")
        }
        return true
    }

    private mutating func lookAtPages(isQuick: Bool) {
        look("pages") { check in
            let pragma = isQuick ? "quick_check" : "integrity_check"
            let found = try check.database.texts("PRAGMA \(pragma)(\(Self.findingLimit))")
            if found == ["ok"] {
                let pages = try check.database.integer("PRAGMA page_count")
                let free = try check.database.integer("PRAGMA freelist_count")
                check.facts.append("pages: \(pages), of which \(free) are free")
            } else {
                for line in found { check.find("pages: \(line)") }
            }
        }
    }

    private mutating func lookAtPositions() {
        look("positions") { check in
            let head = try check.counter("head")
            let found = try check.database.prepare(
                "SELECT count(*), min(position), max(position) FROM entries"
            ).first { ($0.integer(0), $0.integer(1), $0.integer(2)) }
            let (count, first, last) = found ?? (0, 0, 0)
            if last != head { check.find("positions: the newest is \(last), the head \(head)") }
            if count > 0, last - first + 1 != count {
                let what = "positions: \(count) entries from \(first) to \(last)"
                // A journal that began anew has given up what was beyond what sinks had.
                if try check.database.integer("SELECT count(*) FROM answered") > 0 {
                    check.facts.append("\(what), with a gap where the journal began anew")
                } else {
                    check.find("\(what): some are missing")
                }
            }
            check.facts.append(
                count == 0 ? "entries: none" : "entries: \(count), positions \(first) to \(last)")
        }
    }

    /// Whether the marks of brokers that have not told yet are places of this journal.
    private mutating func lookAtUnheard(head: Int64) throws {
        guard try database.integer("PRAGMA user_version") == Schema.current.version else { return }
        try database.prepare("SELECT sink, position FROM unheard").each { row in
            let position = row.integer(1)
            guard position < 0 || position > head else { return }
            find("places: \(row.text(0)) was unheard since \(position), and the head is \(head)")
        }
    }

    private mutating func lookAtPlaces() {
        look("places") { check in
            let head = try check.counter("head")
            let first = try check.database.integer("SELECT min(position) FROM entries")
            let places = try check.database.prepare("SELECT sink, position FROM places")
                .all { ($0.text(0), $0.integer(1)) }
            for (sink, place) in places {
                if place < 0 || place > head {
                    check.find("places: \(sink) stands at \(place), and the head is \(head)")
                } else if place + 1 < first {
                    check.find("places: \(sink) stands at \(place); what it lacks was pruned")
                }
            }
            try check.lookAtUnheard(head: head)
            check.facts.append("places: \(places.count)")
        }
    }

    private mutating func lookAtBeliefs() {
        look("beliefs") { check in
            let lastEpoch = try check.counter("last_epoch")
            var (heads, rows) = (0, 0)
            try check.database.prepare("SELECT account, head FROM heads").each { row in
                heads += 1
                check.look("belief of \(row.text(0))") { check in
                    let head = try Reader.head(row.blob(1), row.text(0))
                    if head.epoch > lastEpoch {
                        check.find("belief of \(row.text(0)): an epoch that was never given")
                    }
                }
            }
            try check.database.prepare("SELECT account, connection, row FROM rows").each { row in
                rows += 1
                check.look("row \(row.text(1)) of \(row.text(0))") { _ in
                    _ = try Reader.row(row.blob(2), row.text(0))
                }
            }
            let strays = try check.database.integer(
                "SELECT count(*) FROM rows WHERE account NOT IN (SELECT account FROM heads)")
            if strays > 0 { check.find("beliefs: \(strays) rows of accounts without a belief") }
            check.facts.append("beliefs: \(heads) accounts, \(rows) rows")
        }
    }

    /// Whether columns, event and checksum of each entry agree.
    private mutating func lookAtEntries() {
        look("entries") { check in
            try check.database.prepare("SELECT \(Checksum.entryColumns) FROM entries").each { row in
                check.look("entry \(row.integer(0))") { check in
                    let entry = try Reader.content(row)
                    if let value = entry.state?.value { _ = try JSONValue(parsing: value) }
                    guard let facts = entry.event else { return }
                    let event = try ConnectionEvent(parsing: entry.body ?? [])
                    if event.id != facts.id {
                        check.find("entry \(entry.position): its event has another id inside")
                    } else if EventFacts(event) != facts || event.account != entry.account {
                        check.find("entry \(entry.position): its event says otherwise inside")
                    }
                }
            }
        }
    }

    /// A bit that flipped in a text leaves it a text.
    private mutating func lookAtChecksums() {
        guard hasChecksums else { return facts.append("checksums: none in this version") }
        var checked = 0
        for (table, columns, name) in [
            ("entries", Checksum.entryColumns, "entry"),
            ("heads", Checksum.headColumns, "belief of"),
            ("rows", Checksum.rowColumns, "row of"),
        ] {
            look("checksums of \(table)") { check in
                let select = try check.database.prepare(
                    "SELECT \(columns), checksum FROM \(table) WHERE checksum IS NOT NULL")
                let count = columns.split(separator: ",").count
                try select.each { row in
                    checked += 1
                    guard !Checksum.fits(row, count) else { return }
                    let key = table == "rows" ? "\(row.text(0))/\(row.text(1))" : row.text(0)
                    check.find("\(name) \(key): is not as it was written (checksum)")
                }
            }
        }
        facts.append("checksums: \(checked)")
    }

    private mutating func lookAtCredentials(keyFile: String) {
        look("credentials") { check in
            guard
                let (seal, warning) = try CredentialSeal.find(in: check.database, keyFile: keyFile)
            else {
                check.facts.append("credentials: none, no key yet")
                return
            }
            if let warning { check.facts.append(warning) }
            var count = 0
            try check.database.prepare("SELECT id, key, credential FROM accounts").each { row in
                count += 1
                check.look("credential of \(row.text(0))") { check in
                    guard let account = AccountID(row.text(0)) else {
                        check.find("register: an id that is none")
                        return
                    }
                    guard row.integer(1) == seal.keyNumber else {
                        check.find("credential of \(account): sealed with a key that is gone")
                        return
                    }
                    do { _ = try seal.open(row.blob(2), of: account) } catch {
                        check.find("credential of \(account): does not open with the key")
                    }
                }
            }
            check.facts.append("credentials: \(count), all looked at with the key")
        }
    }

    private func counter(_ name: String) throws -> Int64 {
        try database.integer("SELECT value FROM counters WHERE name = '\(name)'")
    }
}
