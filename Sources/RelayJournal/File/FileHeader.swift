internal import SQLite

/// The first hundred bytes of an SQLite file, which SQLite itself is lenient with.
///
/// SQLite itself takes a file whose write version it does not know for one that may only be read,
/// and a last page that was cut for zeros. File format: sqlite.org/fileformat.html, section 1.3.
struct FileHeader {
    private static let size = 100
    private let bytes: [UInt8]
    private let fileSize: Int
    private let logSize: Int

    /// Reads a file's header; nil where it has none yet.
    init?(_ database: Database) throws(SQLiteError) {
        // Before the file: a log that is emptied meanwhile is in it then.
        logSize = SystemFile.size(of: database.path + "-wal")
        guard let start = try database.start(Self.size) else { return nil }
        (bytes, fileSize) = start
    }

    private func number(at offset: Int, _ count: Int) -> Int {
        bytes[offset..<offset + count].reduce(0) { $0 << 8 | Int($1) }
    }

    /// What is wrong with it; empty where nothing is.
    ///
    /// How long the file must be is known only while its log is empty.
    var faults: [String] {
        guard bytes.starts(with: Array("SQLite format 3\0".utf8)) else {
            return ["its first bytes are not SQLite's"]
        }
        var faults: [String] = []
        let (write, read) = (bytes[18], bytes[19])
        // 2 is a write-ahead log; some ways of copying a journal leave 1.
        if write != read || !(1...2).contains(write) {
            faults.append("its header says format \(write) for writing, \(read) for reading")
        }
        if bytes[21] != 64 || bytes[22] != 32 || bytes[23] != 32 {
            faults.append("its header says other payload fractions than SQLite's")
        }
        let pageSize = number(at: 16, 2) == 1 ? 65_536 : number(at: 16, 2)
        guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else {
            return faults + ["its header says pages of \(pageSize) bytes"]
        }
        guard logSize == 0 else { return faults }
        if fileSize % pageSize != 0 {
            faults.append("it is cut within a page (\(fileSize) bytes, pages of \(pageSize))")
        } else if number(at: 24, 4) == number(at: 92, 4),
            number(at: 28, 4) != fileSize / pageSize
        {
            faults.append(
                "its header says \(number(at: 28, 4)) pages, and it has \(fileSize / pageSize)")
        }
        return faults
    }
}
