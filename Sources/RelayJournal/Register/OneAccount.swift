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
            let version = try connection.database.prepare(
                "SELECT version FROM accounts WHERE id = ? AND removing = 0"
            ).first(.text(id.text)) { $0.integer(0) }
            guard let version else { return nil }
            return try connection.load(after: version - 1, file.seal).first { $0.id == id }
        }
    }
}
