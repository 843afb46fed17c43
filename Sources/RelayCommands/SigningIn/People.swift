internal import ConnectionEvents
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal

/// People of the register, as commands look for them.
enum People {
    /// The session of an account; nil where it is no person's.
    static func session(
        of account: AccountID, in register: AccountRegister
    ) throws(CommandError) -> PersonSession? {
        do throws(JournalFailure) {
            return try register.person(of: account)
        } catch {
            throw CommandError(error)
        }
    }

    /// The account that `--account` names; nil without it.
    static func named(_ arguments: ParsedArguments) throws(CommandError) -> AccountID? {
        guard let text = arguments.value("--account") else { return nil }
        return try Workshop.accountID(text)
    }

    /// The account that is meant where none is named: the only one that a person is signed in for.
    static func only(
        in register: AccountRegister, _ workshop: Workshop
    ) throws(CommandError) -> AccountID {
        let people = try summaries(in: register).filter { $0.scheme == .person && !$0.isRemoving }
        guard let only = people.first, people.count == 1 else {
            throw CommandError(
                people.isEmpty ? .failure : .usage,
                people.isEmpty
                    ? "nobody is signed in. 'trax-relay login -c \(workshop.pipeline.file)' signs"
                        + " somebody in."
                    : "\(people.count) people are signed in: name one with --account.")
        }
        return only.id
    }

    static func summaries(
        of account: AccountID? = nil, in register: AccountRegister
    ) throws(CommandError) -> [AccountSummary] {
        do throws(JournalFailure) {
            return try register.summaries(of: account)
        } catch {
            throw CommandError(error)
        }
    }
}
