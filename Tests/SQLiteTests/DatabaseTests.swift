import Foundation
import Testing

@testable import SQLite

@Suite struct DatabaseTests {
    private struct Stop: Error {}

    let folder: Folder
    let database: Database

    init() throws {
        folder = try Folder()
        database = try Database(path: folder.file("a.db"))
        try database.execute("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0")
        try database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b BLOB) STRICT")
    }

    private func count(_ database: Database) throws -> Int64 {
        try database.integer("SELECT count(*) FROM t")
    }

    @Test func `values come back as they were bound`() throws {
        let insert = try database.prepare("INSERT INTO t VALUES(?, ?, ?)")
        try insert.run(.integer(Int64.min), .text("ü\0x"), .blob([0, 255]))
        #expect(database.lastInsertedRow == .min)
        try insert.run(.integer(2), .text(""), .blob([]))
        try insert.run(.integer(3), .null, .blob(nil))
        let select = try database.prepare("SELECT * FROM t WHERE id = ?")
        let first = try select.first(.integer(Int64.min)) { ($0.text(1), $0.blob(2)) }
        #expect(first?.0 == "ü\0x")
        #expect(first?.1 == [0, 255])
        let empty = try select.first(.integer(2)) { ($0.textOrNil(1), $0.blobOrNil(2)) }
        #expect(empty?.0 == "")
        #expect(empty?.1 == [])
        let null = try select.first(.integer(3)) { ($0.textOrNil(1), $0.blobOrNil(2)) }
        #expect(null?.0 == nil)
        #expect(null?.1 == nil)
        #expect(try select.first(.integer(4)) { $0.integer(0) } == nil)
    }

    @Test func `a transaction that throws leaves nothing`() throws {
        #expect(throws: Stop.self) {
            try database.transaction {
                try database.execute("INSERT INTO t(id) VALUES(1)")
                throw Stop()
            }
        }
        #expect(try count(database) == 0)
        try database.transaction { try database.execute("INSERT INTO t(id) VALUES(1)") }
        #expect(try count(database) == 1)
        #expect(database.changes == 1)
    }

    @Test func `a connection dropped in the midst of a transaction leaves nothing`() throws {
        do {
            let other = try Database(path: database.path)
            try other.execute("BEGIN IMMEDIATE; INSERT INTO t(id) VALUES(1)")
        }
        #expect(try count(database) == 0)
    }

    @Test func `a second writer waits and then is told busy`() throws {
        let other = try Database(path: database.path, busyTimeout: .milliseconds(1))
        try database.transaction {
            let error = #expect(throws: SQLiteError.self) { try other.transaction {} }
            #expect(error?.kind == .busy)
        }
        try other.transaction {}
    }

    @Test func `the data version moves for others and not for oneself`() throws {
        let other = try Database(path: database.path)
        let (own, theirs) = (try database.dataVersion(), try other.dataVersion())
        try database.execute("INSERT INTO t(id) VALUES(1)")
        #expect(try database.dataVersion() == own)
        #expect(try other.dataVersion() != theirs)
    }

    @Test func `a second connection moves the log into the file`() throws {
        try database.execute("INSERT INTO t(id) VALUES(1)")
        let other = try Database(path: database.path)
        _ = try other.dataVersion()
        let passive = try other.checkpoint(.passive)
        #expect(passive.pages > 0)
        #expect(passive.isComplete)
        #expect(try other.checkpoint(.truncate) == Checkpoint(pages: 0, moved: 0, wasBusy: false))
        let size = try FileManager.default.attributesOfItem(atPath: database.path + "-wal")[.size]
        #expect(size as? Int == 0)
    }

    @Test func `a snapshot does not see what is committed meanwhile`() throws {
        let other = try Database(path: database.path)
        try other.snapshot {
            #expect(try count(other) == 0)
            try database.execute("INSERT INTO t(id) VALUES(1)")
            #expect(try count(other) == 0)
        }
        #expect(try count(other) == 1)
    }

    @Test func `a broken rule is a constraint error without the value`() throws {
        let insert = try database.prepare("INSERT INTO t(id, a) VALUES(?, ?)")
        try insert.run(.integer(1), .text("first"))
        let error = #expect(throws: SQLiteError.self) {
            try insert.run(.integer(1), .text("canary"))
        }
        #expect(error?.kind == .constraint)
        #expect(error?.description.contains("canary") == false)
        try insert.run(.integer(2), .text("after the error the statement goes on"))
    }

    @Test func `a file that reached its size is full and stays usable`() throws {
        let pages = try database.integer("PRAGMA page_count")
        try database.execute("PRAGMA max_page_count=\(pages + 2)")
        let insert = try database.prepare("INSERT INTO t(b) VALUES(?)")
        let error = #expect(throws: SQLiteError.self) {
            try database.transaction {
                for _ in 0..<10 { try insert.run(.blob([UInt8](repeating: 1, count: 4096))) }
            }
        }
        #expect(error?.kind == .full)
        #expect(try count(database) == 0)
        try database.execute("PRAGMA max_page_count=1000000")
        try insert.run(.blob([1]))
    }

    @Test func `a file of something else, a missing file and a folder are told apart`() throws {
        try Data("this is no database at all, by far".utf8).write(
            to: URL(fileURLWithPath: folder.file("text")))
        let text = try Database(path: folder.file("text"))
        let kind = #expect(throws: SQLiteError.self) {
            try text.integer("SELECT count(*) FROM sqlite_schema")
        }
        #expect(kind?.kind == .notADatabase)
        let missing = #expect(throws: SQLiteError.self) {
            try Database(path: folder.file("none"), access: .readWrite)
        }
        #expect(missing?.kind == .cannotOpen)
        #expect(throws: SQLiteError.self) { try Database(path: folder.path) }
    }

    @Test func `a read-only connection writes nothing`() throws {
        let other = try Database(path: database.path, access: .readOnly)
        let error = #expect(throws: SQLiteError.self) {
            try other.execute("INSERT INTO t(id) VALUES(1)")
        }
        #expect(error?.kind == .readOnly)
    }

    @Test func `a mistake in SQL is an error with SQLite's words`() throws {
        let error = #expect(throws: SQLiteError.self) { try database.prepare("SELEC 1") }
        #expect(error?.kind == .other)
        #expect(error?.reason.contains("SELEC") == true)
    }

    @Test func `each and all see every row in order`() throws {
        let insert = try database.prepare("INSERT INTO t(id) VALUES(?)")
        for id in 1...3 { try insert.run(.integer(id)) }
        let select = try database.prepare("SELECT id FROM t WHERE id > ? ORDER BY id")
        #expect(try select.all(.integer(1)) { $0.integer(0) } == [2, 3])
        var seen: [Int64] = []
        #expect(throws: Stop.self) {
            try select.each(.integer(0)) { row in
                seen.append(row.integer(0))
                if seen.count == 2 { throw Stop() }
            }
        }
        #expect(seen == [1, 2])
        #expect(try database.texts("SELECT 'a' UNION SELECT 'b'") == ["a", "b"])
    }
}
