/// Accounts in CSV: a header, columns by name, other columns kept as labels.
enum CSVAccounts {
    private enum Column: Equatable {
        case account, credential, interval, paused
        case label(String)
    }

    /// The most columns of a file.
    private static let columnLimit = 64

    static func read(
        _ bytes: [UInt8], from start: Int, environment: EnvironmentVariables,
        into ledger: inout AccountLedger
    ) {
        var reader = CSVReader(bytes, from: start)
        do throws(CSVReader.Mistake) {
            guard try reader.next() else {
                ledger.refuse(
                    line: 1, column: 1,
                    "the file is empty: its first line must be a header, such as "
                        + "`account,credential,interval,paused`")
                return
            }
        } catch {
            ledger.refuse(error, reader)
            return
        }
        guard let columns = columns(reader, &ledger) else { return }
        while true {
            do throws(CSVReader.Mistake) {
                guard try reader.next() else { return }
            } catch {
                ledger.refuse(error, reader)
                continue
            }
            row(reader, columns, environment, &ledger)
        }
    }

    /// The columns that the header names; nil, and told, where it cannot be used.
    private static func columns(
        _ reader: CSVReader, _ ledger: inout AccountLedger
    ) -> [Column]? {
        var columns: [Column] = []
        var isUsable = true
        func refuse(_ cell: CSVReader.Cell?, _ message: String) {
            isUsable = false
            ledger.refuse(
                line: cell?.line ?? 1,
                column: cell.map { reader.column(of: $0.start, lineStart: $0.lineStart) } ?? 1,
                message
            )
        }
        guard reader.cells.count <= columnLimit else {
            refuse(reader.cells[0], "the header names more than \(columnLimit) columns")
            return nil
        }
        for cell in reader.cells {
            let name = reader.text(cell) ?? ""
            let column: Column =
                switch name.lowercased() {
                case "account": .account
                case "credential": .credential
                case "interval": .interval
                case "paused": .paused
                default: .label(name)
                }
            if name.isEmpty { refuse(cell, "a column has no name") }
            if columns.contains(column) { refuse(cell, "the column `\(name)` is named twice") }
            columns.append(column)
        }
        for (column, name) in [(Column.account, "account"), (.credential, "credential")]
        where !columns.contains(column) {
            let names = reader.cells.compactMap { reader.text($0) }
            let near = NearestName.of(name, in: names).map { ": is `\($0)` meant?" }
            let separator = names.count == 1 && names[0].contains(where: { ";\t|".contains($0) })
            refuse(
                reader.cells[0],
                "the header names no column `\(name)`"
                    + (separator
                        ? ": cells are separated by commas"
                        : near ?? ": the first line must be such as `account,credential`"))
        }
        return isUsable ? columns : nil
    }

    private static func row(
        _ reader: CSVReader, _ columns: [Column], _ environment: EnvironmentVariables,
        _ ledger: inout AccountLedger
    ) {
        var fields = AccountFields()
        func refuse(_ cell: CSVReader.Cell, _ message: String) {
            ledger.refuse(line: cell.line, column: column(of: cell), message)
        }
        func column(of cell: CSVReader.Cell) -> Int {
            reader.column(of: cell.start, lineStart: cell.lineStart)
        }
        let first = reader.cells[0]
        if reader.cells.count > columns.count {
            refuse(
                reader.cells[columns.count],
                "the line has \(reader.cells.count) cells, the header \(columns.count): quote "
                    + "cells "
                    + "that hold commas")
            return
        }
        var accountCell = first
        var credentialCell = first
        for (index, column) in columns.enumerated() {
            guard index < reader.cells.count else {
                if column == .account { refuse(first, "the account id is missing") }
                if column == .credential { refuse(first, "the credential is missing") }
                continue
            }
            let cell = reader.cells[index]
            if column == .account { accountCell = cell }
            if column == .credential { credentialCell = cell }
            let objection = take(cell, column, reader, &fields, ledger.file, environment)
            if let objection { refuse(cell, objection) }
        }
        ledger.take(
            fields, line: first.line, column: column(of: accountCell),
            credentialColumn: column(of: credentialCell))
    }

    /// Puts a cell where it belongs; what is wrong with it, nil where nothing is.
    private static func take(
        _ cell: CSVReader.Cell, _ column: Column, _ reader: CSVReader,
        _ fields: inout AccountFields,
        _ file: String, _ environment: EnvironmentVariables
    ) -> String? {
        if column == .credential {
            return fields.take(
                credential: reader.content(cell), file: file, environment: environment)
        }
        guard let text = reader.text(cell) else {
            return "a cell is not UTF-8: save the file as "
                + "such"
        }
        switch column {
        case .account: return fields.take(account: text)
        case .interval: return fields.take(interval: text)
        case .paused: return fields.take(paused: text)
        case .label(let name):
            if !text.isEmpty { fields.labels[name] = text }
            return nil
        case .credential: return nil
        }
    }
}

extension AccountLedger {
    fileprivate mutating func refuse(_ mistake: CSVReader.Mistake, _ reader: CSVReader) {
        refuse(
            line: mistake.line,
            column: reader.column(of: mistake.offset, lineStart: mistake.lineStart), mistake.reason)
    }
}
