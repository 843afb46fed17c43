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
    var scheme = CredentialScheme.key
    var tag: [UInt8]
    /// The tag of the refresh token that the accounts file gave last; nil: it gave none.
    var given: [UInt8]?
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

    /// A change that is known to be one.
    init(account: KnownAccount, box: [UInt8], isNew: Bool) {
        self.account = account
        self.box = box
        self.isNew = isNew
        isChange = true
    }

    /// Plans an entry over what is known; nil when neither has a credential.
    init?(
        _ entry: AccountEntry, over known: KnownAccount?, origin: AccountOrigin,
        seal: CredentialSeal
    ) throws(CryptoError) {
        let present = known.flatMap { $0.isRemoving ? nil : $0 }
        let given = entry.person.map { seal.tag(ofGiven: $0) }
        // The same refresh token in the file again is no news, however often it was renewed since.
        let isKnown = given != nil && present?.given == given && present?.scheme == .person
        let fresh = isKnown ? nil : given ?? entry.credential.map { seal.tag(of: $0) }
        guard let tag = fresh ?? present?.tag else { return nil }
        var account =
            present
            ?? KnownAccount(
                id: entry.account, incarnation: 0, isRemoving: false, origin: origin,
                isPaused: false, pausedBy: nil, intervalMilliseconds: nil, tag: tag, labels: "{}")
        account.tag = tag
        if fresh != nil {
            account.scheme = entry.person == nil ? .key : .person
            account.given = given
        }
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
        if fresh != nil, present?.tag != tag || present?.scheme != account.scheme {
            if let person = entry.person {
                box = try seal.seal(PersonCoding.text(of: person), for: entry.account)
            } else if let credential = entry.credential {
                box = try seal.seal(credential, for: entry.account)
            }
        }
        self.account = account
    }
}
