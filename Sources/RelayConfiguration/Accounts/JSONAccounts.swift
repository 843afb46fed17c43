internal import Crypto
internal import JSON
internal import RelayCore

/// Accounts as JSON lines: one object a line with `account`, `apiKey` or `oidc`, and perhaps more.
struct JSONAccounts {
    /// For people of whom a line names no issuer or client.
    let signIn: Pipeline.SignIn?
    let environment: EnvironmentVariables

    func read(_ bytes: [UInt8], from start: Int, into ledger: inout AccountLedger) {
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
                // Of a member that comes twice either value might be meant.
                value = try JSONValue(parsingWithoutRepeats: Array(slice))
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
            take(object, line: line, &ledger)
        }
    }

    private func take(_ object: JSONObject, line: Int, _ ledger: inout AccountLedger) {
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
                for problem in take(person: value, into: &fields, file: ledger.file) {
                    refuse(problem)
                }
            case "credential":
                refuse("`credential` is a column of CSV files: did you mean `apiKey`?")
            default:
                fields.labels[key] = value.stringValue ?? value.text
            }
        }
        if object["account"].map({ $0.isNull }) ?? true { refuse("`account` is missing") }
        let credentials = ["apiKey", "oidc", "credential"]
        let given = credentials.filter { !(object[$0]?.isNull ?? true) }
        if given.isEmpty { refuse("`apiKey` is missing") }
        if given.count > 1 {
            refuse("`apiKey` and `oidc` are both there: an account has one credential")
        }
        ledger.take(fields, line: line, column: 1, credentialColumn: 1)
    }

    /// What is wrong with a person of a line.
    private func take(
        person value: JSONValue, into fields: inout AccountFields, file: String
    ) -> [String] {
        guard let object = value.objectValue else {
            return [#"`oidc` must be an object, such as {"refreshToken":"env:TOKEN"}"#]
        }
        var problems: [String] = []
        var texts: [String: String] = [:]
        let keys = ["issuer", "clientID", "refreshToken"]
        for (key, value) in object where !value.isNull {
            guard keys.contains(key) else {
                let hint = NearestName.hint(key, in: keys, noun: "the keys here")
                problems.append("unknown key `\(key.prefix(64))` in `oidc`: \(hint)")
                continue
            }
            texts[key] = value.stringValue
            if texts[key] == nil { problems.append("`oidc.\(key)` must be a string") }
        }
        if let token = texts["refreshToken"] {
            problems +=
                fields.take(
                    credential: Array(token.utf8)[...], file: file, environment: environment
                ).map { [$0] } ?? []
        } else if object["refreshToken"]?.isNull ?? true {
            problems.append("`oidc.refreshToken` is missing")
        }
        let issuer = texts["issuer"] ?? signIn?.issuer.text
        let client = texts["clientID"] ?? signIn?.clientID
        guard let issuer, let client else {
            problems.append(
                "`oidc.\(issuer == nil ? "issuer" : "clientID")` is missing, and the pipeline has"
                    + " no `source.signIn` to take it from")
            return problems
        }
        guard let known = Issuer(issuer) else {
            problems.append("`oidc.issuer` must be \(TextRule.issuer.demand)")
            return problems
        }
        if let objection = TextRule.clientID.objection(client) {
            problems.append("`oidc.clientID` \(objection)")
        }
        fields.signIn = Pipeline.SignIn(issuer: known, clientID: client)
        return problems
    }
}
