internal import ConnectionEvents
internal import Crypto
internal import RelayConfiguration
internal import RelayCore
internal import RelayDashboard
internal import RelayJournal
internal import RelayRuntime
internal import SignIn
internal import TraxAPI

/// Asks the API for links on behalf of `POST /api/links`.
///
/// Threads: any; blocks as long as the API takes.
final class RelayLinkOffice: LinkOffice {
    /// What the API is asked with for an account.
    ///
    /// The second is a token that the API has refused; where no other can be had, nil.
    typealias BearerOf =
        @Sendable (RegisteredAccount, Secret?) throws(LinkAskFailure) -> Secret?

    private let register: AccountRegister
    private let book: LinkBook
    private let client: TraxClient
    private let bearer: BearerOf
    private let isKnown: @Sendable (RegisteredAccount) throws(JournalFailure) -> Bool

    /// An office.
    ///
    /// - Parameters:
    ///   - client: for any credential; the accounts' own take its place.
    ///   - bearer: today an account's key, or its person's access token.
    ///   - isKnown: whether a list of the account was read.
    init(
        _ register: AccountRegister, book: LinkBook, client: TraxClient,
        bearer: @escaping BearerOf,
        isKnown: @escaping @Sendable (RegisteredAccount) throws(JournalFailure) -> Bool
    ) {
        self.register = register
        self.book = book
        self.client = client
        self.bearer = bearer
        self.isKnown = isKnown
    }

    func ask(_ wish: LinkAsk) throws(LinkAskFailure) -> LinkGrant {
        let account = try account(wish.account)
        do throws(LinkRefusal) { try book.mayOpen(account.id) } catch { throw .init(error) }
        do throws(JournalFailure) {
            _ = try FirstList.await { () throws(JournalFailure) in try isKnown(account) }
        } catch {
            throw .init(.journal(error))
        }
        let ticket = try ticket(for: wish, of: account)
        do throws(LinkRefusal) {
            let watch = try book.open(
                LinkOpening(
                    account: account.id, attempt: ticket.state.attempt, platform: wish.platform,
                    reconnecting: wish.reconnecting))
            return LinkGrant(
                authorizationURL: ticket.authorizationURL, state: ticket.state.text, watch: watch)
        } catch {
            throw .init(error)
        }
    }

    private func account(_ id: AccountID) throws(LinkAskFailure) -> RegisteredAccount {
        let found: RegisteredAccount?
        do throws(JournalFailure) {
            found = try register.account(id)
        } catch {
            throw LinkAskFailure(
                status: 503, code: "journal", message: "The journal cannot be read now.")
        }
        guard let found else {
            throw LinkAskFailure(
                status: 404, code: "not_found", message: "There is no such account here.")
        }
        guard !found.isPaused else {
            throw LinkAskFailure(
                status: 409, code: "paused",
                message: "The account is paused: nothing would be seen of the link.")
        }
        return found
    }

    private func ticket(
        for wish: LinkAsk, of account: RegisteredAccount
    ) throws(LinkAskFailure) -> LinkTicket {
        guard let bearer = try bearer(account, nil) else { throw .withoutCredential }
        do throws(TraxError) {
            return try ticket(for: wish, bearer)
        } catch {
            // Refused is not done: with another token it may be asked for again.
            guard error.status == 401, let other = try self.bearer(account, bearer) else {
                throw LinkAskFailure(error)
            }
            do throws(TraxError) {
                return try ticket(for: wish, other)
            } catch {
                throw LinkAskFailure(error)
            }
        }
    }

    private func ticket(for wish: LinkAsk, _ bearer: Secret) throws(TraxError) -> LinkTicket {
        try client.acting(with: bearer).wait(
            for: .link(
                LinkRequest(
                    TraxPlatform(rawValue: wish.platform), returnTo: wish.returnTo,
                    reconnecting: wish.reconnecting)))
    }
}

extension Assembly {
    /// What a relay needs for links: the watches of its journal, and who asks the API.
    func linking(
        on file: JournalFile, _ desk: TokenDesk
    ) throws(CommandError) -> (LinkBook, RelayLinkOffice) {
        let client: TraxClient
        do throws(TraxError) {
            client = try TraxClient(
                endpoint, credential: Secret(""), requestTimeout: pipeline.source.requestTimeout)
        } catch {
            throw CommandError(.failure, error.reason)
        }
        do throws(JournalFailure) {
            let book = try LinkBook(file)
            let beliefs = BeliefReader(file)
            // One of its own: the relay's takes note of what it has handed out.
            let office = RelayLinkOffice(
                try AccountRegister(file), book: book, client: client,
                bearer: { (account, rejected) throws(LinkAskFailure) in
                    try desk.credential(of: account, rejected: rejected)
                },
                isKnown: { (account) throws(JournalFailure) in
                    try FirstList.isRead(of: account, beliefs)
                })
            return (book, office)
        } catch {
            throw CommandError(error)
        }
    }
}

extension TokenDesk {
    /// What the API is asked with for an account: its key, or its person's access token.
    fileprivate func credential(
        of account: RegisteredAccount, rejected: Secret?
    ) throws(LinkAskFailure) -> Secret? {
        guard account.person != nil else { return rejected == nil ? account.credential : nil }
        do throws(BearerFailure) {
            return try bearer(for: account.id, rejected: rejected).token
        } catch {
            let isOver = error.kind == .signInAgain
            throw LinkAskFailure(
                status: isOver ? 409 : 503, code: error.code,
                message: isOver
                    ? "The person of this account has to sign in again: trax-relay login"
                    : "There is no access token of this account now: \(error.reason).")
        }
    }
}

extension LinkAskFailure {
    /// What the API said is passed on with its own status and code; what it did not say is 502.
    init(_ error: TraxError) {
        let isTold = error.status.map { (400...499).contains($0) || $0 == 503 } ?? false
        self.init(
            status: isTold ? error.status ?? 502 : 502, code: error.code,
            message: error.reason, requestID: error.requestID,
            requiredScope: error.requiredScope, retryAfter: error.retryAfter)
    }

    /// Nothing can be asked with.
    static let withoutCredential = LinkAskFailure(
        status: 503, code: "no_credential", message: "The account has no credential now.")

    /// No watch can be opened.
    init(_ refusal: LinkRefusal) {
        switch refusal {
        case .accountFull:
            self.init(
                status: 409, code: "too_many_links",
                message: "\(LinkBook.accountLimit) links of the account are waited for already.",
                retryAfter: .seconds(60))
        case .full:
            self.init(
                status: 503, code: "too_many_links",
                message: "\(LinkBook.openLimit) links are waited for already.",
                retryAfter: .seconds(60))
        case .journal:
            self.init(
                status: 503, code: "journal", message: "The journal cannot be written now.")
        }
    }
}
