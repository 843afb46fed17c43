internal import ConnectionEvents
internal import Crypto
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal
internal import RelayRuntime
internal import SignIn
internal import TraxAPI

extension Assembly {
    /// How providers are spoken to.
    var manners: ProviderManners {
        ProviderManners(userAgent: endpoint.userAgent, caFile: endpoint.caFile)
    }

    /// What the names of relays begin with among those that may refresh tokens.
    static let relayHolder = "relay-"

    /// Gives people's access tokens, for a relay or for a command.
    func tokenDesk(_ people: PersonBook, holder: String) -> TokenDesk {
        TokenDesk(vault: people, manners: manners, holder: holder + Self.instance) {
            [log] sentence in
            log.note(.warning, "sign_in", sentence)
        }
    }
}

extension Workshop {
    /// How providers are spoken to.
    var manners: ProviderManners { Assembly(pipeline: pipeline, log: .standardError).manners }

    /// What the API is asked with for an account: its API key, or its person's access token, which
    /// is refreshed where that is due, together with a relay that runs.
    ///
    /// - Parameter rejected: a token that the API did not take.
    /// - Throws: exit 69 where the provider cannot be asked, 1 where the person has to sign in.
    func bearer(
        of account: RegisteredAccount, rejected: Secret? = nil
    ) throws(CommandError) -> Secret {
        guard account.person != nil else { return account.credential }
        return try token(of: account.id, rejected: rejected)
    }

    /// The access token of a person's account.
    func token(
        of account: AccountID, rejected: Secret? = nil
    ) throws(CommandError) -> Secret {
        let desk = try tokenDesk()
        defer { desk.close(within: .seconds(1)) }
        do throws(BearerFailure) {
            return try desk.bearer(for: account, rejected: rejected).token
        } catch {
            throw CommandError(error, of: account, self)
        }
    }

    /// A desk for one command.
    func tokenDesk() throws(CommandError) -> TokenDesk {
        let file = try openFile(.existing)
        do throws(JournalFailure) {
            let people = try PersonBook(file)
            return Assembly(pipeline: pipeline, log: .standardError)
                .tokenDesk(people, holder: "command-")
        } catch {
            throw CommandError(error)
        }
    }
}

extension CommandError {
    /// A person's account has no access token.
    init(_ failure: BearerFailure, of account: AccountID, _ workshop: Workshop) {
        switch failure.kind {
        case .unavailable:
            self.init(
                .unavailable,
                "there is no access token of \(account) now: \(failure.reason) (\(failure.code)).")
        case .signInAgain:
            self.init(
                .failure,
                "\(account): \(failure.reason). Sign in again: trax-relay login --account"
                    + " \(account) -c \(workshop.pipeline.file)")
        }
    }

    /// A sign-in, or what belongs to one, failed.
    init(_ error: SignInError) {
        let code: ExitCode =
            switch error.kind {
            case .unavailable: .unavailable
            case .invalid: .configuration
            default: .failure
            }
        self.init(code, "\(error.reason) (\(error.code)).")
    }
}
