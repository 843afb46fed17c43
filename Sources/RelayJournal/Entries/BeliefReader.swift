public import ConnectionEvents
public import RelayCore

/// Reads single beliefs beside a running relay, for commands.
///
/// Threads: any.
public final class BeliefReader: Sendable {
    private let readers: ReaderPool

    /// Reads from that journal.
    public init(_ file: JournalFile) { readers = ReaderPool(file) }

    /// The belief of an account as it was last committed; nil when there is none.
    public func belief(of account: AccountID) throws(JournalFailure) -> Belief? {
        try readers.withReader { try $0.belief(of: account) }
    }
}
