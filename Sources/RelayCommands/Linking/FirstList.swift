internal import ConnectionEvents
internal import RelayCore
internal import RelayJournal

/// The first list of an account, as a link needs it.
///
/// What is in that list is believed without news: the row of a link must not be among it.
enum FirstList {
    /// How long a link waits for it where a relay runs: one takes note of a new account within a
    /// second.
    static let patience: Duration = .seconds(5)

    /// Waits until it was read, for a while; whether it was.
    static func await(
        for patience: Duration = patience, _ isKnown: () throws(JournalFailure) -> Bool
    ) throws(JournalFailure) -> Bool {
        let end = ContinuousClock.now + patience
        while try !isKnown() {
            guard ContinuousClock.now < end else { return false }
            AccountLists.sleep(.milliseconds(50))
        }
        return true
    }

    /// Whether a list of this account, and not of an earlier one of its name, is believed.
    static func isRead(
        of account: RegisteredAccount, _ beliefs: BeliefReader
    ) throws(JournalFailure) -> Bool {
        guard let head = try beliefs.belief(of: account.id)?.head else { return false }
        return head.isBaselined && head.incarnation == account.incarnation
    }
}
