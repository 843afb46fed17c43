internal import JSON

/// Accounts as JSON lines: one object a line with `account`, `apiKey` and perhaps more.
enum JSONAccounts {
    static func read(
        _ bytes: [UInt8], from start: Int, environment: EnvironmentVariables,
        into ledger: inout AccountLedger
    ) {
        var place = start
        var line = 0
        while place < bytes.count {
            let end = bytes[place...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            let slice = bytes[place..<end]
            place = end + 1
            line += 1
            if slice.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
            let value: JSONValue
            do throws(JSONError) {
                value = try parse(slice)
            } catch {
                ledger.refuse(
                    line: line, column: (error.offset ?? 0) + 1,
                    "the line is no JSON: \(error.reason)")
                continue
            }
            guard let object = value.objectValue else {
                ledger.refuse(
                    line: line, column: 1,
                    #"the line must be an object, such as {"account":"a","apiKey":"env:KEY"}"#)
                continue
            }
            take(object, line: line, environment, &ledger)
        }
    }

    private static func parse(_ slice: ArraySlice<UInt8>) throws(JSONError) -> JSONValue {
        let result: Result<JSONValue, JSONError> = unsafe slice.withUnsafeBytes { bytes in
            do throws(JSONError) {
                return .success(unsafe try JSONValue(parsing: bytes))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private static func take(
        _ object: JSONObject, line: Int, _ environment: EnvironmentVariables,
        _ ledger: inout AccountLedger
    ) {
        var fields = AccountFields()
        func refuse(_ message: String?) {
            if let message { ledger.refuse(line: line, column: 1, message) }
        }
        for (key, value) in object where !value.isNull {
            switch key {
            case "account", "apiKey", "interval":
                guard let text = value.stringValue else {
                    refuse("`\(key)` must be a string")
                    continue
                }
                switch key {
                case "account": refuse(fields.take(account: text))
                case "interval": refuse(fields.take(interval: text))
                default:
                    let bytes = Array(text.utf8)[...]
                    refuse(
                        fields.take(
                            credential: bytes, file: ledger.file, environment: environment))
                }
            case "paused":
                fields.isPaused = value.boolValue
                if fields.isPaused == nil {
                    refuse(
                        value.stringValue.map { fields.take(paused: $0) }
                            ?? "`paused` must be `true` or `false`")
                }
            case "oidc":
                refuse(
                    "`oidc` is not built into this version yet: give the account an `apiKey`")
            case "credential":
                refuse("`credential` is a column of CSV files: did you mean `apiKey`?")
            default:
                fields.labels[key] = value.stringValue ?? value.text
            }
        }
        if object["account"].map({ $0.isNull }) ?? true { refuse("`account` is missing") }
        let credentials = ["apiKey", "oidc", "credential"]
        if credentials.allSatisfy({ object[$0]?.isNull ?? true }) { refuse("`apiKey` is missing") }
        ledger.take(fields, line: line, column: 1, credentialColumn: 1)
    }
}
