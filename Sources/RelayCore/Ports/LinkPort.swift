public import ConnectionEvents

/// What is known of an attempt to link when it has begun.
public struct LinkOpening: Hashable, Sendable {
    /// Whose attempt it is.
    public var account: AccountID
    /// What may be shown of its state.
    public var attempt: AttemptHash
    /// What is to be linked.
    public var platform: String
    /// The row to be repaired in place.
    public var reconnecting: ConnectionID?
    /// How long the attempt is good.
    public var lifetime: Duration

    /// An opening, field by field.
    public init(
        account: AccountID, attempt: AttemptHash, platform: String, reconnecting: ConnectionID?,
        lifetime: Duration = LinkWatch.lifetime
    ) {
        self.account = account
        self.attempt = attempt
        self.platform = platform
        self.reconnecting = reconnecting
        self.lifetime = lifetime
    }
}

/// Why no watch can be opened.
public enum LinkRefusal: Error, Hashable, Sendable {
    /// The account has as many open as one may have.
    case accountFull
    /// The journal has as many open as it may have.
    case full
    /// The journal could not do it.
    case journal(JournalFailure)
}

/// Where attempts to link are watched for: opened by commands and pages, ended by the relay.
///
/// Threads: any. Calls block on the disk. Bounds: 16 open of an account, 10,000 in all.
public protocol LinkDesk: AnyObject, Sendable {
    /// Whether another watch of the account could be opened now.
    func mayOpen(_ account: AccountID) throws(LinkRefusal)

    /// Opens a watch; a running relay hears of it within a second, and a walk judged from now on
    /// is matched with it.
    func open(_ opening: LinkOpening) throws(LinkRefusal) -> LinkWatch

    /// Open watches after a number; cheap when nothing was written since the last look.
    func openWatches(after number: Int64) throws(JournalFailure) -> [LinkWatch]

    /// One watch, open or ended; nil where it is not known any more.
    func watch(_ id: WatchID) throws(JournalFailure) -> LinkWatch?

    /// Watches before a number, newest first, of one account or of all.
    func watches(
        of account: AccountID?, before number: Int64, limit: Int
    ) throws(JournalFailure) -> [LinkWatch]
}
