public import ConnectionEvents
internal import Crypto
public import RelayCore
internal import SQLite
internal import Threading

/// What a sign-in did to the register.
public enum SignInEffect: Hashable, Sendable {
    /// The account is new.
    case added
    /// The account had this person already, and has new tokens.
    case renewed
    /// The account had another credential.
    case changed
}

extension AccountRegister {
    /// Gives an account to a person who has just signed in.
    ///
    /// The account is added by command if it is not there. The same person keeps the credential's
    /// tag, so that it is no change of the credential; the relay walks at once all the same.
    ///
    /// - Throws: `RegisterRefusal`: `sharedCredential` where another account is the same person's,
    ///   `exists` where the accounts file gives this one an API key; or `JournalFailure`.
    @discardableResult
    public func signIn(
        _ session: PersonSession, as account: AccountID
    ) throws -> SignInEffect {
        try change { writing in
            let known = try writing.known(account).flatMap { $0.isRemoving ? nil : $0 }
            if let known, known.scheme == .key, known.origin == .file {
                throw RegisterRefusal(
                    .exists,
                    "account \(account) has an API key from the accounts file: take it out there,"
                        + " or sign in under another id")
            }
            let former = try known?.scheme == .person ? formerSession(account, writing) : nil
            var tag = file.seal.tag(
                ofSubject: session.subject ?? session.refreshToken.reveal(), at: session.issuer)
            let isSame =
                former?.issuer == session.issuer && former?.subject != nil
                && former?.subject == session.subject
            if isSame, let known { tag = known.tag }
            if let other = try writing.owner(ofTag: tag, except: account)
                ?? other(than: account, of: session, writing)?.text
            {
                throw RegisterRefusal(
                    .sharedCredential,
                    "account \(other) is the same person's: one person stands for one account")
            }
            var session = session
            session.number = (former?.number ?? 0) + 1
            try write(
                session, as: account, over: known, tag: tag,
                resuming: former?.wasPausedToLeave == true, writing)
            return known == nil ? .added : isSame ? .renewed : .changed
        }
    }

    /// The person of an account; nil where it is none, or has an API key.
    public func person(of account: AccountID) throws(JournalFailure) -> PersonSession? {
        try run { connection in
            guard let known = try connection.known(account), !known.isRemoving,
                known.scheme == .person, let box = try connection.box(of: account)
            else { return nil }
            return try PersonCoding.session(
                of: try file.seal.open(box, of: account), account: account)
        }
    }

    /// The accounts that a person of an issuer is signed in for, or was.
    public func accounts(of person: PersonSession) throws(JournalFailure) -> [AccountID] {
        try run { connection in
            try connection.people().filter { account, box in
                let kept = try PersonCoding.session(
                    of: try file.seal.open(box, of: account), account: account)
                return kept.subject != nil && kept.subject == person.subject
                    && kept.issuer == person.issuer
            }.map(\.account)
        }
    }

    /// Has an account left alone while its person's session is ended at the provider.
    ///
    /// What the relay hears of the account from then on is no trouble of it.
    ///
    /// - Throws: `RegisterRefusal` where it is no person's; or `JournalFailure`.
    public func beginSignOut(_ account: AccountID) throws {
        try changePerson(account) { known, session in
            leave(&session, known)
            known.setPaused(true, by: known.pausedBy ?? .command)
        }
    }

    /// The session goes on after all: the account is as it was before ``beginSignOut(_:)``.
    public func abandonSignOut(_ account: AccountID) throws {
        try changePerson(account) { known, session in
            guard session.isLeaving else { return }
            if session.wasPausedToLeave { known.setPaused(false, by: .command) }
            session.isLeaving = false
            session.wasPausedBefore = false
        }
    }

    /// Forgets a person's tokens; the account stays, paused until somebody signs in for it.
    ///
    /// - Throws: `RegisterRefusal` where it is no person's; or `JournalFailure`.
    public func signOut(_ account: AccountID) throws {
        try changePerson(account) { known, former in
            leave(&former, known)
            var session = PersonSession(
                issuer: former.issuer, clientID: former.clientID, refreshToken: Secret(""))
            session.subject = former.subject
            session.name = former.name
            session.number = former.number + 1
            session.wasPausedBefore = former.wasPausedBefore
            former = session
            known.setPaused(true, by: .command)
        }
    }

    /// Notes how the account was before its person left; once for each leave.
    private func leave(_ session: inout PersonSession, _ known: KnownAccount) {
        guard !session.isOut, !session.isLeaving || !known.isPaused else { return }
        session.isLeaving = true
        session.wasPausedBefore = known.isPaused
    }

    private func changePerson(
        _ account: AccountID, _ body: (inout KnownAccount, inout PersonSession) -> Void
    ) throws {
        try change { writing in
            guard var known = try writing.known(account), !known.isRemoving,
                known.scheme == .person, var session = try formerSession(account, writing)
            else {
                throw RegisterRefusal(
                    .unknownAccount, "there is no account \(account) that a person is signed in for"
                )
            }
            body(&known, &session)
            let plan = AccountPlan(
                account: known,
                box: try file.seal.seal(PersonCoding.text(of: session), for: account), isNew: false)
            try writing.write(plan, key: file.seal.keyNumber)
        }
    }

    /// Another account whose tokens have turned out to be the same person's.
    private func other(
        than account: AccountID, of session: PersonSession, _ writing: RegisterChange
    ) throws -> AccountID? {
        guard let subject = session.subject else { return nil }
        return try writing.people().first { other, box in
            guard other != account else { return false }
            let kept = try PersonCoding.session(
                of: try file.seal.open(box, of: other), account: other)
            return kept.subject == subject && kept.issuer == session.issuer
        }?.account
    }

    private func formerSession(
        _ account: AccountID, _ writing: RegisterChange
    ) throws -> PersonSession? {
        try writing.box(of: account).map {
            try PersonCoding.session(of: try file.seal.open($0, of: account), account: account)
        }
    }

    private func write(
        _ session: PersonSession, as account: AccountID, over known: KnownAccount?, tag: [UInt8],
        resuming: Bool, _ writing: RegisterChange
    ) throws {
        var row =
            known
            ?? KnownAccount(
                id: account, incarnation: 0, isRemoving: false, origin: .command, isPaused: false,
                pausedBy: nil, intervalMilliseconds: nil, tag: tag, labels: "{}")
        row.tag = tag
        row.scheme = .person
        if resuming { row.setPaused(false, by: .command) }
        let plan = AccountPlan(
            account: row,
            box: try file.seal.seal(PersonCoding.text(of: session), for: account),
            isNew: known == nil)
        try writing.write(plan, key: file.seal.keyNumber)
    }
}

extension PersonSession {
    /// Whether the person has signed out.
    fileprivate var isOut: Bool { refreshToken.isEmpty }

    /// Whether the account is paused for no other reason than that its person left, or is leaving.
    fileprivate var wasPausedToLeave: Bool { (isOut || isLeaving) && !wasPausedBefore }
}
