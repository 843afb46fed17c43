public import ConnectionEvents

/// What is left of a belief that cannot be read.
public struct BeliefRemains: Hashable, Sendable {
    /// Its head, where that can be read.
    public var head: BeliefHead?
    /// The keys of its rows.
    public var connections: [ConnectionID]

    /// What is left, field by field.
    public init(head: BeliefHead?, connections: [ConnectionID]) {
        self.head = head
        self.connections = connections
    }
}

extension Journal {
    /// Nothing: a journal whose beliefs are read whole or not at all.
    public func remains(of account: AccountID) throws(JournalFailure) -> BeliefRemains {
        BeliefRemains(head: nil, connections: [])
    }
}
