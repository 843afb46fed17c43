public import ConnectionEvents
public import RelayCore
internal import SQLite

extension AccountRegister {
    /// One account with its credential; nil where there is none, or it is being removed.
    ///
    /// Takes no note of what changed: ``changes()`` still hands that out.
    ///
    /// - Throws: `unusable` when its sealed credential does not open.
    public func account(_ id: AccountID) throws(JournalFailure) -> RegisteredAccount? {
        try run { connection in
            try connection.load(id, file.seal).flatMap { $0.isRemoving ? nil : $0 }
        }
    }
}
