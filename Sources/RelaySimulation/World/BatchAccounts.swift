internal import ConnectionEvents
internal import RelayCore

extension JournalBatch {
    /// Whether a hold begins or ends with it.
    var isAboutHold: Bool {
        !ordersDone.isEmpty
            || entries.contains {
                $0.event?.type == .accountHeld || $0.event?.type == .accountReleased
            }
    }

    /// Every account that it is about.
    var accounts: Set<AccountID> {
        Set(beliefs.map(\.account)).union(entries.map(\.account)).union(removals.map(\.account))
    }
}
