/// One life of the relay's process: from a start to a crash.
///
/// What a dead process would still do has no effect, so that a crash falls between any two effects.
final class Life {
    let number: Int
    private(set) var isAlive = true
    /// After so many effects it dies.
    private var fuse: (effects: Int, isBefore: Bool)?

    /// What becomes of the effect that is about to happen.
    enum Passage {
        /// It happens.
        case alive
        /// It happens, and nobody hears of it.
        case last
        /// It does not happen.
        case dead
    }

    init(number: Int) { self.number = number }

    /// Sets when it dies.
    func light(effects: Int, isBefore: Bool) { fuse = fuse ?? (effects, isBefore) }

    /// It does not die by itself any more.
    func spare() { fuse = nil }

    func die() { isAlive = false }

    /// Asked before each effect.
    func pass() -> Passage {
        guard isAlive else { return .dead }
        guard let (effects, isBefore) = fuse else { return .alive }
        guard effects <= 0 else {
            fuse = (effects - 1, isBefore)
            return .alive
        }
        isAlive = false
        return isBefore ? .dead : .last
    }
}
