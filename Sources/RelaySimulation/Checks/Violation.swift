package import RelayCore

/// What must hold; each is a checker, proved by a deliberate fault (`docs/TESTING.md`).
package enum Rule: String, Hashable, Sendable, CaseIterable {
    /// `previous` of an event is `connection` of the event or baseline before it.
    case previous
    /// The type of an event is the one that the contract's first fitting rule names.
    case type
    /// Sequences have neither gap nor repeat in the journal, and epochs grow.
    case sequence
    /// Belief and events are committed together.
    case together
    /// Only a sealed walk changes a belief, and no superseded one.
    case sealed
    /// No removal, failing or other change beyond what the API truly showed.
    case honest
    /// No account is called blind that was not refused twice, or that fares as the fleet does.
    case blind
    /// `account.held` and `account.released` pair up and count right.
    case held
    /// What is held stands still: belief, state and events.
    case still
    /// Nothing flows that the brake has to hold.
    case brake
    /// What a wrong account shows is not believed.
    case wrongAccount
    /// A belief reads as it was written.
    case durable
    /// One walk in flight per account.
    case oneWalk
    /// Requests never exceed `budget`.
    case budget
    /// Requests with one credential never exceed `perAccount`.
    case perAccount
    /// A server's `Retry-After` is kept.
    case retryAfter
    /// No account that answers waits longer than `slowest`.
    case slowest
    /// Queues, runs and requests under way are bounded.
    case bounded
    /// Every sink gets every event of its own, in order, as often as promised.
    case delivery
    /// A sink's place moves only with or after its acknowledgement.
    case place
    /// No secret leaves.
    case secret
    /// Once faults stop, everything becomes true, and then stays.
    case converges
}

/// A rule that was broken, and how.
package struct Violation: Hashable, Sendable, CustomStringConvertible {
    /// Which rule.
    package var rule: Rule
    /// What was seen, in the contract's words.
    package var text: String
    /// When, since the start of the history.
    package var at: Instant

    /// The rule and what was seen.
    package var description: String { "\(rule.rawValue): \(text)" }
}

/// All checkers of one history; the first violation stands.
final class Checks {
    private(set) var violation: Violation?
    unowned let world: World
    private(set) lazy var journal = JournalChecks(self)
    private(set) lazy var pace = PaceChecks(self)
    private(set) lazy var sinks = SinkChecks(self)
    private(set) lazy var holds = HoldChecks(self)
    private(set) lazy var brake = BrakeChecks(self)
    /// Orders that waited before the commit under way.
    private(set) var ordersBefore: [HoldOrder] = []

    init(_ world: World) { self.world = world }

    func fail(_ rule: Rule, _ text: @autoclosure () -> String) {
        guard violation == nil else { return }
        violation = Violation(rule: rule, text: text(), at: world.clock.now)
    }

    /// A batch is about to be written.
    func willCommit(_ batch: JournalBatch) {
        ordersBefore = world.disk.orders
        holds.willCommit(batch)
        brake.willCommit(batch)
        journal.willCommit(batch)
    }

    /// A batch was written.
    func committed(_ batch: JournalBatch, entries: ArraySlice<JournalEntry>) {
        holds.committed(batch)
        journal.committed(batch, entries: entries)
        brake.committed(batch)
    }

    /// No credential may stand in anything that leaves.
    func leaves(_ text: String, _ place: @autoclosure () -> String) {
        if text.contains(World.canary) { fail(.secret, "a credential stands in \(place())") }
    }

    /// No credential may stand in anything that leaves.
    func leaves(_ bytes: [UInt8], _ place: @autoclosure () -> String) {
        leaves(String(decoding: bytes, as: UTF8.self), place())
    }
}
