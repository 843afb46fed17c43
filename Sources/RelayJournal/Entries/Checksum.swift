internal import Hashing
internal import SQLite

/// 64 bits of XXH3 over what a row holds: tells a flipped bit, for a microsecond a row.
///
/// SQLite finds damage to its own structure alone. Rows that an older relay wrote have none.
enum Checksum {
    /// The columns that an entry's checksum is over, in this order.
    static let entryColumns = """
        position, account, event_id, type, kind, lane, platform, epoch, sequence, decided_at,
        numbers, state_key, state_value, body, evidence
        """

    /// The columns of a belief's head and of its rows, as they are summed.
    static let headColumns = "account, head"
    static let rowColumns = "account, connection, row"

    /// Whether a row is as it was written: its columns from 0 to `count`, and the sum behind them.
    ///
    /// Of a row that an older relay wrote nothing is known, and it passes.
    static func fits(_ row: Statement.Row, _ count: Int) -> Bool {
        row.isNull(count) || of((0..<count).map { row.value($0) }) == row.value(count)
    }

    /// Of values in their order; that none stands for another, each is told with its length.
    static func of(_ values: [SQLValue]) -> SQLValue {
        var bytes: [UInt8] = []
        func number(_ number: Int64) {
            for shift in stride(from: 0, to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: number >> shift))
            }
        }
        func add(_ tag: UInt8, _ content: some Collection<UInt8>) {
            bytes.append(tag)
            number(Int64(content.count))
            bytes.append(contentsOf: content)
        }
        for value in values {
            switch value {
            case .null: bytes.append(0)
            case .integer(let value):
                bytes.append(1)
                number(value)
            case .text(let text): add(2, text.utf8)
            case .blob(let blob): add(3, blob)
            }
        }
        return .integer(Int64(bitPattern: Fingerprint.of(bytes).low))
    }
}
