internal import RelayCore
internal import SQLite

/// The tables of a journal and how each version's become the next's.
///
/// The version stands in `PRAGMA user_version`; `PRAGMA application_id` tells a journal from any
/// other SQLite file. A migration that was ever released is never edited: a change is a new one at
/// the end.
struct Schema {
    /// `TRXR` in ASCII.
    static let applicationID: Int64 = 0x5452_5852

    /// The schema of this version of the relay.
    static let current = Schema(migrations: [
        version1, version2, version3, parkedRecords, linkWatches, people, checksums,
        unheardBrokers,
    ])

    /// The first version whose rows have checksums.
    static let firstWithChecksums: Int64 = 7

    /// The nth leads from version n to n + 1; version 0 is an empty file.
    let migrations: [String]

    /// The version that all migrations lead to.
    var version: Int64 { Int64(migrations.count) }

    /// The version of a file, having made sure that it is a journal, or empty (0).
    ///
    /// - Throws: `unusable` for other files and for journals of a newer relay.
    func version(of database: Database) throws -> Int64 {
        let application = try database.integer("PRAGMA application_id")
        let found = try database.integer("PRAGMA user_version")
        if application == 0, found == 0,
            try database.integer("SELECT count(*) FROM sqlite_schema") == 0
        {
            return 0
        }
        guard application == Self.applicationID, found > 0 else {
            throw JournalFailure.unusable(
                "not_a_journal",
                "\(database.path) is a SQLite file of something else. Nothing was changed:"
                    + " name another file")
        }
        guard found <= version else {
            throw JournalFailure.unusable(
                "newer_journal",
                "\(database.path) was written by a newer trax-relay (journal version \(found), this"
                    + " one knows \(version)). Nothing was changed: run the newer relay")
        }
        return found
    }

    /// Brings a file to this version, in one transaction; one that another process brought is left.
    func migrate(_ database: Database) throws {
        try database.transaction {
            let found = try version(of: database)
            for migration in migrations.dropFirst(Int(found)) { try database.execute(migration) }
            try database.execute(
                "PRAGMA application_id = \(Self.applicationID); PRAGMA user_version = \(version)")
        }
    }

    /// The first version.
    ///
    /// `entries` keeps the columns that filters and lists look at in front and the large ones
    /// behind: SQLite reads a row only as far as it is asked. The index `events` is in the order of
    /// positions, so that writing it costs a page for two hundred events; an event's id or account
    /// is looked for by running through it, a megabyte for forty thousand events. An index that
    /// seeks them would cost each event a page of its own.
    private static let version1 = """
        CREATE TABLE journal(
            id TEXT NOT NULL,
            created_at INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE counters(
            name TEXT PRIMARY KEY,
            value INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        INSERT INTO counters VALUES ('head', 0), ('last_epoch', 0), ('register', 0);
        CREATE TABLE keys(
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL,
            sealed_tag_key BLOB NOT NULL
        ) STRICT;
        CREATE TABLE accounts(
            id TEXT PRIMARY KEY,
            version INTEGER NOT NULL,
            incarnation INTEGER NOT NULL,
            removing INTEGER NOT NULL,
            origin TEXT NOT NULL,
            paused INTEGER NOT NULL,
            paused_by TEXT,
            interval_ms INTEGER,
            scheme TEXT NOT NULL,
            tag BLOB NOT NULL,
            key INTEGER NOT NULL,
            credential BLOB NOT NULL,
            labels TEXT NOT NULL,
            added_at INTEGER NOT NULL,
            changed_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX accounts_by_version ON accounts(version);
        CREATE INDEX accounts_by_tag ON accounts(tag);
        CREATE TABLE heads(
            account TEXT PRIMARY KEY,
            head BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE rows(
            account TEXT NOT NULL,
            connection TEXT NOT NULL,
            row BLOB NOT NULL,
            PRIMARY KEY(account, connection)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE marks(
            slot INTEGER PRIMARY KEY,
            marks BLOB NOT NULL
        ) STRICT;
        CREATE TABLE entries(
            position INTEGER PRIMARY KEY,
            account TEXT NOT NULL,
            account_key INTEGER NOT NULL,
            event_key INTEGER,
            event_id TEXT,
            type TEXT,
            kind TEXT,
            lane TEXT,
            platform TEXT,
            epoch INTEGER,
            sequence INTEGER,
            decided_at INTEGER,
            numbers TEXT,
            state_key TEXT,
            state_value BLOB,
            body BLOB,
            evidence BLOB
        ) STRICT;
        CREATE INDEX events ON entries(position, event_key, account_key)
            WHERE event_key IS NOT NULL;
        CREATE TABLE places(
            sink TEXT PRIMARY KEY,
            position INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE sink_numbers(
            account TEXT NOT NULL,
            sink TEXT NOT NULL,
            epoch INTEGER NOT NULL,
            number INTEGER NOT NULL,
            PRIMARY KEY(account, sink)
        ) STRICT, WITHOUT ROWID;
        """

