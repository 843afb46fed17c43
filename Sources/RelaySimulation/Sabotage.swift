internal import RelayCore

/// Deliberate faults in what stands around the relay's parts, by which a test proves each checker.
///
/// Nothing of it is in the relay's own code: each closure changes what passes between the relay and
/// the simulated world. All nil: none.
struct Sabotage {
    /// Changes what the journal is given.
    var batch: ((inout JournalBatch) -> Void)?
    /// Changes what the relay hears of an answer, and not what the API knows to have shown.
    var reply: ((inout SimulatedAPI.Reply) -> Void)?
    /// Changes what a sink takes; nil: it takes nothing and says that it did.
    var run: ((Run) -> Run?)?
    /// How many requests the transport says may be started.
    var free: ((Int) -> Int)?
    /// How fast the relay's clock goes.
    var haste: Double?
    /// How long the poll loop sleeps at least.
    var sloth: Duration?
    /// Whether every request goes out twice.
    var isEchoing = false
    /// Changes a belief as it is read back at a start.
    var read: ((inout Belief) -> Void)?
    /// Changes the rules that the relay is started with.
    var detection: ((inout Detection) -> Void)?
    /// Whether the broker does not tell what it remembers.
    var isForgetful = false
    /// Which keys of the state topic are read back; nil: all.
    var state: ((String) -> Bool)?
    /// Whether a record that is parked is forgotten.
    var isLosingParked = false
    /// How many entries too many are pruned.
    var greed = 0
    /// Whether the register says of an account what it was when the relay last read it.
    var isRegisterStale = false
    /// Changes the relay's log lines.
    var line: ((String) -> String)?
}
