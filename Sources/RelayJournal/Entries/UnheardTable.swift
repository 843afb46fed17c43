internal import RelayCore
internal import SQLite

/// Where the head was before the first entry that a sink's broker was not asked about: one mark a
/// sink, from the first commit of entries of a life until the broker has told.
///
/// A mark is written in the transaction of that first commit, so that no entry is without it.
final class UnheardTable {
    /// Sinks whose brokers have not told yet, without a mark.
    private var awaited: Set<SinkName> = []
    /// Sinks that have one.
    private var marked: Set<SinkName> = []
    private let put: Statement
    private let drop: Statement

    init(_ database: Database) throws {
        put = try database.prepare("INSERT INTO unheard VALUES (?, ?)")
        drop = try database.prepare("DELETE FROM unheard WHERE sink = ?")
        try database.prepare("SELECT sink FROM unheard").each { row in
            marked.insert(SinkName(row.text(0)))
        }
    }

    /// The sinks' brokers have not told yet.
    func awaitWord(of sinks: Set<SinkName>) { awaited.formUnion(sinks.subtracting(marked)) }

    /// Marks those that are awaited; within a transaction, which `noteMarked` follows.
    func mark(at head: JournalPosition) throws {
        for sink in awaited { try put.run(.text(sink.text), .integer(head.number)) }
    }

    /// The transaction that marked them is durable.
    func noteMarked() {
        marked.formUnion(awaited)
        awaited = []
    }

    /// The marks of these, which are there; within a transaction, which `forget` follows.
    func remove(_ sinks: Set<SinkName>) throws {
        for sink in sinks.intersection(marked) { try drop.run(.text(sink.text)) }
    }

    /// Nothing is in doubt of these sinks any more.
    func forget(_ sinks: Set<SinkName>) {
        awaited.subtract(sinks)
        marked.subtract(sinks)
    }

    /// Whether one of these has a mark.
    func hasMark(ofAny sinks: Set<SinkName>) -> Bool { !marked.isDisjoint(with: sinks) }
}
