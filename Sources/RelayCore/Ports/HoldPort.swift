public import ConnectionEvents

/// What an operator orders about a hold; carried out by the relay that owns the belief.
public struct HoldOrder: Hashable, Sendable {
    /// Grows with each order of a journal, and is never given again.
    public var number: Int64
    /// Whose hold it is.
    public var account: AccountID
    /// Which hold is meant.
    public var hold: HoldID
    /// What is to be done.
    public var action: HoldAction

    /// An order, field by field.
    public init(number: Int64, account: AccountID, hold: HoldID, action: HoldAction) {
        self.number = number
        self.account = account
        self.hold = hold
        self.action = action
    }
}

/// Why an order about a hold was not taken.
public enum HoldOrderFailure: Error, Hashable, Sendable {
    /// The hold cannot be ended so, or is not there.
    case refused(HoldRefusal)
    /// Another order about it waits already, and stands.
    case ordered(HoldAction)
    /// The journal could not be read or written.
    case journal(JournalFailure)
}

/// Open holds, and orders about them: written by commands and the HTTP side, read by the relay.
///
/// Threads: any. Calls block on the disk.
public protocol HoldDesk: AnyObject, Sendable {
    /// Accounts with an open hold, by id, after an account; at most that many.
    func holds(after account: AccountID?, limit: Int) throws(JournalFailure) -> [OpenHold]

    /// The open hold of that id, with what is held; nil when there is none.
    func hold(_ id: HoldID) throws(JournalFailure) -> OpenHold?

    /// Orders that a hold be ended; the relay hears of it within a second, or when it starts.
    @discardableResult
    func order(_ action: HoldAction, of hold: HoldID) throws(HoldOrderFailure) -> HoldOrder

    /// Orders that wait, after a number; cheap when nothing was written since the last look.
    func orders(after number: Int64) throws(JournalFailure) -> [HoldOrder]

    /// Whether an order still waits.
    func isWaiting(_ order: HoldOrder) throws(JournalFailure) -> Bool
}