    /// The second: which accounts have an open hold, and what operators order about holds.
    ///
    /// An order's number is never given again: a new one is never taken for one heard already.
    private static let version2 = """
        CREATE TABLE holds(
            account TEXT PRIMARY KEY,
            hold TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE orders(
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            account TEXT NOT NULL,
            hold TEXT NOT NULL,
            action TEXT NOT NULL,
            ordered_at INTEGER NOT NULL
        ) STRICT;
        """

    /// The third: what a renewal reads of state topics, what is left of it for accounts that are
    /// not yet in the register, what brokers remembered of the journal before, and what they were
    /// told last.
    private static let version3 = """
        CREATE TABLE reading(
            account TEXT NOT NULL,
            connection TEXT NOT NULL,
            partition INTEGER NOT NULL,
            written_at INTEGER NOT NULL,
            record BLOB,
            PRIMARY KEY(account, connection)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE remembered(
            account TEXT NOT NULL,
            connection TEXT NOT NULL,
            record BLOB NOT NULL,
            PRIMARY KEY(account, connection)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE answered(
            sink TEXT PRIMARY KEY,
            journal TEXT NOT NULL,
            position INTEGER NOT NULL,
            event_id TEXT,
            epoch INTEGER NOT NULL,
            instance TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE told(
            sink TEXT PRIMARY KEY,
            position INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """
}

extension Schema {
    /// People who are signed in: what the accounts file gave of them last, and who is refreshing
    /// whose tokens until when.
    private static let people = """
        ALTER TABLE accounts ADD COLUMN given BLOB;
        CREATE TABLE refreshing(
            account TEXT PRIMARY KEY,
            holder TEXT NOT NULL,
            until INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    /// Records that sinks do not take, whole: their entries may be pruned before that is settled.
    private static let parkedRecords = """
        CREATE TABLE parked(
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            sink TEXT NOT NULL,
            position INTEGER NOT NULL,
            key TEXT NOT NULL,
            headers TEXT NOT NULL,
            value BLOB,
            account TEXT NOT NULL,
            event_id TEXT,
            type TEXT,
            kind TEXT,
            lane TEXT,
            platform TEXT,
            epoch INTEGER,
            sequence INTEGER,
            decided_at INTEGER,
            code TEXT NOT NULL,
            reason TEXT NOT NULL,
            parked_at INTEGER NOT NULL,
            ordered_at INTEGER
        ) STRICT;
        CREATE INDEX parked_by_sink ON parked(sink, position);
        """

    /// Attempts to link that are waited for.
    ///
    /// A number is never given again: a new watch is never taken for one heard already.
    private static let linkWatches = """
        CREATE TABLE link_watches(
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            account TEXT NOT NULL,
            watch TEXT NOT NULL UNIQUE,
            attempt TEXT NOT NULL,
            platform TEXT NOT NULL,
            reconnecting TEXT,
            opened_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            connection TEXT,
            rule TEXT,
            outcome TEXT,
            ended_at INTEGER
        ) STRICT;
        CREATE INDEX open_link_watches ON link_watches(account) WHERE ended_at IS NULL;
        """

    /// Checksums of what stands in rows, null in those of before; and which records were dropped,
    /// for as long as their entries are there.
    private static let checksums = """
        ALTER TABLE entries ADD COLUMN checksum INTEGER;
        ALTER TABLE heads ADD COLUMN checksum INTEGER;
        ALTER TABLE rows ADD COLUMN checksum INTEGER;
        CREATE TABLE dropped(
            position INTEGER NOT NULL,
            sink TEXT NOT NULL,
            dropped_at INTEGER NOT NULL,
            PRIMARY KEY(position, sink)
        ) STRICT, WITHOUT ROWID;
        """

    /// Where the head was before the first entry of which a sink's broker was not asked.
    private static let unheardBrokers = """
        CREATE TABLE unheard(
            sink TEXT PRIMARY KEY,
            position INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """
}
