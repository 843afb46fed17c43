internal import ConnectionEvents
internal import Crypto
internal import RelayCore
internal import SQLite
internal import Threading

extension AccountRegister {
    /// Takes in a whole accounts file, or nothing of it.
    ///
    /// Accounts that came from the file and are gone from it are removed; those added by command
    /// stay. Everything is planned and sealed before the write lock is taken, so that a relay
    /// beside it waits only for the rows to be written.
    ///
    /// - Parameters:
    ///   - entries: the file's lines, with their line numbers.
    ///   - force: also take a file that would remove half or more, and at least 5.
    ///   - progress: told of entries done and all entries, about every 10,000.
    /// - Throws: `RegisterRefusal` with all that is wrong, or `JournalFailure`.
    @discardableResult
    public func importFile(
        _ entries: [AccountEntry], force: Bool = false,
        progress: ((_ done: Int, _ all: Int) -> Void)? = nil
    ) throws -> ImportSummary {
        while true {
            let (version, known) = try run { connection in
                try connection.database.snapshot {
                    (try connection.registerVersion(), try connection.known())
                }
            }
            let plan = try ImportPlan(
                entries, over: known, seal: file.seal, force: force, progress: progress)
            let isDone = try change { change in
                // Somebody changed the register while this was planned: plan again.
                guard change.version == version + 1 else { return false }
                for account in plan.accounts {
                    try change.write(account, key: file.seal.keyNumber)
                }
                for account in plan.removed { try change.update(account) }
                return true
            }
            if isDone { return plan.summary }
        }
    }

    /// What is wrong with a file's lines in themselves: ids twice, a credential under two ids.
    ///
    /// For a caller that has problems of its own to report with them;
    /// ``importFile(_:force:progress:)`` finds the same and more.
    public func problems(in entries: [AccountEntry]) -> [RegisterRefusal.Problem] {
        ImportPlan.duplicates(in: entries, tags: entries.map { file.seal.tag(ofOffered: $0) })
    }
}

/// What an import will write.
struct ImportPlan {
    private(set) var accounts: [AccountPlan] = []
    private(set) var removed: [KnownAccount] = []
    private(set) var summary = ImportSummary()

    /// The least number of removals that is refused.
    static let refusedRemovals = 5

    init(
        _ entries: [AccountEntry], over known: [KnownAccount], seal: CredentialSeal, force: Bool,
        progress: ((Int, Int) -> Void)?
    ) throws {
        let register = Dictionary(
            known.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        var tags: [[UInt8]?] = []
        tags.reserveCapacity(entries.count)
        for entry in entries {
            tags.append(
                seal.tag(ofOffered: entry)
                    ?? register[entry.account].flatMap { $0.isRemoving ? nil : $0.tag })
        }
        var problems = Self.duplicates(in: entries, tags: tags)
        let listed = Set(entries.map(\.account))
        problems += Self.clashes(of: entries, tags, with: known.filter { !listed.contains($0.id) })
        for (index, entry) in entries.enumerated() {
            let plan = try AccountPlan(
                entry, over: register[entry.account], origin: .file, seal: seal)
            if let plan {
                count(plan)
                if plan.isNew || plan.isChange { accounts.append(plan) }
            } else {
                problems.append(
                    .init(line: entry.line, "account \(entry.account) is new and has no credential")
                )
            }
            if (index + 1) % 10_000 == 0 { progress?(index + 1, entries.count) }
        }
        guard problems.isEmpty else { throw RegisterRefusal(badLines: problems) }
        // In the order of the table, so that each of its pages is written once.
        accounts.sort { $0.account.id < $1.account.id }
        try remove(known.filter { $0.origin == .file && !$0.isRemoving }, except: listed, force)
    }

    private mutating func count(_ plan: AccountPlan) {
        if plan.isNew {
            summary.added += 1
        } else if plan.isChange {
            summary.changed += 1
            if plan.box != nil { summary.credentialsChanged += 1 }
        } else {
            summary.unchanged += 1
        }
    }

    private mutating func remove(
        _ ofFile: [KnownAccount], except listed: Set<AccountID>, _ force: Bool
    ) throws(RegisterRefusal) {
        removed = ofFile.filter { !listed.contains($0.id) }
        for index in removed.indices { removed[index].isRemoving = true }
        summary.removed = removed.count
        guard !force, removed.count >= Self.refusedRemovals, removed.count * 2 >= ofFile.count
        else {
            return
        }
        throw RegisterRefusal(
            .removesTooMany,
            "the file would remove \(removed.count) of the \(ofFile.count) accounts that came from"
                + " it")
    }

    /// Ids that stand twice and credentials that stand under two ids, each naming both lines.
    static func duplicates(
        in entries: [AccountEntry], tags: [[UInt8]?]
    ) -> [RegisterRefusal.Problem] {
        var problems: [RegisterRefusal.Problem] = []
        var lines: [AccountID: Int] = [:]
        var owners: [TagKey: Int] = [:]
        lines.reserveCapacity(entries.count)
        owners.reserveCapacity(entries.count)
        for (index, entry) in entries.enumerated() {
            if let first = lines.updateValue(entry.line, forKey: entry.account) {
                lines[entry.account] = first
                problems.append(
                    .init(
                        line: entry.line,
                        "account \(entry.account) stands on line \(first) already"))
                continue
            }
            guard let key = tags[index].map(TagKey.init) else { continue }
            if let first = owners.updateValue(index, forKey: key) {
                owners[key] = first
                let owner = entries[first]
                problems.append(
                    .init(
                        line: entry.line,
                        "account \(entry.account) has the same credential as account"
                            + " \(owner.account) on line \(owner.line)"))
            }
        }
        return problems
    }

    /// A tag as a key of a table: two words hash faster than an array of bytes.
    private struct TagKey: Hashable {
        let high: UInt64
        let low: UInt64

        init(_ tag: [UInt8]) {
            high = tag.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
            low = tag.dropFirst(8).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        }
    }

    /// Credentials that an account added by command has already.
    private static func clashes(
        of entries: [AccountEntry], _ tags: [[UInt8]?], with others: [KnownAccount]
    ) -> [RegisterRefusal.Problem] {
        let staying = others.filter { $0.origin == .command && !$0.isRemoving }
        guard !staying.isEmpty else { return [] }
        let owners = Dictionary(staying.map { ($0.tag, $0.id) }, uniquingKeysWith: { a, _ in a })
        return zip(entries, tags).compactMap { entry, tag in
            tag.flatMap { owners[$0] }.map { owner in
                .init(
                    line: entry.line,
                    "account \(entry.account) has the same credential as account \(owner),"
                        + " which was added by command")
            }
        }
    }
}
