internal import ConnectionEvents
internal import Crypto
internal import RelayCore

/// One row of the register without its credential.
struct KnownAccount: Equatable {
    let id: AccountID
    var incarnation: Int64
    var isRemoving: Bool
    var origin: AccountOrigin
    var isPaused: Bool
    var pausedBy: AccountOrigin?
    var intervalMilliseconds: Int64?
    var tag: [UInt8]
    var labels: String

    /// Pauses or resumes; a pause remembers who asked for it.
    mutating func setPaused(_ paused: Bool, by who: AccountOrigin) {
        guard isPaused != paused || (paused && pausedBy != who) else { return }
        isPaused = paused
        pausedBy = paused ? who : nil
    }
}

/// What is to be written of one account.
///
/// Empty cells say nothing: without a word of the file an account is what it is by default, unless
/// a command paused it.
struct AccountPlan {
    /// The row as it is to be.
    var account: KnownAccount
    /// The credential's new box; nil keeps the old one.
    var box: [UInt8]?
    /// Whether it is a new registration of its id.
    var isNew: Bool
    /// Whether there is anything to write.
    var isChange: Bool

    /// Plans an entry over what is known; nil when neither has a credential.
    init?(
        _ entry: AccountEntry, over known: KnownAccount?, origin: AccountOrigin,
        seal: CredentialSeal
    ) throws(CryptoError) {
        let present = known.flatMap { $0.isRemoving ? nil : $0 }
        let tag = entry.credential.map { seal.tag(of: $0) } ?? present?.tag
        guard let tag else { return nil }
        var account =
            present
            ?? KnownAccount(
                id: entry.account, incarnation: 0, isRemoving: false, origin: origin,
                isPaused: false, pausedBy: nil, intervalMilliseconds: nil, tag: tag, labels: "{}")
        account.tag = tag
        if let interval = entry.interval {
            account.intervalMilliseconds = max(1, interval.wholeMilliseconds)
        } else if account.origin == .file {
            account.intervalMilliseconds = nil
        }
        if let paused = entry.isPaused {
            account.setPaused(paused, by: entry.line > 0 ? .file : .command)
        } else if account.pausedBy == .file, entry.line > 0 {
            account.setPaused(false, by: .file)
        }
        if entry.line > 0 || !entry.labels.isEmpty {
            account.labels = LabelText.text(of: entry.labels)
        }
        isNew = present == nil
        isChange = account != present
        if let credential = entry.credential, present?.tag != tag {
            box = try seal.seal(credential, for: entry.account)
        }
        self.account = account
    }
}
