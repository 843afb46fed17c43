/// Rows of a CSV text by RFC 4180: quoted cells may hold commas, line ends and doubled quotes.
///
/// Lines end with LF or CRLF. Reads in one pass over bytes that it does not copy.
struct CSVReader {
    /// One cell, by where its bytes stand.
    struct Cell {
        /// The bytes between the quotes, or without spaces around where there are none.
        var range: Range<Int>
        var hasDoubledQuotes = false
        /// The line it begins on, from 1, and where that line begins.
        let line: Int
        let lineStart: Int
        /// Where the cell begins, its quote counted.
        let start: Int
    }

    /// A row that breaks the grammar.
    struct Mistake: Error {
        let line: Int
        let lineStart: Int
        let offset: Int
        let reason: String
    }

    let bytes: [UInt8]
    private var place: Int
    private var line = 1
    private var lineStart: Int
    private(set) var cells: [Cell] = []

    private static let quote = UInt8(ascii: "\"")

    init(_ bytes: [UInt8], from start: Int) {
        self.bytes = bytes
        place = start
        lineStart = start
    }

    /// Reads the next row that is not blank into `cells`; false at the end.
    ///
    /// After a mistake reading goes on with the next line.
    mutating func next() throws(Mistake) -> Bool {
        skipBlankLines()
        guard place < bytes.count else { return false }
        cells.removeAll(keepingCapacity: true)
        while true {
            cells.append(try cell())
            guard place < bytes.count else { return true }
            guard bytes[place] == UInt8(ascii: ",") else {
                endLine()
                return true
            }
            place += 1
        }
    }

    /// The text of a cell, nil where it is no UTF-8.
    func text(_ cell: Cell) -> String? {
        let slice = bytes[cell.range]
        guard cell.hasDoubledQuotes else { return String(validating: slice, as: UTF8.self) }
        return String(validating: unescaped(cell), as: UTF8.self)
    }

    /// The bytes of a cell.
    func content(_ cell: Cell) -> ArraySlice<UInt8> {
        cell.hasDoubledQuotes ? unescaped(cell)[...] : bytes[cell.range]
    }

    /// The column of an offset in its line, from 1, in Unicode scalars.
    func column(of offset: Int, lineStart: Int) -> Int {
        1 + bytes[lineStart..<offset].count { $0 & 0xC0 != 0x80 }
    }

    private func unescaped(_ cell: Cell) -> [UInt8] {
        var result: [UInt8] = []
        var isSecond = false
        for byte in bytes[cell.range] {
            if byte == Self.quote, !isSecond {
                isSecond = true
                continue
            }
            isSecond = false
            result.append(byte)
        }
        return result
    }

    private mutating func cell() throws(Mistake) -> Cell {
        let start = place
        while place < bytes.count, isSpace(bytes[place]) { place += 1 }
        if place < bytes.count, bytes[place] == Self.quote { return try quoted() }
        let head = place
        var end = place
        while place < bytes.count {
            let byte = bytes[place]
            if byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\n") { break }
            if byte == Self.quote {
                throw mistake(
                    at: place,
                    "a quote stands inside a cell that does not begin with "
                        + "one")
            }
            place += 1
            if !isSpace(byte) && byte != UInt8(ascii: "\r") { end = place }
        }
        return Cell(range: head..<end, line: line, lineStart: lineStart, start: start)
    }

    private mutating func quoted() throws(Mistake) -> Cell {
        let opening = place
        var cell = Cell(
            range: (opening + 1)..<(opening + 1), line: line, lineStart: lineStart, start: opening)
        place += 1
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            if byte == UInt8(ascii: "\n") {
                line += 1
                lineStart = place
            } else if byte == Self.quote {
                guard place < bytes.count, bytes[place] == Self.quote else {
                    cell.range = (opening + 1)..<(place - 1)
                    try endOfQuoted()
                    return cell
                }
                cell.hasDoubledQuotes = true
                place += 1
            }
        }
        throw Mistake(
            line: cell.line, lineStart: cell.lineStart, offset: opening,
            reason: "a quote is opened and never closed")
    }

    private mutating func endOfQuoted() throws(Mistake) {
        while place < bytes.count, isSpace(bytes[place]) || bytes[place] == UInt8(ascii: "\r") {
            place += 1
        }
        guard
            place == bytes.count || bytes[place] == UInt8(ascii: ",")
                || bytes[place] == UInt8(ascii: "\n")
        else {
            throw mistake(
                at: place,
                "something stands behind a closing quote: double quotes "
                    + "inside")
        }
    }

    private mutating func mistake(at offset: Int, _ reason: String) -> Mistake {
        let mistake = Mistake(line: line, lineStart: lineStart, offset: offset, reason: reason)
        while place < bytes.count, bytes[place] != UInt8(ascii: "\n") { place += 1 }
        endLine()
        return mistake
    }

    private mutating func endLine() {
        guard place < bytes.count else { return }
        place += 1
        line += 1
        lineStart = place
    }

    private mutating func skipBlankLines() {
        var ahead = place
        while ahead < bytes.count {
            let byte = bytes[ahead]
            if byte == UInt8(ascii: "\n") {
                place = ahead
                endLine()
            } else if !isSpace(byte), byte != UInt8(ascii: "\r") {
                return
            }
            ahead += 1
        }
        place = ahead
    }

    private func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
