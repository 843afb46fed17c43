/// Rows of text in columns, as commands print them.
struct Table {
    private var rows: [[String]]

    init(header: [String]) { rows = [header] }

    mutating func add(_ row: [String]) { rows.append(row) }

    /// Columns as wide as their widest cell, two spaces between; control characters shown as `?`.
    var text: String {
        let clean = rows.map { $0.map(Self.clean) }
        var widths = Array(repeating: 0, count: rows[0].count)
        for row in clean {
            for (column, cell) in row.enumerated() {
                widths[column] = max(widths[column], cell.count)
            }
        }
        return clean.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                line += cell
                if column < row.count - 1 {
                    line += String(repeating: " ", count: widths[column] - cell.count + 2)
                }
            }
            return line + "\n"
        }.joined()
    }

    /// What came from outside must not steer the terminal.
    static func clean(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map {
                    $0.properties.generalCategory == .control ? "?" : $0
                }))
    }
}
