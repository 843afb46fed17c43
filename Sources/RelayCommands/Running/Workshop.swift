internal import ConnectionEvents
internal import Crypto
internal import Glibc
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal
internal import RelayRuntime

/// A pipeline file read, and what commands open from it.
struct Workshop {
    let pipeline: Pipeline

    /// A pipeline that is there already.
    init(pipeline: Pipeline) { self.pipeline = pipeline }

    /// Reads and checks the pipeline file.
    ///
    /// - Throws: exit 78 with all problems, each with file, line and column.
    init(pipelineFile: String) throws(CommandError) {
        do throws(ConfigurationError) {
            pipeline = try Pipeline(file: pipelineFile)
        } catch {
            var told = CommandError(error.withOtherProblems())
            if error.kind == .unreadable {
                told.message +=
                    ". Name the pipeline's file, or try 'trax-relay quickstart', which needs none."
            }
            throw told
        }
        let refused = Assembly.problems(of: pipeline.kafka.properties)
        guard refused.isEmpty else {
            let error = ConfigurationError(.invalid, refused)
            throw CommandError(error.withAccountsProblems(pipeline.readableParts))
        }
    }

    /// Opens the journal's file.
    ///
    /// - Parameter access: whether it is made where it is not there.
    func openFile(
        _ access: JournalFile.Access, lock: JournalLock? = nil
    ) throws(CommandError) -> JournalFile {
        do throws(JournalFailure) {
            return try JournalFile(
                path: pipeline.journal.sqlite, keyFile: pipeline.journal.keyFile, access: access,
                lock: lock)
        } catch {
            throw CommandError(opening: error)
        }
    }

    /// Opens the register, in a file that must be there.
    func openRegister(
        _ access: JournalFile.Access = .existing
    ) throws(CommandError) -> AccountRegister {
        try open(access) { (file) throws(JournalFailure) in try AccountRegister(file) }
    }

    /// Opens the book of holds, in a file that must be there.
    func openHoldBook() throws(CommandError) -> HoldBook {
        try open(.existing) { (file) throws(JournalFailure) in try HoldBook(file) }
    }

    /// Opens the book of parked records, in a file that must be there.
    func openParkedBook() throws(CommandError) -> ParkedBook {
        try open(.existing) { (file) throws(JournalFailure) in try ParkedBook(file) }
    }

    private func open<Part>(
        _ access: JournalFile.Access, _ make: (JournalFile) throws(JournalFailure) -> Part
    ) throws(CommandError) -> Part {
        let file = try openFile(access)
        do throws(JournalFailure) {
            return try make(file)
        } catch {
            throw CommandError(error)
        }
    }

    /// An account of the register, with its credential.
    func account(_ text: String) throws(CommandError) -> RegisteredAccount {
        let id = try Self.accountID(text)
        let register = try openRegister()
        let found: RegisteredAccount?
        do throws(JournalFailure) {
            found = try register.account(id)
        } catch {
            throw CommandError(error)
        }
        guard let found else {
            throw CommandError(
                .failure,
                "there is no account \(id). 'trax-relay accounts list -c \(pipeline.file)' names"
                    + " those there are.")
        }
        return found
    }

    /// Reads an account id from the command line.
    static func accountID(_ text: String) throws(CommandError) -> AccountID {
        guard let id = AccountID(text) else {
            throw CommandError(
                .usage,
                "'\(text)' is no account id: letters, digits and . _ : @ - are allowed, at most"
                    + " 128 of them.")
        }
        return id
    }
}

extension ConfigurationError {
    /// The same with what shows only when the parts that could be read are tried.
    func withOtherProblems() -> ConfigurationError {
        guard let readable else { return self }
        let refused = Assembly.problems(of: readable.properties)
        return ConfigurationError(kind, problems + refused).withAccountsProblems(readable)
    }

    /// The same with what is wrong in the accounts file that the pipeline names.
    func withAccountsProblems(_ readable: ReadableParts) -> ConfigurationError {
        guard let file = readable.accountsFile else { return self }
        if let reason = AccountsImport.objection(to: file), let place = readable.accountsPlace {
            return ConfigurationError(kind, problems + [place.problem(reason)])
        }
        do throws(ConfigurationError) {
            _ = try AccountsFile(file: file, signIn: readable.signIn)
            return self
        } catch {
            return ConfigurationError(kind, problems + error.problems)
        }
    }
}

extension CommandError {
    /// All problems of a configuration, one a line.
    init(_ error: ConfigurationError) {
        let lines = error.problems.map(\.description).joined(separator: "\n  ")
        let count = error.problems.count
        self.init(
            .configuration,
            count == 1 ? lines : "\(count) problems in the configuration:\n  \(lines)")
    }

    /// A journal that cannot be used, is locked, or failed.
    init(_ failure: JournalFailure) {
        switch failure.kind {
        case .unusable, .locked: self.init(.configuration, failure.reason)
        case .busy, .full, .failed: self.init(.failure, failure.reason)
        }
    }

    /// A journal that cannot be opened: where it is to be is configuration.
    init(opening failure: JournalFailure) {
        switch failure.kind {
        case .failed where failure.code != "missing", .unusable, .locked:
            self.init(.configuration, failure.reason)
        case .failed, .busy, .full:
            self.init(.failure, failure.reason)
        }
    }

    /// A register that does not take what was asked, or a journal that failed.
    init(registering error: any Error) {
        switch error {
        case let failure as JournalFailure: self.init(failure)
        case let refusal as RegisterRefusal:
            let isConfiguration = refusal.kind == .badLines || refusal.kind == .removesTooMany
            self.init(isConfiguration ? .configuration : .failure, refusal.description)
        default: self.init(.failure, "\(error)")
        }
    }
}
