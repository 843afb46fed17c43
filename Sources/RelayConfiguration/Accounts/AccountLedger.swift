internal import ConnectionEvents
internal import Crypto
internal import RelayCore

/// Collects the lines of an accounts file and what is wrong with them, doubles among them.
struct AccountLedger {
    let file: String
    private let progress: ((Int) -> Void)?
    private var lines: [AccountLine] = []
    private var problems: [ConfigurationProblem] = []
    private var unlisted = 0
    private var seen = 0
    private var lineOfID: [AccountID: Int] = [:]
    private var holders: [Holder] = []
    private var holderOfHash: [Int: Int] = [:]

    /// Above this many problems the rest is only counted.
    static let problemLimit = 10_000

    private struct Holder {
        let account: AccountID
        let line: Int
        let credential: Secret
    }

    init(file: String, progress: ((Int) -> Void)?) {
        self.file = file
        self.progress = progress
    }

    mutating func refuse(line: Int?, column: Int?, _ message: String) {
        guard problems.count < Self.problemLimit else {
            unlisted += 1
            return
        }
        problems.append(
            ConfigurationProblem(file: file, line: line, column: column, message: message))
    }

    /// Takes the fields of a line; what is missing in them was refused before.
    mutating func take(_ fields: AccountFields, line: Int, column: Int, credentialColumn: Int) {
        seen += 1
        if seen.isMultiple(of: 10_000) { progress?(seen) }
        guard let account = fields.account else { return }
        if let first = lineOfID.updateValue(line, forKey: account) {
            lineOfID[account] = first
            refuse(
                line: line, column: column,
                "the account `\(account)` is already on line \(first): remove one of the lines")
            return
        }
        guard let credential = fields.credential else { return }
        if let other = holder(of: credential) ?? note(credential, of: account, line) {
            refuse(
                line: line, column: credentialColumn,
                "the account `\(account)` has the same credential as `\(other.account)` on line "
                    + "\(other.line): each account has its own")
            return
        }
        let person = fields.signIn.map {
            PersonSession(issuer: $0.issuer, clientID: $0.clientID, refreshToken: credential)
        }
        lines.append(
            AccountLine(
                line: line, account: account, credential: credential, person: person,
                interval: fields.interval,
                isPaused: fields.isPaused, labels: fields.labels))
    }

    /// The lines, where there is no problem at all.
    consuming func finish() throws(ConfigurationError) -> [AccountLine] {
        if unlisted > 0 {
            let all = Self.problemLimit + unlisted
            let message = "\(all) problems, of which the first \(Self.problemLimit) follow"
            problems.append(ConfigurationProblem(file: file, message: message))
        }
        guard problems.isEmpty else { throw ConfigurationError(.invalid, problems) }
        return lines
    }

    /// Who has this credential already.
    private func holder(of credential: Secret) -> Holder? {
        var hash = Self.hash(credential)
        while let index = holderOfHash[hash] {
            if holders[index].credential == credential { return holders[index] }
            hash &+= 1
        }
        return nil
    }

    /// Remembers who has a credential that nobody had; always nil.
    private mutating func note(_ credential: Secret, of account: AccountID, _ line: Int) -> Holder?
    {
        var hash = Self.hash(credential)
        while holderOfHash[hash] != nil { hash &+= 1 }
        holderOfHash[hash] = holders.count
        holders.append(Holder(account: account, line: line, credential: credential))
        return nil
    }

    /// Of this process only: the hasher's seed is random.
    private static func hash(_ credential: Secret) -> Int {
        var hasher = Hasher()
        unsafe credential.withBytes { unsafe hasher.combine(bytes: $0) }
        return hasher.finalize()
    }
}
